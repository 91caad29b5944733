import type { IncomingHttpHeaders } from 'node:http';
import { parseToken } from '../kernel/ids.ts';
import { StatusError } from '../kernel/status.ts';
import type { KeyOperation } from './operation.ts';
import type { AppPrincipal, KeyPrincipal, Principal, SessionPrincipal } from './principal.ts';
import type { TakeToken } from './rate-limit.ts';
import type { Scope } from './scopes.ts';

/** Finds the owner of an API key; undefined if the key is unknown, revoked or expired. */
export type FindPrincipal = (apiKey: string) => Promise<KeyPrincipal | undefined>;

/** Finds the app and the user of a token; undefined if the token is unknown or revoked. */
export type FindApp = (token: string) => Promise<AppPrincipal | undefined>;

/**
 * Finds the user signed in with the calling browser; undefined without a session. Throws PERMISSION_DENIED for a change
 * requested by another site's page.
 */
export type FindBrowser = (headers: IncomingHttpHeaders, operation: Needs) => Promise<SessionPrincipal | undefined>;

/** Decides whether a call is allowed. Throws UNAUTHENTICATED, PERMISSION_DENIED or RESOURCE_EXHAUSTED. */
export type Authorize = (headers: IncomingHttpHeaders, operation: Needs) => Promise<Principal>;

/** The access an operation requires. */
export type Needs = Pick<KeyOperation, 'scope' | 'appScope' | 'keyOnly' | 'bearerKey' | 'method' | 'expensive'>;

const BEARER = /^Bearer +(\S+)$/i;
const BEARER_KEY = /^Bearer +(dmk_\w+)$/i;

/**
 * Checks the credential, its kind, the scope, then the rate. If `x-api-key` is sent, it alone counts: a valid token
 * does not make up for an invalid key. A key in `Authorization`, or a header sent twice (joined by Node), does not
 * count. Only operator operations also accept an operator's session, and only without another credential.
 */
export function createAuthorize(
  findPrincipal: FindPrincipal,
  findApp: FindApp,
  takeToken: TakeToken,
  findBrowser: FindBrowser = async () => undefined,
): Authorize {
  return async function authorize(headers, operation) {
    if (operation.keyOnly && headers['x-api-key'] === undefined && headers.authorization !== undefined) {
      const sentence = 'This operation accepts only an API key. Send it in the header x-api-key.';
      throw new StatusError('UNAUTHENTICATED', 'API_KEY_REQUIRED', sentence);
    }
    const principal = await identify(headers, operation);
    requireNeeds(principal, operation);
    takeToken(principal, operation);
    return principal;
  };

  async function identify(headers: IncomingHttpHeaders, operation: Needs): Promise<Principal> {
    const { 'x-api-key': key, authorization } = operation.bearerKey ? withKey(headers) : headers;
    if (key === undefined && authorization === undefined) {
      const signedIn = operation.scope === 'operator' && (await findBrowser(headers, operation));
      if (signedIn) return signedIn;
      throw new StatusError('UNAUTHENTICATED', 'CREDENTIAL_MISSING', 'Send an API key in the header x-api-key.');
    }
    const principal =
      key === undefined ? await bearer(authorization ?? '') : typeof key === 'string' && (await keyOf(key));
    if (!principal) throw invalidCredential();
    return principal;
  }

  async function keyOf(key: string): Promise<KeyPrincipal | undefined> {
    return parseToken(key) === 'key' ? findPrincipal(key) : undefined;
  }

  async function bearer(authorization: string): Promise<AppPrincipal | undefined> {
    const [, token = ''] = BEARER.exec(authorization) ?? [];
    return parseToken(token) === 'app' ? findApp(token) : undefined;
  }
}

function withKey(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const [, key] = BEARER_KEY.exec(headers.authorization ?? '') ?? [];
  return key === undefined || headers['x-api-key'] !== undefined ? headers : { 'x-api-key': key };
}

// All invalid credentials get the same answer, so that callers cannot find out which exist.
function invalidCredential(): StatusError {
  return new StatusError('UNAUTHENTICATED', 'CREDENTIAL_INVALID', 'This credential is invalid, expired or revoked.');
}

/** Throws PERMISSION_DENIED SCOPE_MISSING if the caller lacks the scope. */
export function requireScope({ scopes }: Principal, needed: Scope): void {
  if (scopes.has(needed)) return;
  throw new StatusError('PERMISSION_DENIED', 'SCOPE_MISSING', `This credential lacks the scope ${needed}.`, {
    metadata: { scope: needed },
  });
}

/** Throws PERMISSION_DENIED if the caller lacks the access an operation requires. */
export function requireNeeds(principal: Principal, operation: Needs): void {
  const needed = principal.kind === 'app' ? operation.appScope : operation.scope;
  if (needed === undefined) {
    throw new StatusError(
      'PERMISSION_DENIED',
      'APP_TOKEN_NOT_ALLOWED',
      'Apps can only list servers and identify the user.',
    );
  }
  if (needed === 'operator' && principal.kind === 'session' && principal.needsSecondFactor) {
    throw new StatusError(
      'PERMISSION_DENIED',
      'SECOND_FACTOR_NEEDED',
      'Operators need a second factor. Set one up at /profile/second-factor.',
    );
  }
  if (needed !== 'any') requireScope(principal, needed);
  // A key keeps its scopes when its user is no longer an operator.
  if (needed === 'operator' && !principal.operator) {
    throw new StatusError('PERMISSION_DENIED', 'NOT_OPERATOR', 'Only operators of this installation can do this.');
  }
}
