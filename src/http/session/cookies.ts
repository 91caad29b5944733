/** A cookie of the pages: HttpOnly, for all paths, and not sent with cross-site requests that change something. */
export interface Cookie {
  /**
   * The cookie's name in browsers. Over https `__Host-…`, which a browser accepts only if it is Secure, from this host
   * and for all paths (RFC 6265bis §4.1.3.2), so that no neighbouring host can plant one. Browsers drop Secure cookies
   * that came over plain http, so there is no prefix if BASE_URL is http.
   */
  name(baseUrl: string): string;
  /** Returns its raw values in a `Cookie` header. If there are several, all but one were planted. */
  values(baseUrl: string, header: string | undefined): string[];
  /** Returns the value of a `Set-Cookie`. Without `maxAgeSeconds`, the browser drops the cookie when it closes. */
  set(baseUrl: string, value: string, maxAgeSeconds?: number): string;
}

export function createCookie(plainName: string): Cookie {
  const isSecure = (baseUrl: string) => baseUrl.startsWith('https:');
  const name = (baseUrl: string) => (isSecure(baseUrl) ? `__Host-${plainName}` : plainName);
  return {
    name,

    values(baseUrl, header = '') {
      const begin = `${name(baseUrl)}=`;
      const pairs = header.split(';').map((pair) => pair.trim());
      return pairs.filter((pair) => pair.startsWith(begin)).map((pair) => pair.slice(begin.length));
    },

    set(baseUrl, value, maxAgeSeconds) {
      const kept = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`;
      return `${name(baseUrl)}=${value}; Path=/${kept}; HttpOnly; SameSite=Lax${isSecure(baseUrl) ? '; Secure' : ''}`;
    },
  };
}
