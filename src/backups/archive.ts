import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { OpenDirectory } from '../jail/jail.ts';
import { syncDirectory } from '../kernel/atomic-file.ts';
import { DAY_MS } from '../kernel/units.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import { type Archive, type PackInput, packTree } from './pack-job.ts';
import type { SealKey } from './seal.ts';

export type { Archive } from './pack-job.ts';

export interface ArchiveOptions {
  /** Stops, and leaves nothing behind. */
  signal: AbortSignal;
  /** Asked for room before each piece is written, with its bytes; what it rejects with ends the writing. */
  grow: (bytes: number) => Promise<void>;
  /** Called with the bytes of files read so far, now and then. */
  progress: (treeBytes: number) => void;
  /** The encryption key; default: none. `sizeBytes` and `sha256` are those before encryption. */
  key?: SealKey | undefined;
}

/**
 * Has a worker write a data root (default: nothing) as a tar compressed with Zstandard (RFC 8878) to `target`, which appears
 * whole and on disk or not at all. A file that changes meanwhile, as a log does, is taken as long as it was when it was come to:
 * what it has lost since is zeros.
 */
export async function writeArchive(
  workers: Pick<WorkerPool, 'stream'>,
  tree: Pick<OpenDirectory, 'descriptor'> | undefined,
  target: string,
  { signal, grow, progress, key }: ArchiveOptions,
): Promise<Archive> {
  const temp = `${target}.tmp`;
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  try {
    await using file = await open(temp, 'w', 0o640);
    const files = tree ? [file.fd, tree.descriptor] : [file.fd];
    const input: PackInput = { hasTree: tree !== undefined, key };
    // There may be any amount of files: it is the signal that ends it.
    const limits = { cpuMs: DAY_MS, ahead: 1 };
    let archive: Archive | undefined;
    for await (const step of workers.stream(packTree, input, { tenant: target, signal, files, ...limits })) {
      progress(step.treeBytes);
      if (step.bytes > 0) await grow(step.bytes);
      archive = step.archive;
    }
    if (!archive) throw new Error('the worker told of no archive');
    await file.sync();
    await rename(temp, target);
    await syncDirectory(dirname(target));
    return archive;
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
}
