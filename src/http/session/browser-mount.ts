import type { Router } from '@koa/router';
import { StatusError } from '../../kernel/status.ts';
import { type Authorize, type FindBrowser, requireNeeds } from '../auth.ts';
import { type Streams, mount } from '../mount.ts';
import type { Operation } from '../operation.ts';
import type { TakeToken } from '../rate-limit.ts';

/** Prefix of API paths for browsers: `/panel/v1/servers/{id}/files:upload`. */
export const BROWSER_PREFIX = '/panel';

/** Returns the operations that need an address for browsers: streams of servers and of operators, and file contents. */
export function carriedForBrowsers(all: readonly Operation[]): readonly Operation[] {
  return all.filter(
    ({ path, answers, takes }) =>
      /^\/v1\/(?:servers|operator)\//.test(path) && (answers !== 'message' || takes === 'bytes'),
  );
}

/**
 * Mounts operations for a browser's session, under separate paths because the API's own accept only keys. Returns the
 * operations with these paths. `take` enforces the rate of a session.
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
