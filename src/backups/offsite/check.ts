import { randomBytes } from 'node:crypto';
import type { Log } from '../../kernel/log.ts';
import { StatusError } from '../../kernel/status.ts';
import { withTimeout } from '../../kernel/timeout.ts';
import type { Bucket } from './bucket.ts';
import { placeOf } from './offsite.ts';
import { type Doing, wrongSetting } from './s3-failure.ts';

/** The start waits no longer for a store that says nothing. */
const PATIENCE_MS = 15_000;
/** Whose backups lie here: two installations would remove each other's unfinished uploads. */
const OWNER_KEY = 'dormouse-installation';
const MOST_OWNER_BYTES = 200;

export interface CheckOptions {
  bucket: Bucket;
  location: string;
  endpoint: string;
  /** What tells this installation from others, and nothing of its secret. */
  installation: string;
  log: Log;
}

/**
 * Does with a small object all that backups need: list, write, read, delete, and an upload in parts. Rejects with
 * FAILED_PRECONDITION BACKUP_STORE_REFUSED, in a sentence that says what to do, where the settings are wrong; a store that cannot be
 * reached now is only logged, as players need none, and backups stay in the folder until it is back.
 */
export async function checkStore(options: CheckOptions): Promise<void> {
  const late = Symbol();
  const checked = tryAll(options);
  if ((await withTimeout(checked, PATIENCE_MS, { late: () => late })) === late) {
    checked.catch(() => {});
    away(options, new Error(`no answer within ${PATIENCE_MS} ms`));
  }
}

async function tryAll(options: CheckOptions): Promise<void> {
  const { bucket, location, endpoint, installation } = options;
  const { bucket: name } = placeOf(location);
  const own = Buffer.from(`${installation}\n`);
  const key = `.dormouse-check-${randomBytes(6).toString('hex')}`;
  const steps: [Doing, () => Promise<unknown>][] = [
    ['list', () => bucket.uploads('')],
    ['read', () => requireOwn(bucket, own, location)],
    ['write', () => bucket.put(OWNER_KEY, own)],
    ['write', () => bucket.put(key, own)],
    ['read', () => contentOf(bucket, key, own.length)],
    ['delete', () => bucket.remove(key)],
    ['write', async () => await bucket.abort({ key, uploadId: await bucket.begin(key, '') })],
  ];
  for (const [doing, step] of steps) {
    try {
      await step();
    } catch (error) {
      if (!(error instanceof StatusError) || error.reason !== 'BACKUP_STORE_AWAY') throw error;
      const sentence = wrongSetting(error.cause, { bucket: name, endpoint, doing });
      if (sentence !== undefined) throw refused(sentence, error);
      return away(options, error);
    }
  }
}

async function requireOwn(bucket: Bucket, own: Buffer, location: string): Promise<void> {
  const found = await bucket.head(OWNER_KEY);
  if (found === undefined) return;
  const content = await contentOf(bucket, OWNER_KEY, Math.min(found.sizeBytes, MOST_OWNER_BYTES));
  if (content.equals(own)) return;
  throw refused(
    `Another installation of Dormouse keeps its backups at ${location}: give this one a prefix of its own in BACKUP_STORE. (If there is no other any more, delete the object ${OWNER_KEY} there.)`,
  );
}

async function contentOf(bucket: Bucket, key: string, bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of bucket.read(key, { start: 0, end: bytes - 1 })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function away({ location, log }: CheckOptions, error: unknown): void {
  log.warn(
    { store: location, err: error },
    'BACKUP_STORE cannot be reached now: backups stay in the folder until it can',
  );
}

function refused(sentence: string, cause?: unknown): StatusError {
  return new StatusError('FAILED_PRECONDITION', 'BACKUP_STORE_REFUSED', sentence, { cause });
}
