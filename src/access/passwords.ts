import { hash, verify } from '@node-rs/argon2';

/** argon2id (the library's default) with 19 MiB, 2 passes, 1 lane: OWASP Password Storage Cheat Sheet. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Hashing takes a tenth of a second of a core: more at once would keep everything else waiting. */
const AT_ONCE = 2;
const LONGEST_BYTES = 1_024;

const waiting: (() => void)[] = [];
let running = 0;
let decoy: Promise<string> | undefined;

/** A PHC string. Rejects with RangeError for a password beyond 1024 bytes. */
export async function hashPassword(password: string): Promise<string> {
  if (Buffer.byteLength(password) > LONGEST_BYTES) throw new RangeError('A password has at most 1024 bytes.');
  return inTurn(() => hash(password, COST));
}

/** Whether it is the password. Without a hash (no such user) it takes as long, and is false. */
export async function verifyPassword(passwordHash: string | undefined, password: string): Promise<boolean> {
  if (Buffer.byteLength(password) > LONGEST_BYTES) return false;
  decoy ??= hashPassword('a password nobody has');
  const compared = passwordHash ?? (await decoy);
  const matches = await inTurn(() => verify(compared, password));
  return matches && passwordHash !== undefined;
}

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  else running++;
  try {
    return await work();
  } finally {
    // The place passes to the next in line, if there is one.
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}
