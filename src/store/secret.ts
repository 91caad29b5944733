import { createHash, createHmac, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readIfThere, writeAtomic } from '../kernel/atomic-file.ts';
import { StatusError } from '../kernel/status.ts';
import { deleteMeta, getMeta, setMeta } from './meta.ts';
import type { Store } from './store.ts';

/** The installation's secret. It never leaves this object. */
export interface Secret {
  /**
   * Derives 43 characters of base64url that cannot be guessed without the secret and are constant for a purpose and an
   * id: a password that need not be stored. HMAC-SHA-256, RFC 2104.
   */
  derive(purpose: string, id: string): string;
}

const LENGTH = 32;
const FINGERPRINT = 'secret.fingerprint';

/**
 * Reads `secret.key` (32 bytes) in the data directory. Creates it if the database has never had one.
 *
 * The database stores the secret's fingerprint. If the file is missing or belongs to another installation, rejects with
 * FAILED_PRECONDITION: a silently created new secret would lock us out of the consoles of all running servers and
 * invalidate all issued codes. An operator without a copy creates the file empty. A new secret is then created, and
 * consoles work again from each server's next start.
 */
export async function openSecret(store: Store, dataDir: string): Promise<Secret> {
  const path = join(dataDir, 'secret.key');
  const expected = await getMeta(store, FINGERPRINT);
  const bytes = (await readIfThere(path)) ?? (expected === undefined ? await create(path) : lost(path));
  if (bytes.length === 0) return secretOf(store, await renew(store, path), undefined);
  requireLength(path, bytes);
  return secretOf(store, bytes, expected);
}

/**
 * Checks, without changing anything, that `openSecret` would find the secret that the database knows. For a standby,
 * which may take over this installation later. Rejects with FAILED_PRECONDITION like `openSecret`.
 */
export async function requireSecret(store: Store, dataDir: string): Promise<void> {
  const path = join(dataDir, 'secret.key');
  const expected = await getMeta(store, FINGERPRINT);
  if (expected === undefined) return;
  const bytes = (await readIfThere(path)) ?? lost(path);
  if (bytes.length === 0) return;
  requireLength(path, bytes);
  if (secretFingerprintOf(bytes) !== expected) throw another();
}

function requireLength(path: string, { length }: Buffer): void {
  if (length !== LENGTH) throw refusal(`${path} must be ${LENGTH} bytes long, but has ${length}.`);
}

async function secretOf(store: Store, bytes: Buffer, expected: string | undefined): Promise<Secret> {
  const fingerprint = secretFingerprintOf(bytes);
  if (expected === undefined) await store.write((tx) => setMeta(tx, FINGERPRINT, fingerprint));
  else if (expected !== fingerprint) throw another();
  return secretFrom(bytes);
}

/** Returns the secret for the bytes of a `secret.key`. */
export function secretFrom(bytes: Buffer): Secret {
  return { derive: (purpose, id) => createHmac('sha256', bytes).update(`${purpose}\0${id}`).digest('base64url') };
}

async function create(path: string): Promise<Buffer> {
  const bytes = randomBytes(LENGTH);
  await writeAtomic(path, bytes, { durable: true });
  return bytes;
}

/**
 * Deletes the old fingerprint first, so that after a crash the next start finds either an empty file or one that it can
 * adopt.
 */
async function renew(store: Store, path: string): Promise<Buffer> {
  await store.write((tx) => deleteMeta(tx, FINGERPRINT));
  return create(path);
}

function lost(path: string): never {
  throw refusal(
    `${path} is missing. Restore it. Without a copy, create an empty file: you get a new secret, issued codes become ` +
      'invalid, and the consoles of running servers do not work until their next start.',
  );
}

function secretFingerprintOf(bytes: Buffer): string {
  return createHash('sha256').update('fingerprint\0').update(bytes).digest('hex');
}

function another(): StatusError {
  return refusal('secret.key does not belong to this database. Restore the original file.');
}

function refusal(message: string): StatusError {
  return new StatusError('FAILED_PRECONDITION', 'SECRET_MISSING', message);
}
