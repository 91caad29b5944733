import { hash, verify } from '@node-rs/argon2';
import { type Caller, createSemaphore } from '../kernel/limits/semaphore.ts';
import { once } from '../kernel/once.ts';
import { StatusError } from '../kernel/status.ts';

/** argon2id (the library's default) with 19 MiB, 2 passes, 1 lane: OWASP Password Storage Cheat Sheet. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Hashing takes a tenth of a second of a core: more at once would keep everything else waiting. */
const AT_ONCE = 2;
/** For strangers and for known users: a caller behind so many is better refused. Some seven seconds of hashing. */
const MOST_WAITING = 60;
const LONGEST_BYTES = 1_024;

/** The key of the service itself, which has no network. */
const SERVICE: Caller = { lane: 'known', key: 'service' };

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

/** A PHC string. Rejects with RangeError for a password beyond 1024 bytes, UNAVAILABLE BUSY where too many wait. */
export async function hashPassword(password: string, caller: Caller = SERVICE): Promise<string> {
  if (Buffer.byteLength(password) > LONGEST_BYTES) throw new RangeError('A password has at most 1024 bytes.');
  return withPlace(caller, () => hash(password, COST));
}

/** Whether a stored hash was made more cheaply than hashes are made now. */
export function isOutdated(passwordHash: string): boolean {
  const [, memory, passes] = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=\d+\$/.exec(passwordHash) ?? [];
  return !(Number(memory) >= COST.memoryCost && Number(passes) >= COST.timeCost);
}

/** Whether it is the password. Without a hash (no such user) it takes as long, and is false. UNAVAILABLE as above. */
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
