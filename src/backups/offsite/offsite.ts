import { randomBytes } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import { StatusError } from '../../kernel/status.ts';
import { withTimeout } from '../../kernel/timeout.ts';
import type { Secret } from '../../store/secret.ts';
import { isRefused, refused } from '../errors.ts';
import type { BackupFormat } from '../rows.ts';
import type { ArchiveStore } from './archive-store.ts';
import type { Bucket } from './bucket.ts';
import { type ResticAccess, createRestics, isRestic, withoutCredentials } from './restic.ts';
import { type BucketPlace, type Doing, createS3, wrongSetting } from './s3.ts';
import { createS3Archives } from './s3-archives.ts';

/** The place of backups outside the folder. */
export interface OffSite {
  /** The place of new backups: `s3://bucket/prefix` or `restic:<repository>`, without credentials; '': the folder. */
  location: string;
  /** The format of new archives. */
  format: BackupFormat;
  /** Returns the store of a location, also of one from earlier settings. Uses the current credentials. */
  store(location: string): ArchiveStore;
  /** Returns the bucket of an `s3://` location in the same way. */
  bucket(location: string): Bucket;
  /** Same as `StoreCheck.passed` of the place for new backups. */
  passed(): Promise<void>;
}

/** Opens each store on first use. Without `passed`, nothing is checked. */
export function createOffSite(
  location: string,
  openBucket: (place: BucketPlace) => Bucket,
  passed: OffSite['passed'] = async () => {},
  openRestic?: (location: string) => ArchiveStore,
): OffSite {
  const buckets = new Map<string, Bucket>();
  const stores = new Map<string, ArchiveStore>();
  const bucket = (of: string): Bucket => {
    const found = buckets.get(of) ?? openBucket(placeOf(of));
    buckets.set(of, found);
    return found;
  };
  return {
    location,
    format: isRestic(location) ? 'tar' : 'tar.zst',
    passed,
    bucket,
    store(of) {
      const found = stores.get(of) ?? (openRestic && isRestic(of) ? openRestic(of) : createS3Archives(bucket(of)));
      stores.set(of, found);
      return found;
    },
  };
}

/** Splits `s3://bucket/prefix`. */
export function placeOf(location: string): BucketPlace {
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(location) ?? [];
  return { bucket, prefix };
}

/** Returns what must exist for archives at a location: the bucket, or the repository. */
export function rootOf(location: string): string {
  return isRestic(location) ? location : placeOf(location).bucket;
}

/**
 * Opens the off-site stores of the settings and starts checking the place for new backups. Without BACKUP_STORE, only
 * existing off-site backups are accessed.
 */
export function openOffSite(
  /** The settings of the same names, whose help explains them. */
  settings: {
    backupStore: string | null;
    s3Endpoint: string | null;
    s3Region: string;
    s3PathStyle: 'auto' | 'true' | 'false';
    s3AccessKeyId: string;
    s3SecretAccessKey: string;
  } & ResticAccess,
  secret: Secret,
  clock: Clock,
  log: Log,
): OffSite & { settled: StoreCheck['settled'] } {
  const endpoint = settings.s3Endpoint ?? '';
  const location = withoutCredentials(settings.backupStore ?? '');
  const { s3Region: region, s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey, s3PathStyle } = settings;
  const pathStyle = s3PathStyle === 'auto' ? endpoint !== '' : s3PathStyle === 'true';
  const open = createS3({ endpoint, region, pathStyle, accessKeyId, secretAccessKey, clock });
  const restics = createRestics(settings, secret, clock, log);
  if (location === '')
    return { ...createOffSite('', open, undefined, (of) => restics.open(of)), settled: async () => {} };
  const check = isRestic(location)
    ? createCheck(location, () => restics.check(location), log)
    : createStoreCheck({ bucket: open(placeOf(location)), location, endpoint }, installationOf(secret, location), log);
  const { passed, settled } = check;
  return { ...createOffSite(location, open, passed, (of) => restics.open(of)), settled };
}

/** Identifies this installation at a place, without revealing its secret. */
export function installationOf(secret: Secret, location: string): string {
  return secret.derive('backup-store', location);
}

/**
 * The key of the object that names the installation using this place. Two installations would remove each other's
 * unfinished uploads.
 */
const OWNER_KEY = 'dormouse-installation';
const MOST_OWNER_BYTES = 200;

/** The store of new backups. */
interface CheckedStore {
  bucket: Bucket;
  location: string;
  endpoint: string;
}

/** Checks a store before anything is written or removed there. */
interface StoreCheck {
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

/** Creates the check of a bucket, which starts at once. `installation`: see `installationOf`. */
export function createStoreCheck(store: CheckedStore, installation: string, log: Log): StoreCheck {
  return createCheck(store.location, () => tryAll(store, installation), log);
}

function createCheck(location: string, tryOnce: () => Promise<void>, log: Log): StoreCheck {
  let trying: Promise<void> | undefined;
  const passed = () =>
    (trying ??= tryOnce().catch((error: unknown) => {
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
        log.warn(
          { store: location, err: error },
          'BACKUP_STORE does not respond correctly: backups stay in the folder until it does',
        );
      }
    },
  };
}

async function tryAll({ bucket, location, endpoint }: CheckedStore, installation: string): Promise<void> {
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
