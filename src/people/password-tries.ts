import type { Visitor } from '../http/session/visitor.ts';
import type { Caller } from '../kernel/limits/semaphore.ts';
import { addressKey, networkOf } from '../kernel/ip.ts';
import { StatusError } from '../kernel/status.ts';
import type { Attempt } from './login-limits.ts';
import type { People } from './people.ts';
import type { Familiarity } from './sign-in-places.ts';

/** Whose password somebody tries. */
export interface PasswordTry {
  email: string;
  visitor: Visitor;
  /** The user's history with the origin of the try; or the session of a signed-in user. */
  from: Pick<Familiarity, 'device' | 'network'> | { sessionId: string };
}

/** A try of a code after a correct password. */
export interface CodeTry extends Omit<PasswordTry, 'email'> {
  userId: string;
}

/** Reasons with which a try is refused after the password or the code has been looked at. */
const WRONG: ReadonlySet<string> = new Set(['SIGN_IN_FAILED', 'WRONG_PASSWORD', 'WRONG_CODE']);

/**
 * Runs `check`, counted as a try before the password is compared, so that many at once gain nothing. It counts for good
 * only if the password was wrong: a full queue or an unresponsive database is not the user's fault. RESOURCE_EXHAUSTED
 * TOO_MANY_ATTEMPTS.
 *
 * A device or session that the user has signed in with has its own count. Others are counted by account and network
 * together, so that a stranger who keeps trying blocks only their own network; networks new to the user are also
 * counted all together, which protects against guessing from many. Tries refused here count against the address.
 */
export async function tryPassword<T>(
  { loginLimits }: Pick<People, 'loginLimits'>,
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
 * Counts tries of a code; there are only a million codes. The caller knows the password, so all tries except those
 * of the user's own devices and sessions are counted together. RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS.
 */
export async function tryCode<T>(
  { loginLimits }: Pick<People, 'loginLimits'>,
  { userId, visitor: { address }, from }: CodeTry,
  check: () => Promise<T>,
): Promise<T> {
  const { own } = ownCount(from, address);
  if (own !== undefined) return counted([loginLimits.own.take(`${own} code ${userId}`)], check);
  return counted([loginLimits.address.take(addressKey(address)), loginLimits.code.take(userId)], check);
}

/** Lets tries that were no mistake go uncounted. */
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
  return { own, caller: { lane: 'known', key: own } };
}

/** Callers that have proved nothing yet take turns by network. */
export function stranger(address: string): Caller {
  return { lane: 'strangers', key: networkOf(address) };
}
