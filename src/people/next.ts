import { readUserCode } from './grants/user-codes.ts';

const PAGES: ReadonlySet<string> = new Set(
  ['', '/keys', '/ssh', '/apps', '/sessions', '/invitations']
    .map((page) => `/profile${page}`)
    .concat('/device', '/operator', '/bill'),
);

const MACHINE_PAGE = /^\/operator\/machines\/[\w-]{1,64}$/;

/** Where a sign-in leads when nothing else was asked for. */
const AFTER_SIGN_IN = '/profile';

/** The page to go on to, if it is one of ours that may be gone on to: anything else a link brought along is ignored. */
export function nextPage(wanted: string | null): string {
  const [path = '', query = ''] = (wanted ?? '').split('?', 2);
  if (MACHINE_PAGE.test(path)) return path;
  if (!PAGES.has(path)) return AFTER_SIGN_IN;
  const code = path === '/device' ? readUserCode(new URLSearchParams(query).get('code') ?? '') : undefined;
  return code === undefined ? path : `${path}?code=${code}`;
}

/** The sign-in page that leads back to `wanted`, and likewise for the sign-up page. */
export function signInPath(wanted: string, page: '/sign-in' | '/sign-up' = '/sign-in'): string {
  const next = nextPage(wanted);
  return next === AFTER_SIGN_IN ? page : `${page}?next=${encodeURIComponent(next)}`;
}
