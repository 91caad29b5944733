import type { Router } from '@koa/router';
import { StatusError } from '../../kernel/status.ts';
import { type Authorize, type FindBrowser, requireNeeds } from '../auth.ts';
import { type Streams, mount } from '../mount.ts';
import type { Operation } from '../operation.ts';
import { credentialId } from '../principal.ts';

/** What comes before the API's own address: `/panel/v1/servers/{id}/files:upload`. */
export const BROWSER_PREFIX = '/panel';

/**
 * What a page cannot carry itself, streams of servers and content of their files, for the session of the browser that shows it: at addresses of
 * their own, as those of the API take keys only. Returns the operations at these addresses. `take` holds the rate of a session.
 */
export function mountForBrowsers(
  router: Router,
  all: readonly Operation[],
  findBrowser: FindBrowser,
  take: (sessionId: string) => void,
  streams: Streams,
): readonly Operation[] {
  const carried = all.flatMap((operation): Operation | [] => {
    const { answers, takes, path } = operation;
    const isCarried = path.startsWith('/v1/servers/') && (answers !== 'message' || takes === 'bytes');
    return isCarried ? { ...operation, path: `${BROWSER_PREFIX}${path}` } : [];
  });
  const authorizing =
    (count: (sessionId: string) => void): Authorize =>
    async (headers, operation) => {
      const principal = await findBrowser(headers, operation);
      if (!principal) throw new StatusError('UNAUTHENTICATED', 'SESSION_REQUIRED', 'Sign in first.');
      requireNeeds(principal, operation);
      count(credentialId(principal));
      return principal;
    };
  mount(router, carried, { authorize: authorizing(take), authorizeAgain: authorizing(() => {}) }, streams);
  return carried;
}
