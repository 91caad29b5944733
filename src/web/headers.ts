/** Pages run nothing, load only our own style and pictures, post only to us, and cannot be framed (W3C CSP Level 3). */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/** The policy of a live page: it runs our own files and asks only us. */
export const LIVE_PAGE_POLICY = `${CONTENT_SECURITY_POLICY}; script-src 'self'; connect-src 'self'`;

/** What every page is sent with. */
export function pageHeaders(baseUrl: string): Record<string, string> {
  return {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': CONTENT_SECURITY_POLICY,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
    'Referrer-Policy': referrerPolicy(baseUrl),
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  };
}

/**
 * Addresses of pages hold codes, so nobody is told where a visitor comes from. Under `no-referrer`, however, a form's
 * `Origin` is `null`, and only to https and this very machine do browsers say `Sec-Fetch-Site`, by which a form of ours is
 * known all the same (Fetch §3.2.6, Fetch Metadata §2). A plain http installation elsewhere still tells nobody else.
 */
function referrerPolicy(baseUrl: string): string {
  const { protocol, hostname } = new URL(baseUrl);
  const trustworthy = protocol === 'https:' || /^(?:(?:.+\.)?localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  return trustworthy ? 'no-referrer' : 'same-origin';
}
