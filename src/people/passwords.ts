import { hash, verify } from '@node-rs/argon2';
import { type Caller, createSemaphore } from '../kernel/limits/semaphore.ts';
import { once } from '../kernel/once.ts';
import { StatusError } from '../kernel/status.ts';

/** argon2id (the library's default) with 19 MiB, 2 passes, 1 lane: OWASP Password Storage Cheat Sheet. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Limit of concurrent hashes. Each occupies a core for a tenth of a second, so more would block other work. */
const AT_ONCE = 2;
/** Queue limit, each for strangers and for known users: about seven seconds of hashing. More callers are refused. */
const MOST_WAITING = 60;
const LONGEST_BYTES = 1_024;

/** The queue key of the service itself, which has no network. */
const SERVICE: Caller = { queue: 'known', key: 'service' };

const hashing = createSemaphore({
  atOnce: AT_ONCE,
  mostWaiting: MOST_WAITING,
  makesRoom: true,
  full: () =>
    new StatusError('UNAVAILABLE', 'BUSY', 'Too many people are signing in just now. Try again in a few seconds.', {
      retryAfterSeconds: 5,
    }),
});
const decoy = once(() => hash('a password nobody has', COST));

/**
 * Returns a PHC string. Rejects with RangeError for a password beyond 1024 bytes, and with UNAVAILABLE BUSY if the
 * queue is full.
 */
export async function hashPassword(password: string, caller: Caller = SERVICE): Promise<string> {
  if (Buffer.byteLength(password) > LONGEST_BYTES) throw new RangeError('A password has at most 1024 bytes.');
  return withPlace(caller, () => hash(password, COST));
}

/** Whether a stored hash has a lower cost than new ones. */
export function isOutdated(passwordHash: string): boolean {
  const [, memory, passes] = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=\d+\$/.exec(passwordHash) ?? [];
  return !(Number(memory) >= COST.memoryCost && Number(passes) >= COST.timeCost);
}

/**
 * Whether the password matches. Without a hash (unknown user) it returns false after the same time. Rejects like
 * `hashPassword`.
 */
export async function verifyPassword(
  passwordHash: string | undefined,
  password: string,
  caller: Caller = SERVICE,
): Promise<boolean> {
  if (Buffer.byteLength(password) > LONGEST_BYTES) return false;
  const compared = passwordHash ?? (await decoy());
  const matches = await withPlace(caller, () => verify(compared, password));
  return matches && passwordHash !== undefined;
}

async function withPlace<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
  const leave = await hashing.enter(caller);
  try {
    return await work();
  } finally {
    leave();
  }
}
