import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { KIB } from '../kernel/units.ts';
import type { Store } from '../store/store.ts';
import { filesMissing, keyMissing } from './errors.ts';
import { archivePath, sizeOf } from './files.ts';
import type { ByteRange } from './offsite/bucket.ts';
import { type OffSite, keyIn } from './offsite/offsite.ts';
import { type BackupRow, getBackup } from './rows.ts';
import { type SealKey, opened, sealedBytes } from './seal.ts';

const CHUNK_BYTES = 512 * KIB;

/** Finished archives, wherever they are stored. Encrypted ones are decrypted when read. */
export interface ArchiveFiles {
  /** Rejects with BACKUP_FILE_MISSING if the archive is missing or its size differs, and with the errors of `read`. */
  require(row: BackupRow): Promise<void>;
  /**
   * Reads an archive or a part of it. Fails with BACKUP_FILE_MISSING, BACKUP_STORE_AWAY, BACKUP_KEY_MISSING if its key
   * is not among ours, or ArchiveCorrupt if it was encrypted and has been changed.
   */
  read(row: BackupRow, range?: ByteRange): Readable;
  /** Opens the file of an unencrypted archive on this machine; the caller closes it. Undefined for all others. */
  open(row: BackupRow): Promise<FileHandle | undefined>;
}

export interface ArchiveFilesOptions {
  store: Store;
  dataDir: string;
  offSite: OffSite;
  /** All keys that existing archives may be encrypted with. */
  keys: readonly SealKey[];
}

export function createArchiveFiles({ store, dataDir, offSite, keys }: ArchiveFilesOptions): ArchiveFiles {
  /** Returns the new row of a backup that has been moved off site since. */
  async function moved(row: BackupRow): Promise<BackupRow> {
    const now = await getBackup(store, row.serverId, row.id);
    if (now === undefined || now.location === row.location) throw filesMissing(row.id);
    return now;
  }

  async function storedSize(row: BackupRow): Promise<number | undefined> {
    if (row.location !== '') return (await offSite.bucket(row.location).head(keyIn(row)))?.sizeBytes;
    const size = await sizeOf(archivePath(dataDir, row.serverId, row.id));
    return size ?? (await storedSize(await moved(row)));
  }

  async function* readStored(row: BackupRow, range: ByteRange): AsyncGenerator<Buffer> {
    if (row.location === '') yield* readFile(row, range);
    else yield* offSite.bucket(row.location).read(keyIn(row), range);
  }

  async function* readFile(row: BackupRow, range: ByteRange): AsyncGenerator<Buffer> {
    const opening = await opensFile(archivePath(dataDir, row.serverId, row.id));
    if (opening === undefined) yield* readStored(await moved(row), range);
    else {
      await using file = opening;
      yield* file.createReadStream({ ...range, autoClose: false, highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>;
    }
  }

  function keyOf({ id, sealedBy }: BackupRow): SealKey {
    const key = keys.find((each) => each.id === sealedBy);
    if (key === undefined) throw keyMissing(id, sealedBy);
    return key;
  }

  async function* readWhole(row: BackupRow, { start, end }: ByteRange): AsyncGenerator<Buffer> {
    const { sizeBytes, sealedBy } = row;
    if (sealedBy === '') yield* readStored(row, { start, end });
    else yield* opened({ sizeBytes, key: keyOf(row), read: (range) => readStored(row, range) }, start, end);
  }

  return {
    async require(row) {
      if (row.sealedBy !== '') keyOf(row);
      const expected = row.sealedBy === '' ? row.sizeBytes : sealedBytes(row.sizeBytes);
      if ((await storedSize(row)) !== expected) throw filesMissing(row.id);
    },
    async open({ location, sealedBy, serverId, id }) {
      return location === '' && sealedBy === '' ? await opensFile(archivePath(dataDir, serverId, id)) : undefined;
    },
    read: (row, range = { start: 0, end: row.sizeBytes - 1 }) =>
      Readable.from(readWhole(row, range), { objectMode: false, highWaterMark: CHUNK_BYTES }),
  };
}

async function opensFile(path: string): Promise<FileHandle | undefined> {
  return await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}
