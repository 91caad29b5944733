import type { Router } from '@koa/router';
import { StatusError } from '../../kernel/status.ts';
import { type Authorize, type FindBrowser, requireNeeds } from '../auth.ts';
import { type Streams, mount } from '../mount.ts';
import type { Operation } from '../operation.ts';
import type { TakeToken } from '../rate-limit.ts';

/** Prefix of the API's own path: `/panel/v1/servers/{id}/files:upload`. */
export const BROWSER_PREFIX = '/panel';

/** The operations that a page cannot carry itself: streams of servers and of operators, and the content of servers' files. */
export function carriedForBrowsers(all: readonly Operation[]): readonly Operation[] {
  return all.filter(
    ({ path, answers, takes }) =>
      /^\/v1\/(?:servers|operator)\//.test(path) && (answers !== 'message' || takes === 'bytes'),
  );
}

/**
 * Operations for the session of the browser that shows a page: at addresses of their own, as those of the API take keys only.
 * Returns the operations at these addresses. `take` holds the rate of a session.
 */
export function mountForBrowsers(
  router: Router,
  operations: readonly Operation[],
  findBrowser: FindBrowser,
  take: TakeToken,
  streams: Streams,
): readonly Operation[] {
  const carried = operations.map((operation) => ({ ...operation, path: `${BROWSER_PREFIX}${operation.path}` }));
  const authorizing =
    (count: TakeToken): Authorize =>
    async (headers, operation) => {
      const principal = await findBrowser(headers, operation);
      if (!principal) throw new StatusError('UNAUTHENTICATED', 'SESSION_REQUIRED', 'Sign in first.');
      requireNeeds(principal, operation);
      count(principal, operation);
      return principal;
    };
  mount(router, carried, { authorize: authorizing(take), authorizeAgain: authorizing(() => {}) }, streams);
  return carried;
}
