import type { Entry, Jail } from '../jail/jail.ts';
import { unlessGone } from '../kernel/caller-gone.ts';
import { createSemaphore } from '../kernel/limits/semaphore.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import { listDirectory } from './listing-job.ts';
import { ALL, type Part, partOf } from './listing-part.ts';

/**
 * A directory's entries, or a part of them. For a large one the text of the reply (`ListFilesResponse`), which the
 * caller must `release` once it is sent.
 */
export type Listing = Listed | { json: Buffer; release: () => void };

interface Listed {
  entries: Entry[];
  total: number;
}

/** Up to here a directory costs others nothing that they would notice. */
const FEW = 1_000;
/** Up to here its names alone do not: a part of it is sorted by them, and looked at. */
const FEW_NAMES = 16_384;
/** Replies of large directories that are made or being sent; each has up to 32 MiB. */
const LARGE = { atOnce: 8, atOncePerKey: 2, mostWaiting: 256, mostWaitingPerKey: 32 };
const MEMORY_MB = 256;
const CPU_MS = 20_000;

/** Lists a directory of a jail for a caller. Rejects as `Jail.entries` and `WorkerPool.stream` do, or CANCELLED CALLER_GONE. */
export type ListDirectory = (
  jail: Jail,
  path: string,
  caller: { tenant: string; signal: AbortSignal | undefined },
  part?: Part,
) => Promise<Listing>;

/** Large directories are listed by a worker, few at a time: each would take 100 MB and seconds of the one thread. */
export function createListing(workers: Pick<WorkerPool, 'stream'>): ListDirectory {
  const slots = createSemaphore(LARGE);
  return async function list(jail, path, { tenant, signal }, part = ALL) {
    const few = part.limit > 0 && part.limit <= FEW ? await someOf(jail, path, part) : await allOf(jail, path, part);
    if (few) return few;
    return await unlessGone(signal, async () => {
      const release = await slots.enter({ key: tenant }, signal);
      try {
        await using directory = await jail.directory(path);
        const { guarded, descriptor } = directory;
        const limits = { cpuMs: CPU_MS, memoryMb: MEMORY_MB, files: [descriptor] };
        const pieces: Buffer[] = [];
        for await (const piece of workers.stream(
          listDirectory,
          { guarded, part },
          { tenant, signal, brief: true, ...limits },
        ))
          pieces.push(piece);
        return { json: Buffer.concat(pieces), release };
      } catch (error) {
        release();
        throw error;
      }
    });
  };
}

/** A part that is small itself; undefined where there is much beside it. */
async function someOf(jail: Jail, path: string, part: Part): Promise<Listed | undefined> {
  let total = 0;
  const entries = await jail.chosen(path, FEW_NAMES, (all) => {
    const chosen = partOf(all, part);
    ({ total } = chosen);
    return chosen.entries;
  });
  return entries && { entries, total };
}

/** A part of a directory in which there is not much; undefined otherwise. */
async function allOf(jail: Jail, path: string, part: Part): Promise<Listed | undefined> {
  const entries: (Entry & { isDir: boolean })[] = [];
  for await (const batch of jail.entries(path)) {
    entries.push(...batch.map((entry) => Object.assign(entry, { isDir: entry.kind === 'directory' })));
    if (entries.length > FEW) return undefined;
  }
  return partOf(entries, part);
}
