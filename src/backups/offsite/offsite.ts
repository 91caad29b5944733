import type { BackupRow } from '../rows.ts';
import type { Bucket } from './bucket.ts';
import type { BucketPlace } from './s3.ts';

/** The place of backups outside the folder. */
export interface OffSite {
  /** The place of new backups: `s3://bucket/prefix`; '': the folder. */
  location: string;
  /** Returns the bucket of a location, also of one from earlier settings. Uses the current credentials. */
  bucket(location: string): Bucket;
  /** Same as `StoreCheck.passed` of the place for new backups. */
  passed(): Promise<void>;
}

/** Opens each bucket on first use. Without `passed`, nothing is checked. */
export function createOffSite(
  location: string,
  open: (place: BucketPlace) => Bucket,
  passed: OffSite['passed'] = async () => {},
): OffSite {
  const buckets = new Map<string, Bucket>();
  return {
    location,
    passed,
    bucket(of) {
      const bucket = buckets.get(of) ?? open(placeOf(of));
      buckets.set(of, bucket);
      return bucket;
    },
  };
}

/** Splits `s3://bucket/prefix`. */
export function placeOf(location: string): BucketPlace {
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(location) ?? [];
  return { bucket, prefix };
}

/** Returns the key of a backup's archive. Both ids are ours. */
export function keyIn({ serverId, id }: Pick<BackupRow, 'serverId' | 'id'>): string {
  return `${serverId}/${id}.tar.zst`;
}

/** Returns `<server>/<backup>` from an archive's key. */
export function archiveOf(key: string): string {
  return key.slice(0, key.indexOf('.'));
}

/** Reports whether a key has the form of an archive's. */
export function isArchiveKey(key: string): boolean {
  return /^[a-z0-9-]+\/\w+\.tar\.zst$/.test(key);
}
