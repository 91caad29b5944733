import type { Base } from '../base.ts';
import type { BackupRow, Ref } from '../rows.ts';

/** Both ends inclusive, as in HTTP. */
export interface ByteRange {
  start: number;
  end: number;
}

/** An archive in the folder that is being sent. */
export interface Sending {
  backup: BackupRow;
  accountId: string;
  /** When its upload was recorded, epoch ms. */
  at: number;
  /** The archive's descriptor, open for reading. */
  file: number;
}

/**
 * Archives off site. All methods reject with UNAVAILABLE BACKUP_STORE_AWAY if the store is unreachable, too slow, or
 * locked by another program; the cause is its answer.
 */
export interface ArchiveStore {
  /**
   * Resolves once the store has the whole archive, with the bytes that it takes there. May be repeated after any
   * failure or a killed process.
   */
  send(base: Base, sending: Sending, signal: AbortSignal): Promise<number>;
  /** Undefined if the store does not have the archive. */
  sizeOf(backup: BackupRow): Promise<number | undefined>;
  /** Throws NOT_FOUND BACKUP_FILE_MISSING. */
  read(backup: BackupRow, range: ByteRange): AsyncIterable<Buffer>;
  /** Removes archives; those that it does not have are ignored. Waits for uploads of this process. */
  remove(refs: readonly Ref[]): Promise<void>;
  /** Returns up to 10 000 archives, as `<server>/<backup>`. `at`: time of writing, epoch ms. */
  list(): Promise<{ id: string; at: number }[]>;
  /** Frees the space of removed and unfinished archives. Called at a quiet hour; does nothing while an archive is read. */
  compact(signal: AbortSignal): Promise<void>;
  /** Reports whether an error means that the whole store no longer exists. */
  isGone(error: unknown): boolean;
}
