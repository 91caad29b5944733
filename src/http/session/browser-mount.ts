import type { Router } from '@koa/router';
import { StatusError } from '../../kernel/status.ts';
import { type Authorize, type FindBrowser, requireNeeds } from '../auth.ts';
import { keyCallers } from '../callers.ts';
import { type Streams, mount } from '../mount.ts';
import type { TakeToken } from '../rate-limit.ts';
import type { Served } from '../serve.ts';

/** Prefix of API paths for browsers: `/panel/v1/servers/{id}/files:upload`. */
export const BROWSER_PREFIX = '/panel';

/** Returns the operations that need an address for browsers: event streams and file contents. */
export function carriedForBrowsers(all: readonly Served[]): readonly Served[] {
  return all.filter(
    ({ operation }) =>
      operation.auth === 'key' &&
      (operation.answers === 'events' || operation.answers === 'bytes' || operation.takes === 'bytes'),
  );
}

/**
 * Mounts operations for a browser's session, under separate paths because the API's own accept only keys. Returns the
 * operations with these paths. `take` enforces the rate of a session.
 */
export function mountForBrowsers(
  router: Router,
  all: readonly Served[],
  findBrowser: FindBrowser,
  take: TakeToken,
  streams: Omit<Streams, 'authorizeAgain'>,
): readonly Served[] {
  const carried = all.map(({ operation, run }) => ({
    operation: { ...operation, path: `${BROWSER_PREFIX}${operation.path}` },
    run,
  }));
  const authorizing =
    (count: TakeToken): Authorize =>
    async (headers, operation) => {
      const principal = await findBrowser(headers, operation);
      if (!principal) throw new StatusError('UNAUTHENTICATED', 'SESSION_REQUIRED', 'Sign in first.');
      requireNeeds(principal, operation);
      count(principal, operation);
      return principal;
    };
  mount(router, carried, keyCallers(authorizing(take)), { ...streams, authorizeAgain: authorizing(() => {}) });
  return carried;
}
