import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { StatusError } from '../../kernel/status.ts';
import type { Secret } from '../../store/secret.ts';

/** The header with the session's CSRF token, required for every change. */
export const CSRF_HEADER = 'x-csrf-token';

/** Returns the token that our pages must send with each change. It is derived from the session and not stored. */
export function csrfToken(secret: Secret, sessionId: string): string {
  return secret.derive('csrf', sessionId);
}

/**
 * Returns the token in a form that differs each time. Otherwise the size of compressed pages would reveal it bit by bit
 * (BREACH, https://www.breachattack.com).
 */
export function maskedCsrfToken(secret: Secret, sessionId: string): string {
  const token = Buffer.from(csrfToken(secret, sessionId));
  const mask = randomBytes(token.length);
  return Buffer.concat([mask, xor(token, mask)]).toString('base64url');
}

/** Throws PERMISSION_DENIED CSRF_TOKEN_INVALID unless it is the session's token, masked or not. */
export function checkCsrfToken(secret: Secret, sessionId: string, given: string): void {
  const expected = Buffer.from(csrfToken(secret, sessionId));
  const masked = Buffer.from(given, 'base64url');
  const half = expected.length;
  const sent = masked.length === 2 * half ? xor(masked.subarray(half), masked.subarray(0, half)) : Buffer.from(given);
  if (sent.length === expected.length && timingSafeEqual(sent, expected)) return;
  throw new StatusError('PERMISSION_DENIED', 'CSRF_TOKEN_INVALID', 'Reload the page and try again.');
}

function xor(bytes: Buffer, mask: Buffer): Buffer {
  return bytes.map((byte, nth) => byte ^ (mask[nth] ?? 0)) as Buffer;
}

/**
 * Refuses a change requested by a page of another site, whether or not a user is signed in. Browsers that send
 * `Sec-Fetch-Site` (W3C Fetch Metadata) have compared the origins themselves. For others, the `Origin` must be ours
 * (RFC 6454 §7). Calls from outside a browser have neither header. Throws PERMISSION_DENIED CROSS_SITE.
 *
 * A page with a form needs `Referrer-Policy: same-origin`: under `no-referrer` browsers send the origin as `null`.
 */
export function refuseCrossSite(method: string, headers: IncomingHttpHeaders, baseUrl: string): void {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return;
  const site = headers['sec-fetch-site'];
  if (site === 'same-origin' || site === 'none') return;
  const { origin } = headers;
  if (site !== 'cross-site' && (origin === undefined || origin === new URL(baseUrl).origin)) return;
  throw new StatusError('PERMISSION_DENIED', 'CROSS_SITE', `This request must come from a page of ${baseUrl}.`, {
    metadata: { baseUrl },
  });
}
