import type { Visitor } from '../http/session/visitor.ts';
import type { Clock } from '../kernel/clock.ts';
import { addressKey, networkOf } from '../kernel/ip.ts';
import { type BucketRule, type RateLimiter, createRateLimiter } from '../kernel/limits/rate-limiter.ts';
import type { Caller } from '../kernel/limits/semaphore.ts';
import { StatusError } from '../kernel/status.ts';
import { SECOND_MS } from '../kernel/units.ts';
import type { Familiarity } from './sign-in-places.ts';

/**
 * Limits attempts by key. Keys are never locked: anyone may retry after the wait, so strangers cannot lock a user out.
 */
export interface AttemptLimit {
  /**
   * Counts an attempt before its work. Throws RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS without counting it if it comes too
   * soon.
   */
  take(key: string): Attempt;
}

/** One counted attempt. */
export interface Attempt {
  /** Removes a successful attempt from the count. */
  forgive(): void;
}

const HOUR_SECONDS = 3_600;

const perHour = (burst: number, count: number): BucketRule => ({ burst, perSecond: count / HOUR_SECONDS });

/**
 * Limits of actions without a credential, or to obtain one.
 *
 * Within a quarter of an hour, about 15 attempts at an account from a network, and 50 from an address. 300 an hour at
 * an account from all new networks together: one network's share is a seventh of it, and a year of guessing makes less
 * than 3 million attempts. 10 codes an hour, with three valid codes at any time: an attacker who also has the password
 * succeeds within a year with a chance of one in four.
 */
export const LOGIN_RULES = {
  /** Wrong passwords from a device or session known to the account. */
  own: perHour(10, 40),
  /** Other wrong passwords, by account and network. */
  network: perHour(5, 40),
  /** Wrong passwords from networks new to the account's user, by account. */
  account: perHour(60, 300),
  /** Wrong passwords and codes, by client address. */
  address: perHour(30, 80),
  /** Wrong second-factor codes from devices new to their user, by user. */
  code: perHour(5, 10),
  /** New accounts, by client address. */
  signUp: perHour(10, 10),
  /** E-mails, by requester. */
  mail: perHour(10, 10),
};

export type LoginLimits = Record<keyof typeof LOGIN_RULES, AttemptLimit>;

export function createLoginLimits(clock: Clock, rules: Partial<typeof LOGIN_RULES> = {}): LoginLimits {
  const limit = (name: keyof LoginLimits) =>
    createAttemptLimit(createRateLimiter(rules[name] ?? LOGIN_RULES[name], clock));
  return {
    own: limit('own'),
    network: limit('network'),
    account: limit('account'),
    address: limit('address'),
    code: limit('code'),
    signUp: limit('signUp'),
    mail: limit('mail'),
  };
}

/** Counts attempts with a rate limiter. */
export function createAttemptLimit(limiter: RateLimiter): AttemptLimit {
  return {
    take(key) {
      const { waitMs, giveBack } = limiter.take(key);
      if (waitMs > 0) throw tooMany(waitMs);
      return { forgive: giveBack };
    },
  };
}

function tooMany(waitMs: number): StatusError {
  const seconds = Math.ceil(waitMs / SECOND_MS);
  return new StatusError('RESOURCE_EXHAUSTED', 'TOO_MANY_ATTEMPTS', `Too many tries. Wait ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
    metadata: { seconds: String(seconds) },
  });
}

/** The user's history with an attempt's origin, or the session of a signed-in user. */
type Origin = Familiarity | { sessionId: string };

/** Refusals after the password, the code or the provider's answer was checked. */
const WRONG: ReadonlySet<string> = new Set(['SIGN_IN_FAILED', 'WRONG_PASSWORD', 'WRONG_CODE', 'PROVIDER_REFUSED']);

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
  limits: LoginLimits,
  { email, visitor: { address }, from }: { email: string; visitor: Visitor; from: Origin },
  check: (caller: Caller) => Promise<T>,
): Promise<T> {
  const { own, caller } = ownCount(from, address);
  const attempts: Attempt[] = [];
  if (own === undefined) {
    attempts.push(limits.address.take(addressKey(address)));
    attempts.push(limits.network.take(`${networkOf(address)} ${email}`));
    if (!('network' in from && from.network)) attempts.push(limits.account.take(email));
  } else attempts.push(limits.own.take(`${own} ${email}`));
  return counted(attempts, () => check(caller));
}

/**
 * Counts attempts at a code, because there are only a million codes. The caller knows the password, so all attempts
 * except those of the user's own devices and sessions share a count. RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS.
 */
export async function tryCode<T>(
  limits: LoginLimits,
  { userId, visitor: { address }, from }: { userId: string; visitor: Visitor; from: Origin },
  check: () => Promise<T>,
): Promise<T> {
  const { own } = ownCount(from, address);
  if (own !== undefined) return counted([limits.own.take(`${own} code ${userId}`)], check);
  return counted([limits.address.take(addressKey(address)), limits.code.take(userId)], check);
}

/** Removes attempts from the count unless they failed with a wrong password or code, or the provider's refusal. */
export async function counted<T>(attempts: readonly Attempt[], check: () => Promise<T>): Promise<T> {
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

function ownCount(from: Origin, address: string): { own: string | undefined; caller: Caller } {
  const own = 'sessionId' in from ? `session ${from.sessionId}` : from.device && `device ${from.device}`;
  if (own === undefined) return { own, caller: stranger(address) };
  return { own, caller: { queue: 'known', key: own } };
}

/** Queues unauthenticated callers by network. */
export function stranger(address: string): Caller {
  return { queue: 'strangers', key: networkOf(address) };
}
