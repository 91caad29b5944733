/** Pages run nothing, load only our own style and pictures, post only to us, and cannot be framed (W3C CSP Level 3). */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/** The policy of a live page: it runs our own files and asks only us. */
export const LIVE_PAGE_POLICY = `${CONTENT_SECURITY_POLICY}; script-src 'self'; connect-src 'self'`;

/** The headers of every page. */
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
 * Addresses of pages hold codes, so they must not be sent to other sites. Under `no-referrer`, however, a form's
 * `Origin` is `null`, and browsers send `Sec-Fetch-Site`, by which our forms are recognised all the same, only to https
 * and this machine (Fetch §3.2.6, Fetch Metadata §2). A plain http installation elsewhere still sends other sites
 * nothing.
 */
function referrerPolicy(baseUrl: string): string {
  const { protocol, hostname } = new URL(baseUrl);
  const trustworthy = protocol === 'https:' || /^(?:(?:.+\.)?localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  return trustworthy ? 'no-referrer' : 'same-origin';
}
