import { isRandomToken } from '../kernel/ids.ts';
import { isServerTab } from '../web/panel/server-frame.ts';
import { PROFILE_PATHS } from './page-parts.ts';
import { readUserCode } from './user-code.ts';

const PAGES: ReadonlySet<string> = new Set(
  PROFILE_PATHS.concat('/device', '/operator', '/bill', '/bill/ledger').concat(
    ['/nodes', '/accounts', '/orphans', '/proxies', '/apps'].map((page) => `/operator${page}`),
  ),
);

const OPERATOR_PAGE = /^\/operator\/(?:machines|accounts)\/[\w-]{1,64}$/;

/** A path below a page of the profile. A form that was submitted too late leads back to its page. */
const PROFILE_FORM = /^(\/profile\/[a-z-]+)\//;

/** A page of a server, or a path below it. */
const SERVER_PAGE = /^(\/servers\/[a-z0-9][a-z0-9-]{0,39})(\/[a-z]+)?(?:\/|$)/;

/** The page after a sign-in if none was requested. */
const AFTER_SIGN_IN = '/servers';

/**
 * Returns `wanted` if it is an allowed page of ours, otherwise the default page. Drops the query, except the code of a
 * device and the token of an invitation's link.
 */
export function nextPage(wanted: string | null): string {
  const [path = '', query = ''] = (wanted ?? '').split('?', 2);
  if (OPERATOR_PAGE.test(path)) return path;
  const invitation = path === '/join' ? (new URLSearchParams(query).get('invitation') ?? '') : '';
  if (isRandomToken(invitation)) return `${path}?invitation=${invitation}`;
  const [, server, tab = ''] = (!PAGES.has(path) && SERVER_PAGE.exec(path)) || [];
  if (server !== undefined) return isServerTab(tab) ? `${server}${tab}` : server;
  const page = PROFILE_FORM.exec(path)?.[1] ?? path;
  if (!PAGES.has(page)) return AFTER_SIGN_IN;
  const code = path === '/device' ? readUserCode(new URLSearchParams(query).get('code') ?? '') : undefined;
  return code === undefined ? page : `${page}?code=${code}`;
}

/** Returns the path of the sign-in or sign-up page that leads back to `wanted`. */
export function signInPath(wanted: string, page: '/sign-in' | '/sign-up' = '/sign-in'): string {
  const next = nextPage(wanted);
  return next === AFTER_SIGN_IN ? page : `${page}?next=${encodeURIComponent(next)}`;
}
