import type { Visitor } from '../http/session/visitor.ts';
import type { Caller } from '../kernel/limits/semaphore.ts';
import { addressKey, networkOf } from '../kernel/ip.ts';
import { StatusError } from '../kernel/status.ts';
import type { Attempt } from './login-limits.ts';
import type { People } from './people.ts';
import type { Familiarity } from './sign-in-places.ts';

/** An attempt at a password. */
export interface PasswordTry {
  email: string;
  visitor: Visitor;
  /** The user's history with the attempt's origin, or the session of a signed-in user. */
  from: Familiarity | { sessionId: string };
}

/** An attempt at a code after a correct password. */
export interface CodeTry extends Omit<PasswordTry, 'email'> {
  userId: string;
}

/** Refusals after the password or the code was checked. */
const WRONG: ReadonlySet<string> = new Set(['SIGN_IN_FAILED', 'WRONG_PASSWORD', 'WRONG_CODE']);

/**
 * Runs `check` and counts it as an attempt before the password is compared, so that concurrent attempts have no
 * advantage. Only wrong passwords stay counted: a full queue or an unresponsive database is not the user's fault.
 * RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS.
 *
 * A device or session known to the user has its own count. Others are counted by account and network together, so that
 * a stranger who keeps trying blocks only their own network. Networks new to the user also share a count, which
 * protects against guesses from many networks. Attempts refused here count against the address.
 */
export async function tryPassword<T>(
  { loginLimits }: People,
  { email, visitor: { address }, from }: PasswordTry,
  check: (caller: Caller) => Promise<T>,
): Promise<T> {
  const { own, caller } = ownCount(from, address);
  const attempts: Attempt[] = [];
  if (own === undefined) {
    attempts.push(loginLimits.address.take(addressKey(address)));
    attempts.push(loginLimits.network.take(`${networkOf(address)} ${email}`));
    if (!('network' in from && from.network)) attempts.push(loginLimits.account.take(email));
  } else attempts.push(loginLimits.own.take(`${own} ${email}`));
  return counted(attempts, () => check(caller));
}

/**
 * Counts attempts at a code, because there are only a million codes. The caller knows the password, so all attempts
 * except those of the user's own devices and sessions share a count. RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS.
 */
export async function tryCode<T>(
  { loginLimits }: People,
  { userId, visitor: { address }, from }: CodeTry,
  check: () => Promise<T>,
): Promise<T> {
  const { own } = ownCount(from, address);
  if (own !== undefined) return counted([loginLimits.own.take(`${own} code ${userId}`)], check);
  return counted([loginLimits.address.take(addressKey(address)), loginLimits.code.take(userId)], check);
}

/** Removes attempts from the count unless they failed with a wrong password or code. */
async function counted<T>(attempts: readonly Attempt[], check: () => Promise<T>): Promise<T> {
  try {
    const result = await check();
    for (const attempt of attempts) attempt.forgive();
    return result;
  } catch (error) {
    const counts = error instanceof StatusError && WRONG.has(error.reason);
    if (!counts) for (const attempt of attempts) attempt.forgive();
    throw error;
  }
}

function ownCount(from: PasswordTry['from'], address: string): { own: string | undefined; caller: Caller } {
  const own = 'sessionId' in from ? `session ${from.sessionId}` : from.device && `device ${from.device}`;
  if (own === undefined) return { own, caller: stranger(address) };
  return { own, caller: { queue: 'known', key: own } };
}

/** Queues unauthenticated callers by network. */
export function stranger(address: string): Caller {
  return { queue: 'strangers', key: networkOf(address) };
}
