import { execFile } from 'node:child_process';
import { type FileHandle, constants, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { SAFELY, at } from '../jail/descriptors.ts';
import type { OpenDirectory } from '../jail/jail.ts';
import { walk } from '../jail/tree.ts';
import { type FileOwner, syncDirectory } from '../kernel/atomic-file.ts';
import { DAY_MS } from '../kernel/units.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import { ArchiveCorrupt } from './errors.ts';
import { type Archive, packTree } from './pack.ts';
import type { BackupFormat } from './rows.ts';
import { type ArchiveFacts, unpackArchive } from './unpack.ts';

/**
 * Writes a data root (default: none) to `target` in a worker, as a tar, compressed with Zstandard (RFC 8878) if `format`
 * says so. The file appears complete and synced to disk, or not at all. A file that changes in the meantime, such as a
 * log, keeps the size it had when its turn came: truncated bytes become zeros.
 */
export async function writeArchive(
  workers: WorkerPool,
  tree: OpenDirectory | undefined,
  target: string,
  {
    signal,
    grow,
    progress,
    format = 'tar.zst',
  }: {
    /** Cancels and removes the partial file. */
    signal: AbortSignal;
    /** Called with the size of each piece before it is written, to reserve space. A rejection ends the writing. */
    grow: (bytes: number) => Promise<void>;
    /** Called from time to time with the bytes of files read so far. */
    progress: (treeBytes: number) => void;
    /** Default: compressed. */
    format?: BackupFormat;
  },
): Promise<Archive> {
  const temp = `${target}.tmp`;
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  try {
    await using file = await open(temp, 'w', 0o640);
    const files = tree ? [file.fd, tree.descriptor] : [file.fd];
    const input = { hasTree: tree !== undefined, format };
    // The number of files is unlimited; only the signal ends this.
    const limits = { cpuMs: DAY_MS, ahead: 1 };
    let archive: Archive | undefined;
    for await (const step of workers.stream(packTree, input, { tenant: target, signal, files, ...limits })) {
      progress(step.treeBytes);
      if (step.bytes > 0) await grow(step.bytes);
      archive = step.archive;
    }
    if (!archive) throw new Error('the worker returned no archive');
    await file.sync();
    await rename(temp, target);
    await syncDirectory(dirname(target));
    return archive;
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/**
 * Unpacks a backup in a worker, into an empty folder used by no other code. If it resolves, the archive was exactly the
 * written one, and all of its content is on disk. If it rejects, the folder's content is worthless: with
 * ArchiveCorrupt, the file system's error, or the StatusError with which `archive` (a stream, or an open file) fails.
 * Creates only files and folders, and no more bytes than were archived.
 */
export async function extractArchive(
  workers: WorkerPool,
  archive: Readable | number,
  { format = 'tar.zst', sha256, sizeBytes, treeBytes }: ArchiveFacts,
  path: string,
  {
    owner,
    signal,
    progress,
    syncAll = syncFileSystem,
  }: {
    /** The owner of the created files; undefined: this process's user. */
    owner: FileOwner | undefined;
    signal: AbortSignal;
    progress: (treeBytes: number) => void;
    /** Syncs all written data to disk. Returns false if that is not possible. */
    syncAll?: (path: string) => Promise<boolean>;
  },
): Promise<void> {
  await using root = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const isFile = typeof archive === 'number';
  const input = { facts: { format, sha256, sizeBytes, treeBytes }, owner, isFile };
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
