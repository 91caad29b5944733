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
  /** Cancels and removes the partial file. */
  signal: AbortSignal;
  /** Called with the size of each piece before it is written, to reserve space. A rejection ends the writing. */
  grow: (bytes: number) => Promise<void>;
  /** Called from time to time with the bytes of files read so far. */
  progress: (treeBytes: number) => void;
  /** The encryption key; default: none. `sizeBytes` and `sha256` in the result are those before encryption. */
  key?: SealKey | undefined;
}

/**
 * Writes a data root (default: none) to `target` in a worker, as a tar compressed with Zstandard (RFC 8878). The file
 * appears complete and synced to disk, or not at all. A file that changes in the meantime, such as a log, keeps the
 * size it had when its turn came: truncated bytes become zeros.
 */
export async function writeArchive(
  workers: Pick<WorkerPool, 'stream'>,
  tree: OpenDirectory | undefined,
  target: string,
  { signal, grow, progress, key }: ArchiveOptions,
): Promise<Archive> {
  const temp = `${target}.tmp`;
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  try {
    await using file = await open(temp, 'w', 0o640);
    const files = tree ? [file.fd, tree.descriptor] : [file.fd];
    const input: PackInput = { hasTree: tree !== undefined, key };
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
