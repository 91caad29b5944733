import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { namesIn, openDirectory, statAll } from '../jail/descriptors.ts';
import { ignore } from '../kernel/ignore.ts';

/** The size of a folder including everything below it. */
export interface TreeSize {
  /** Allocated bytes. A file with several names counts once. */
  realBytes: number;
  /** Sum of the files' lengths, more than `realBytes` for sparse files. */
  logicalBytes: number;
  entries: number;
  /** Number of existing folders and files that could not be read. */
  unread: number;
}

/** Resolves when the walk may work, with a function that releases its slot. */
export type AcquireSlot = () => Promise<() => void>;

/** Entries examined concurrently, few enough to leave the disk to others. */
const AT_ONCE = 16;
/** Working time after which the walk pauses for the same time. */
const SLICE_MS = 40;
const BLOCK_BYTES = 512;
/**
 * Most nested folders kept open. A closed folder is reopened from the top, name by name, if some of its subfolders
 * remain.
 */
const LEVELS_OPEN = 32;
/** Most files with several names remembered. Beyond that, each name counts as a file. */
const MOST_LINKED = 100_000;
const GONE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

/** A folder on the path to the current one. */
interface Level {
  name: Buffer;
  /** Undefined: closed, to save descriptors. */
  dir: FileHandle | undefined;
  /** Its subfolders that are not walked yet. */
  rest: Buffer[];
}

/**
 * Measures a folder through descriptors: follows no links, even if an entry is replaced by one during the walk, and
 * stays on the file system. A missing folder has size 0. Concurrent changes may or may not be counted. Works at most
 * half of the time, with up to 16 concurrent requests to the disk, and keeps only the names of subfolders for each
 * level. Rejects with the file system's error about the folder itself, or when `signal` fires.
 */
export async function measureTree(root: string, signal: AbortSignal, acquire: AcquireSlot = always): Promise<TreeSize> {
  const top = await open(root, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(
    ignore('ENOENT'),
  );
  if (top === undefined) return { realBytes: 0, logicalBytes: 0, entries: 0, unread: 0 };
  await using walk = new Walk(top, signal, acquire);
  return await walk.measure();
}

class Walk {
  readonly #size: TreeSize = { realBytes: 0, logicalBytes: 0, entries: 0, unread: 0 };
  readonly #linked = new Set<number>();
  readonly #levels: Level[];
  readonly #top: FileHandle;
  readonly #signal: AbortSignal;
  readonly #acquire: AcquireSlot;
  #device = 0;
  #release = (): void => {};
  #sliceBegan = 0;

  constructor(top: FileHandle, signal: AbortSignal, acquire: AcquireSlot) {
    this.#top = top;
    this.#signal = signal;
    this.#acquire = acquire;
    this.#levels = [{ name: Buffer.alloc(0), dir: top, rest: [] }];
  }

  async measure(): Promise<TreeSize> {
    await this.#begin();
    const { dev, blocks } = await this.#top.stat();
    this.#device = dev;
    this.#size.realBytes += blocks * BLOCK_BYTES;
    await this.#list(this.#levels[0]!);
    for (let level = this.#levels.at(-1); level !== undefined; level = this.#levels.at(-1)) {
      const name = level.rest.pop();
      if (name === undefined) {
        this.#levels.pop();
        await level.dir?.close();
      } else if (level.dir !== undefined || (await this.#reopen())) await this.#descend(level, name);
    }
    return this.#size;
  }

  async #descend(level: Level, name: Buffer): Promise<void> {
    const dir = await openDirectory(level.dir!, name).catch(this.#overlooked);
    if (dir === undefined) return;
    const inside: Level = { name, dir, rest: [] };
    this.#levels.push(inside);
    const above = this.#levels.at(-1 - LEVELS_OPEN);
    if (above?.dir !== undefined && above.dir !== this.#top) {
      await above.dir.close();
      above.dir = undefined;
    }
    await this.#list(inside);
  }

  /**
   * Reopens the lowest levels from the top. If a folder has been moved away, skips the rest of it and returns false.
   */
  async #reopen(): Promise<boolean> {
    let here = this.#top;
    for (const [depth, level] of this.#levels.entries()) {
      if (depth === 0) continue;
      const above = here;
      const opened = await openDirectory(above, level.name).catch(this.#overlooked);
      if (this.#levels[depth - 1]!.dir !== above) await above.close();
      if (opened === undefined) {
        for (const lost of this.#levels.splice(depth)) await lost.dir?.close();
        return false;
      }
      here = opened;
      if (this.#levels.length - depth <= LEVELS_OPEN) level.dir = opened;
    }
    return true;
  }

  async #list(level: Level): Promise<void> {
    this.#signal.throwIfAborted();
    try {
      for await (const names of namesIn(level.dir!)) {
        for (let first = 0; first < names.length; first += AT_ONCE) {
          await this.#look(level, names.slice(first, first + AT_ONCE));
        }
      }
    } catch (error) {
      this.#signal.throwIfAborted();
      this.#overlooked(error);
    }
  }

  async #look({ dir, rest }: Level, names: Buffer[]): Promise<void> {
    const size = this.#size;
    for (const { name, stats } of await statAll(dir!, names, this.#overlooked)) {
      if (stats.dev !== this.#device) continue;
      size.entries++;
      if (stats.nlink > 1 && !stats.isDirectory() && !this.#isFirst(stats.ino)) continue;
      size.realBytes += stats.blocks * BLOCK_BYTES;
      if (stats.isDirectory()) rest.push(name);
      else if (stats.isFile()) size.logicalBytes = Math.min(Number.MAX_SAFE_INTEGER, size.logicalBytes + stats.size);
    }
    const workedMs = performance.now() - this.#sliceBegan;
    if (workedMs < SLICE_MS) return this.#signal.throwIfAborted();
    await sleep(workedMs, undefined, { signal: this.#signal });
    this.#release();
    await this.#begin();
  }

  async #begin(): Promise<void> {
    this.#release = await this.#acquire();
    this.#sliceBegan = performance.now();
  }

  #isFirst(inode: number): boolean {
    if (this.#linked.has(inode)) return false;
    if (this.#linked.size < MOST_LINKED) this.#linked.add(inode);
    return true;
  }

  readonly #overlooked = (error: unknown): undefined => {
    if (!GONE.has((error as NodeJS.ErrnoException).code ?? '')) this.#size.unread++;
  };

  async [Symbol.asyncDispose](): Promise<void> {
    this.#release();
    for (const { dir } of this.#levels) if (dir !== this.#top) await dir?.close();
    await this.#top.close();
  }
}

const always: AcquireSlot = async () => () => {};
