import type { BackupRow } from '../rows.ts';
import type { Bucket } from './bucket.ts';
import type { BucketPlace } from './s3.ts';

/** The place of backups outside the folder. */
export interface OffSite {
  /** The place of new backups: `s3://bucket/prefix`; '': the folder. */
  location: string;
  /** Also of a location of earlier settings, with the credentials of now. */
  bucket(location: string): Bucket;
  /** As `StoreCheck.passed` of the place where new ones go. */
  passed(): Promise<void>;
}

/** Opens each bucket once, when it is asked for. `passed`: by default nothing is checked. */
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

/** `s3://bucket/prefix` in its two parts. */
export function placeOf(location: string): BucketPlace {
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(location) ?? [];
  return { bucket, prefix };
}

/** The key of a backup's archive. Ids of both are ours. */
export function keyIn({ serverId, id }: Pick<BackupRow, 'serverId' | 'id'>): string {
  return `${serverId}/${id}.tar.zst`;
}

/** `<server>/<backup>` of the key of an archive. */
export function archiveOf(key: string): string {
  return key.slice(0, key.indexOf('.'));
}

/** Whether a key may be that of a backup's archive. */
export function isArchiveKey(key: string): boolean {
  return /^[a-z0-9-]+\/\w+\.tar\.zst$/.test(key);
}
