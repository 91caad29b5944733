import type { Entry, Jail } from '../jail/jail.ts';
import { unlessGone } from '../kernel/caller-gone.ts';
import { createSemaphore } from '../kernel/limits/semaphore.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import { ALL, type Part, listDirectory, partOf } from './listing-job.ts';

/**
 * A directory's entries, or a part of them. For a large directory, and for what is below one: the text of the reply
 * (`ListFilesResponse`), which the caller must `release` once it is sent.
 */
export type Listing = Listed | { json: Buffer; release: () => void };

interface Listed {
  entries: Entry[];
  total: number;
}

/** Most entries of a directory that can be listed without slowing others down. */
const FEW = 1_000;
/** Most names that can be sorted in this process to examine only a part of the entries, by the order's cost. */
const FEW_NAMES = { name: 16_384, natural: 4_096 };
/** Limits of replies for large directories, of up to 32 MiB each, created or being sent. */
const LARGE = { atOnce: 8, atOncePerKey: 2, mostWaiting: 256, mostWaitingPerKey: 32 };
const MEMORY_MB = 256;
const CPU_MS = 20_000;

/**
 * Creates the function that lists a directory of a jail for a caller. Lists large directories, and what is below one,
 * in a worker, few at a time, because each would take 100 MB and seconds of the main thread. Rejects with the errors of
 * `Jail.entries` and `WorkerPool.stream`, or CANCELLED CALLER_GONE.
 */
export function createListing(workers: WorkerPool) {
  const slots = createSemaphore(LARGE);
  return async function list(
    jail: Jail,
    path: string,
    { tenant, signal }: { tenant: string; signal: AbortSignal | undefined },
    part: Part = ALL,
  ): Promise<Listing> {
    const { limit, sort, recursive, sizes } = part;
    const isByName = sort === 'name' || sort === 'natural';
    const isPart = isByName && limit > 0 && limit <= FEW;
    const few =
      !recursive && !sizes && (await (isPart ? someOf(jail, path, part, FEW_NAMES[sort]) : allOf(jail, path, part)));
    if (few) return few;
    return await unlessGone(signal, async () => {
      const release = await slots.enter({ key: tenant }, signal);
      try {
        await using directory = await jail.directory(path);
        const { guarded, descriptor } = directory;
        const limits = { cpuMs: CPU_MS, memoryMb: MEMORY_MB, files: [descriptor], brief: true };
        const pieces: Buffer[] = [];
        const reading = workers.stream(listDirectory, { guarded, part }, { tenant, signal, ...limits });
        for await (const piece of reading) pieces.push(piece);
        return { json: Buffer.concat(pieces), release };
      } catch (error) {
        release();
        throw error;
      }
    });
  };
}

/** Returns a small part of a directory; undefined if the directory has too many names. */
async function someOf(jail: Jail, path: string, part: Part, most: number): Promise<Listed | undefined> {
  let total = 0;
  const entries = await jail.chosen(path, most, (all) => {
    const chosen = partOf(all, part);
    ({ total } = chosen);
    return chosen.entries;
  });
  return entries && { entries, total };
}

/** Returns a part of a small directory; undefined for a large one. */
async function allOf(jail: Jail, path: string, part: Part): Promise<Listed | undefined> {
  const entries: (Entry & { isDir: boolean })[] = [];
  for await (const batch of jail.entries(path)) {
    entries.push(...batch.map((entry) => Object.assign(entry, { isDir: entry.kind === 'directory' })));
    if (entries.length > FEW) return undefined;
  }
  return partOf(entries, part);
}
