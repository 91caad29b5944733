import { StatusError } from '../../kernel/status.ts';
import type { FindBrowser } from '../auth.ts';
import { checkCsrfToken, refuseCrossSite } from './csrf.ts';
import { sessionToken } from './session-cookie.ts';
import { type Browsers, CSRF_HEADER } from './session-mount.ts';

/**
 * Finds the user of a browser by its session cookie. Every change also needs the CSRF token, which only our pages know.
 * Throws UNAUTHENTICATED SESSION_REQUIRED for a cookie without a session, and PERMISSION_DENIED.
 */
export function createFindBrowser({ config, findSession, secret }: Browsers): FindBrowser {
  return async function findBrowser(headers, { method }) {
    const token = sessionToken(config.baseUrl, headers.cookie);
    if (token === undefined) return undefined;
    refuseCrossSite(method.toUpperCase(), headers, config.baseUrl);
    const principal = await findSession(token);
    if (!principal) throw new StatusError('UNAUTHENTICATED', 'SESSION_REQUIRED', 'Sign in first.');
    if (method !== 'get') checkCsrfToken(secret, principal.sessionId, String(headers[CSRF_HEADER] ?? ''));
    return principal;
  };
}
