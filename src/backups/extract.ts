import { execFile } from 'node:child_process';
import { type FileHandle, constants, open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { SAFELY, at } from '../jail/descriptors.ts';
import { walk } from '../jail/tree.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { DAY_MS } from '../kernel/units.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import { ArchiveCorrupt } from './errors.ts';
import { unpackArchive } from './unpack-job.ts';
import type { ArchiveFacts } from './unpack.ts';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/** The target of an extraction: an empty folder used by no other code. */
export interface TargetDirectory {
  path: string;
  /** The owner of the created files; undefined: this process's user. */
  owner: FileOwner | undefined;
}

export interface ExtractOptions {
  signal: AbortSignal;
  progress: (treeBytes: number) => void;
  /** Syncs all written data to disk. Returns false if that is not possible. */
  syncAll?: (path: string) => Promise<boolean>;
}

/**
 * Unpacks a backup in a worker, into an empty folder used by no other code. If it resolves, the archive was exactly the
 * written one, and all of its content is on disk. If it rejects, the folder's content is worthless: with
 * ArchiveCorrupt, the file system's error, or the StatusError with which `archive` (a stream, or an open file) fails.
 * Creates only files and folders, and no more bytes than were archived.
 */
export async function extractArchive(
  workers: Pick<WorkerPool, 'stream'>,
  archive: Readable | number,
  { sha256, sizeBytes, treeBytes }: ArchiveFacts,
  { path, owner }: TargetDirectory,
  { signal, progress, syncAll = syncFileSystem }: ExtractOptions,
): Promise<void> {
  await using root = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const isFile = typeof archive === 'number';
  const input = { facts: { sha256, sizeBytes, treeBytes }, owner, isFile };
  // The number of files is unlimited; only the signal ends this.
  const options = { tenant: path, signal, files: [root.fd], stdin: archive, cpuMs: DAY_MS };
  try {
    for await (const bytes of workers.stream(unpackArchive, input, options)) progress(bytes);
  } catch (error) {
    const { name, message } = error as Error;
    throw name === 'ArchiveCorrupt' ? new ArchiveCorrupt(message, { cause: error }) : error;
  } finally {
    if (!isFile) archive.destroy();
  }
  if (!(await syncAll(path))) await syncEach(root);
}

async function syncEach(root: FileHandle): Promise<void> {
  for await (const { dir, name } of walk(root)) {
    await using file = await open(at(dir, name), O_RDONLY | SAFELY);
    await file.sync();
  }
  await root.sync();
}

/**
 * Syncs the file system of a path to disk (syncfs(2)) and returns true; false if that is not possible. Runs `sync -f`
 * of coreutils or BusyBox, because Node has no call for it. For many files, this costs far less than an fsync of each,
 * which would close a transaction of the file system every time.
 */
export function syncFileSystem(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    execFile('sync', ['-f', path], (error) => resolve(error === null));
  });
}
