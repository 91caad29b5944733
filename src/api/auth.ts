import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../access/keys.ts';
import { parseToken } from '../ids.ts';
import { StatusError } from '../status.ts';
import type { Operation } from './operation.ts';

/** Who an API key belongs to; undefined for one that is unknown, revoked or expired. */
export type FindPrincipal = (apiKey: string) => Promise<Principal | undefined>;

/** Decides whether a call may be made at all. Throws UNAUTHENTICATED, PERMISSION_DENIED or RESOURCE_EXHAUSTED. */
export type Authorize = (headers: IncomingHttpHeaders, operation: Operation) => Promise<Principal>;

/**
 * The credential, then the scope, then the rate of the key. `x-api-key` decides alone where it is sent: a bad key is not
 * rescued by a good token. A key in `Authorization`, or a header sent twice (joined by Node), is none.
 */
export function createAuthorize(findPrincipal: FindPrincipal, takeToken: (keyId: string) => void): Authorize {
  return async function authorize(headers, operation) {
    const principal = await findPrincipal(apiKey(headers));
    if (!principal) throw invalidCredential();
    requireScope(principal, operation);
    takeToken(principal.keyId);
    return principal;
  };
}

function apiKey(headers: IncomingHttpHeaders): string {
  const given = headers['x-api-key'];
  if (typeof given === 'string') {
    if (parseToken(given) !== 'key') throw invalidCredential();
    return given;
  }
  if (headers.authorization === undefined) {
    throw new StatusError('UNAUTHENTICATED', 'CREDENTIAL_MISSING', 'Send an API key in the header x-api-key.');
  }
  throw invalidCredential();
}

// One answer for all of them: whether a key exists is nobody's business who does not have it.
function invalidCredential(): StatusError {
  return new StatusError('UNAUTHENTICATED', 'CREDENTIAL_INVALID', 'This credential is not valid, or no longer.');
}

function requireScope(principal: Principal, { scope }: Operation): void {
  if (scope === 'any' || principal.scopes.has(scope)) return;
  throw new StatusError('PERMISSION_DENIED', 'SCOPE_MISSING', `This key lacks the scope ${scope}.`, {
    metadata: { scope },
  });
}
