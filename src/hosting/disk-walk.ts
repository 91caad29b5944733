import { constants } from 'node:fs';
import { lstat, open, opendir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** What a folder with everything below it takes. */
export interface TreeSize {
  /** Blocks that are allocated; a file of several names once. */
  realBytes: number;
  /** Lengths of the files: more than `realBytes` where they have holes. */
  logicalBytes: number;
  entries: number;
  /** Folders and files that could not be looked at, though they are there. */
  unread: number;
}

/** Looked at together: few enough that the disk stays everybody's. */
const AT_ONCE = 16;
/** After so much work, as long a rest. */
const SLICE_MS = 40;
const BLOCK_BYTES = 512;
/** Longer paths than the kernel takes (4096) can be made from within; from here on it goes on from a descriptor. */
const LONG_PATH_BYTES = 3_000;
/** Files of several names that are remembered; beyond, each name counts as a file. */
const MOST_LINKED = 100_000;
const GONE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

/**
 * Measures a folder without following links or leaving its file system; one that is not there has size 0. What changes
 * meanwhile may be counted or not. Costs at most half of the time of one disk queue of 16, and a few kB of memory however
 * many files there are. Rejects with what the file system says of the folder itself, or when `signal` fires.
 */
export async function measureTree(root: string, signal: AbortSignal): Promise<TreeSize> {
  const size: TreeSize = { realBytes: 0, logicalBytes: 0, entries: 0, unread: 0 };
  const linked = new Set<string>();
  let sliceBegan = performance.now();
  // Names are any bytes: as Latin-1 they come through unchanged.
  const top = Buffer.from(root).toString('latin1');
  const folder = await lstat(root).catch(absent);
  if (folder === undefined) return size;
  size.realBytes += folder.blocks * BLOCK_BYTES;
  await walk(top, folder.dev);
  return size;

  async function walk(from: string, device: number): Promise<void> {
    const waiting = [from];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (path.length <= LONG_PATH_BYTES) await list(path, device, waiting);
      else await walkLong(path, device);
    }
  }

  async function walkLong(path: string, device: number): Promise<void> {
    const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
    const folder = await open(bytes(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(overlooked);
    if (folder === undefined) return;
    try {
      await walk(`/proc/self/fd/${folder.fd}`, device);
    } finally {
      await folder.close();
    }
  }

  async function list(path: string, device: number, waiting: string[]): Promise<void> {
    signal.throwIfAborted();
    const folder = await opendir(bytes(path) as unknown as string, { encoding: 'latin1', bufferSize: 128 }).catch(
      overlooked,
    );
    if (folder === undefined) return;
    let names: string[] = [];
    try {
      for await (const { name } of folder) {
        names.push(name);
        if (names.length < AT_ONCE) continue;
        await look(path, names, device, waiting);
        names = [];
      }
    } catch (error) {
      signal.throwIfAborted();
      overlooked(error);
    }
    await look(path, names, device, waiting);
  }

  async function look(path: string, names: string[], device: number, waiting: string[]): Promise<void> {
    await Promise.all(
      names.map(async (name) => {
        const found = await lstat(bytes(`${path}/${name}`)).catch(overlooked);
        if (found === undefined || found.dev !== device) return;
        size.entries++;
        if (found.nlink > 1 && !found.isDirectory() && !isFirst(`${found.ino}`)) return;
        size.realBytes += found.blocks * BLOCK_BYTES;
        if (found.isDirectory()) waiting.push(`${path}/${name}`);
        else if (found.isFile()) size.logicalBytes = Math.min(Number.MAX_SAFE_INTEGER, size.logicalBytes + found.size);
      }),
    );
    const workedMs = performance.now() - sliceBegan;
    if (workedMs < SLICE_MS) return signal.throwIfAborted();
    await sleep(workedMs, undefined, { signal });
    sliceBegan = performance.now();
  }

  function isFirst(inode: string): boolean {
    if (linked.has(inode)) return false;
    if (linked.size < MOST_LINKED) linked.add(inode);
    return true;
  }

  function overlooked(error: unknown): undefined {
    if (!GONE.has((error as NodeJS.ErrnoException).code ?? '')) size.unread++;
  }
}

function bytes(path: string): Buffer {
  return Buffer.from(path, 'latin1');
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
