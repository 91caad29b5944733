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
  /** What the user knows of where the try comes from; or the session of somebody who is signed in already. */
  from: Pick<Familiarity, 'device' | 'network'> | { sessionId: string };
}

/** Who gives a code after a password that was right. */
export interface CodeTry extends Omit<PasswordTry, 'email'> {
  userId: string;
}

/** Reasons with which a try is refused after the password or the code has been looked at. */
const WRONG: ReadonlySet<string> = new Set(['SIGN_IN_FAILED', 'WRONG_PASSWORD', 'WRONG_CODE']);

/**
 * Runs `check`, counted as a try before the password is looked at, so that many at once gain nothing. It counts for good only
 * where the password was wrong: a full queue or a database that does not answer is nobody's mistake. RESOURCE_EXHAUSTED
 * TOO_MANY_ATTEMPTS.
 *
 * A device or session that the user has signed in with has a count of its own. Others are counted by the account together with
 * their network, so that a stranger who polls keeps only their own network out; networks that the user never came from
 * also all together, which is what stands against guessing from many. Tries refused here count against the address.
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
 * Counts tries of a code, of which there are only a million: who tries knows the password, so that all others than a device or
 * session of the user's are counted together. RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS.
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
