/**
 * The policy of static pages: no scripts, only our own styles and pictures, forms only to us, no framing (W3C CSP Level
 * 3).
 */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/** The policy of live pages: also allows our own scripts and requests to us. */
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
 * Page addresses contain codes, so they must not be sent to other sites. Under `no-referrer`, however, a form's
 * `Origin` is `null`. Our forms can then be recognised by `Sec-Fetch-Site`, but browsers send that only to https and
 * this machine (Fetch §3.2.6, Fetch Metadata §2). A plain http installation elsewhere therefore uses a policy that
 * sends the origin to us, and nothing to other sites.
 */
function referrerPolicy(baseUrl: string): string {
  const { protocol, hostname } = new URL(baseUrl);
  const trustworthy = protocol === 'https:' || /^(?:(?:.+\.)?localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  return trustworthy ? 'no-referrer' : 'same-origin';
}
