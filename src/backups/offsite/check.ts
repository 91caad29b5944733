import { randomBytes } from 'node:crypto';
import type { Log } from '../../kernel/log.ts';
import { StatusError } from '../../kernel/status.ts';
import { withTimeout } from '../../kernel/timeout.ts';
import type { Bucket } from './bucket.ts';
import { placeOf } from './offsite.ts';
import { type Doing, wrongSetting } from './s3-failure.ts';

/**
 * The key of the object that names the installation using this place. Two installations would remove each other's
 * unfinished uploads.
 */
const OWNER_KEY = 'dormouse-installation';
const MOST_OWNER_BYTES = 200;
const REFUSED = 'BACKUP_STORE_REFUSED';

export interface CheckOptions {
  bucket: Bucket;
  location: string;
  endpoint: string;
  /** Identifies this installation without revealing its secret. */
  installation: string;
  log: Log;
}

/** Checks a store before anything is written or removed there. */
export interface StoreCheck {
  /**
   * Resolves once it has succeeded in writing, reading and removing a small object and an upload; later calls resolve
   * at once. Rejects with FAILED_PRECONDITION BACKUP_STORE_REFUSED and a remedy if the settings are wrong, and with
   * BACKUP_STORE_AWAY if the store is unusable now; the next call tries again.
   */
  passed: () => Promise<void>;
  /**
   * Returns the outcome of the first attempt, for the start of the service. Waits at most `patienceMs` and rejects only
   * if the settings are wrong. An unreachable store is logged, because players do not need it and backups stay in the
   * folder.
   */
  settled: (patienceMs: number) => Promise<void>;
}

/** Creates a check, which starts at once. */
export function createStoreCheck(options: CheckOptions): StoreCheck {
  let trying: Promise<void> | undefined;
  const passed = () =>
    (trying ??= tryAll(options).catch((error: unknown) => {
      trying = undefined;
      throw error;
    }));
  const first = passed();
  // Callers that do not wait for it check again before they use the store.
  first.catch(() => {});
  return {
    passed,
    async settled(patienceMs) {
      try {
        await withTimeout(first, patienceMs);
      } catch (error) {
        if (isRefused(error)) throw error;
        const { location, log } = options;
        log.warn(
          { store: location, err: error },
          'BACKUP_STORE does not respond correctly: backups stay in the folder until it does',
        );
      }
    },
  };
}

/** Reports whether the store's settings are wrong, which does not resolve itself. */
export function isRefused(error: unknown): boolean {
  return error instanceof StatusError && error.reason === REFUSED;
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
  for (const [action, step] of steps) {
    try {
      await step();
    } catch (error) {
      if (!(error instanceof StatusError) || error.reason !== 'BACKUP_STORE_AWAY') throw error;
      const sentence = wrongSetting(error.cause, { bucket: name, endpoint, action });
      throw sentence === undefined ? error : refused(sentence, error);
    }
  }
}

async function requireOwn(bucket: Bucket, own: Buffer, location: string): Promise<void> {
  const found = await bucket.head(OWNER_KEY);
  if (found === undefined) return;
  const content = await contentOf(bucket, OWNER_KEY, Math.min(found.sizeBytes, MOST_OWNER_BYTES));
  if (content.equals(own)) return;
  throw refused(
    `Another Dormouse installation stores its backups at ${location}. Set a different prefix in BACKUP_STORE. ` +
      `If that installation no longer exists, delete the object ${OWNER_KEY} there.`,
  );
}

async function contentOf(bucket: Bucket, key: string, bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of bucket.read(key, { start: 0, end: bytes - 1 })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function refused(sentence: string, cause?: unknown): StatusError {
  return new StatusError('FAILED_PRECONDITION', REFUSED, sentence, { cause });
}
