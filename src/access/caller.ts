import type { Cause } from '../../machines/server-types.ts';
import type { Principal } from '../http/principal.ts';
import { StatusError } from '../kernel/status.ts';

/**
 * Returns the caller's account id. Throws PERMISSION_DENIED ACCOUNT_MISMATCH if `accountId` is another account; ''
 * means the caller's own.
 */
export function ownAccount(principal: Principal, accountId: string): string {
  if (accountId === '' || accountId === principal.accountId) return principal.accountId;
  throw new StatusError('PERMISSION_DENIED', 'ACCOUNT_MISMATCH', 'This key belongs to another account.', {
    metadata: { accountId },
  });
}

/** Refuses keys limited to certain servers for operations on a whole account. PERMISSION_DENIED KEY_LIMITED. */
export function requireWholeAccount({ serverIds }: Principal): void {
  if (serverIds === null) return;
  throw new StatusError('PERMISSION_DENIED', 'KEY_LIMITED', 'This key is limited to certain servers.');
}

/** Applies both checks above and returns the caller's account id. */
export function wholeAccount(principal: Principal, accountId: string): string {
  const own = ownAccount(principal, accountId);
  requireWholeAccount(principal);
  return own;
}

/** Returns the caller as the cause of a request. */
export function causeOf(principal: Principal): Cause {
  return principal.kind === 'key'
    ? { kind: 'key', id: principal.keyId, note: 'asked over the API' }
    : { kind: 'user', id: principal.userId, note: 'asked in the panel' };
}

/** Returns the cause of an operator's action on another account. */
export function operatorCause(principal: Principal, reason: string): Cause {
  return { kind: 'operator', id: principal.kind === 'key' ? principal.keyId : principal.userId, note: reason };
}
