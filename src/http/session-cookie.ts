import { SESSION_LIFE_MS } from '../people/sessions.ts';

/**
 * The session cookie's name. Over https `__Host-sid`, which a browser takes only if it is Secure, from this very host and
 * for all paths (RFC 6265bis §4.1.3.2), so that no neighbour host can plant one. Browsers keep no Secure cookie that came
 * over plain http, so where BASE_URL is http the cookie is a plain `sid`.
 */
export function sessionCookieName(baseUrl: string): string {
  return isSecure(baseUrl) ? '__Host-sid' : 'sid';
}

/** The value of a `Set-Cookie` that signs a browser in. The database ends sessions earlier than the browser forgets them. */
export function sessionCookie(baseUrl: string, token: string): string {
  return cookie(baseUrl, token, SESSION_LIFE_MS / 1_000);
}

/** The value of a `Set-Cookie` that makes a browser forget its session. */
export function clearedSessionCookie(baseUrl: string): string {
  return cookie(baseUrl, '', 0);
}

/** The token in a `Cookie` header; undefined where there is none, or several, of which one must have been planted. */
export function sessionToken(baseUrl: string, header: string | undefined): string | undefined {
  const name = `${sessionCookieName(baseUrl)}=`;
  const [token, ...more] = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(name))
    .map((pair) => pair.slice(name.length));
  return more.length > 0 ? undefined : token;
}

function cookie(baseUrl: string, value: string, maxAgeSeconds: number): string {
  const secure = isSecure(baseUrl) ? '; Secure' : '';
  return `${sessionCookieName(baseUrl)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`;
}

function isSecure(baseUrl: string): boolean {
  return baseUrl.startsWith('https:');
}
