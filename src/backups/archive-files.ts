import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { KIB } from '../kernel/units.ts';
import type { Store } from '../store/store.ts';
import { filesMissing } from './errors.ts';
import { archivePath, sizeOf } from './files.ts';
import type { ByteRange } from './offsite/archive-store.ts';
import type { OffSite } from './offsite/offsite.ts';
import { type BackupRow, getBackup } from './rows.ts';

const CHUNK_BYTES = 512 * KIB;

/** Finished archives, wherever they are stored. */
export class ArchiveFiles {
  readonly #store: Store;
  readonly #dataDir: string;
  readonly #offSite: OffSite;

  constructor(store: Store, dataDir: string, offSite: OffSite) {
    this.#store = store;
    this.#dataDir = dataDir;
    this.#offSite = offSite;
  }

  /** Rejects with BACKUP_FILE_MISSING if the archive is missing or its size differs, and with the errors of `read`. */
  async require(row: BackupRow): Promise<void> {
    if ((await this.#storedSize(row)) !== row.sizeBytes) throw filesMissing(row.id);
  }

  /** Reads an archive or a part of it. Fails with BACKUP_FILE_MISSING or BACKUP_STORE_AWAY. */
  read(row: BackupRow, range: ByteRange = { start: 0, end: row.sizeBytes - 1 }): Readable {
    return Readable.from(this.#readStored(row, range), { objectMode: false, highWaterMark: CHUNK_BYTES });
  }

  /** Opens the file of an archive on this machine; the caller closes it. Undefined for all others. */
  async open(row: BackupRow): Promise<FileHandle | undefined> {
    return row.location === '' ? await opensFile(archivePath(this.#dataDir, row)) : undefined;
  }

  async *#readStored(row: BackupRow, range: ByteRange): AsyncGenerator<Buffer> {
    if (row.location !== '') {
      yield* this.#offSite.store(row.location).read(row, range);
      return;
    }
    await using file = await opensFile(archivePath(this.#dataDir, row));
    if (file === undefined) yield* this.#readStored(await this.#moved(row), range);
    else {
      yield* file.createReadStream({ ...range, autoClose: false, highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>;
    }
  }

  async #storedSize(row: BackupRow): Promise<number | undefined> {
    if (row.location !== '') return await this.#offSite.store(row.location).sizeOf(row);
    const size = await sizeOf(archivePath(this.#dataDir, row));
    return size ?? (await this.#storedSize(await this.#moved(row)));
  }

  /** Returns the new row of a backup that has been moved off site since. */
  async #moved(row: BackupRow): Promise<BackupRow> {
    const now = await getBackup(this.#store, row.serverId, row.id);
    if (now === undefined || now.location === row.location) throw filesMissing(row.id);
    return now;
  }
}

async function opensFile(path: string): Promise<FileHandle | undefined> {
  return await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}
