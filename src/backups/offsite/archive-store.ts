import type { FileHandle } from 'node:fs/promises';
import type { Base } from '../base.ts';
import type { BackupRow, Ref } from '../rows.ts';
import type { ByteRange } from './bucket.ts';
import type { BackupUploadRow } from './rows.ts';

/** An archive in the folder that is being sent. */
export interface Sending {
  row: BackupUploadRow;
  backup: BackupRow;
  /** The archive, open for reading. */
  file: FileHandle;
  /** The size of the file, which is encrypted if the backup says so. */
  sizeBytes: number;
}

/**
 * Archives off site. All methods reject with UNAVAILABLE BACKUP_STORE_AWAY if the store is unreachable, too slow, or
 * refuses; the cause is its answer.
 */
export interface ArchiveStore {
  /**
   * Resolves once the store has the whole archive, with the bytes that it takes there. May be repeated after any
   * failure or a killed process. Rejects with ArchiveCorrupt if the file is not the archive that was written.
   */
  send(base: Base, sending: Sending, signal: AbortSignal): Promise<number>;
  /** Undefined if the store does not have the archive. */
  sizeOf(backup: BackupRow): Promise<number | undefined>;
  /** Throws NOT_FOUND BACKUP_FILE_MISSING. */
  read(backup: BackupRow, range: ByteRange): AsyncIterable<Buffer>;
  /** Also ends an unfinished upload of it. Does nothing if there is none. */
  remove(ref: Ref): Promise<void>;
  /** Returns up to 10 000 archives, as `<server>/<backup>`. `at`: time of writing, epoch ms. */
  list(): Promise<{ id: string; at: number }[]>;
  /** Removes what killed processes of this installation left. */
  sweep(base: Base): Promise<void>;
  /** Frees the space of removed and unfinished archives, as far as `remove` has not. Called at a quiet hour. */
  compact(signal: AbortSignal): Promise<void>;
  /** Reports whether an error means that the whole store no longer exists. */
  isGone(error: unknown): boolean;
}
