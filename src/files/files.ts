import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { ChangeLock } from '../jail/change-lock.ts';
import { dataRoot } from '../jail/data-root.ts';
import { type Entry, type Jail, type JailFile, openJail } from '../jail/jail.ts';
import type { OpenFiles } from '../jail/open-files.ts';
import { joinNames, parsePath } from '../jail/path.ts';
import { patiently } from '../jail/patience.ts';
import { unlessGone } from '../kernel/caller-gone.ts';
import type { ReplaceOptions } from '../jail/replace.ts';
import { createFolder } from '../jail/server-folder.ts';
import { type Disk, type Room, enterOne, spaceOf, withReserved } from '../jail/space.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { createSemaphore } from '../kernel/limits/semaphore.ts';
import type { Log } from '../kernel/log.ts';
import { type WorkerPool, createWorkerPool } from '../kernel/workers/pool.ts';
import { formatOfName } from './archives/format.ts';
import { archiveStream, packedPaths } from './archives/write.ts';
import { type Extraction, extract } from './extract.ts';
import type { Part } from './listing-part.ts';
import { type Listing, createListing } from './listing.ts';

/** Limits of concurrent archives, each with its compressor, and of downloads as zip, however slow. */
const PACKING = { atOnce: 3, atOncePerKey: 2, mostWaiting: 256, mostWaitingPerKey: 16 };
const ZIPPING = { atOnce: 48, atOncePerKey: 8, mostWaiting: 256, mostWaitingPerKey: 16 };

export interface FilesOptions {
  dataDir: string;
  /** The game's user if this process is root. */
  owner?: FileOwner | undefined;
  disk: Disk;
  /** Keeps changes and restores apart. */
  lock: ChangeLock;
  /** Tracks open files, to measure those that are deleted while open. */
  openFiles?: Pick<OpenFiles, 'add'> | undefined;
  /** Reads untrusted bytes. Default: its own pool. */
  workers?: WorkerPool | undefined;
  log?: Pick<Log, 'warn'> | undefined;
}

/** The tenant of the work, and a signal that ends it with `StatusError` CANCELLED once the caller has gone. */
export interface Patience {
  signal?: AbortSignal;
  /** The tenant of the work. Other tenants do not wait for it. Default: the server. */
  tenant?: string;
}

/**
 * Servers' files, independent of the servers' state: through the jail, and within the quota. Rejects with the errors of
 * `Jail`, and with DISK_QUOTA_EXCEEDED before more is written than allowed. Changes also reject with the errors of
 * `ChangeLock.of`.
 */
export interface Files {
  /** Opens the jail for work in other modules. The caller closes it. */
  jail(serverId: string): Promise<Jail>;
  /** Opens the jail for one change and closes it. */
  change<T>(serverId: string, work: (jail: Jail) => Promise<T>): Promise<T>;
  /** Lists all entries by name, or a part. Throws RESOURCE_EXHAUSTED DIRECTORY_TOO_LARGE beyond 250 000 entries. */
  list(serverId: string, path: string, patience?: Patience & { part?: Part }): Promise<Listing>;
  /** Reads the first bytes of a file. Also returns whether the file is longer, and its `Entry.version`. */
  read(
    serverId: string,
    path: string,
    maxBytes: number,
  ): Promise<{ content: Buffer; truncated: boolean; version: string }>;
  /** Replaces the file at the path, once all of the content has arrived. */
  write(serverId: string, path: string, content: Content, options?: WriteOptions): Promise<Entry>;
  /** Returns the bytes copied. */
  copy(serverId: string, from: string, to: string, patience?: Patience): Promise<number>;
  rename(serverId: string, from: string, to: string): Promise<void>;
  remove(serverId: string, path: string): Promise<void>;
  mkdir(serverId: string, path: string): Promise<void>;
  /** Opens a file, or streams a directory as zip. The caller ends it: `file.close`, `stream.destroy`. */
  download(
    serverId: string,
    path: string,
    patience?: Patience,
  ): Promise<{ entry: Entry; file: JailFile } | { entry: Entry; zip: Readable }>;
  /** Creates an archive in the format of its name (.zip, .tar, .tar.gz, .tar.zst). */
  archive(serverId: string, paths: readonly string[], to: string, patience?: Patience): Promise<Entry>;
  /**
   * Extracts an archive into a directory and replaces existing files. Changes nothing unless the whole archive is valid
   * and there is room for it. Files are moved into place one by one, each complete, so a process killed at that point
   * leaves only some of them. Returns the bytes extracted.
   */
  extract(serverId: string, what: Extraction, patience?: Patience): Promise<number>;
}

/** The target must not exist, or must still have this version: ABORTED FILE_CHANGED. */
export type WriteOptions = Pick<ReplaceOptions, 'exclusive' | 'version'>;

/** Content as a stream, with its length if known. */
export interface Content {
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  sizeBytes?: number | undefined;
}

export function createFiles(options: FilesOptions): Files {
  return new ServerFiles(options);
}

class ServerFiles implements Files {
  readonly #options: FilesOptions;
  readonly #workers: WorkerPool;
  readonly #listing: ReturnType<typeof createListing>;
  readonly #packing = createSemaphore(PACKING);
  readonly #zipping = createSemaphore(ZIPPING);

  constructor(options: FilesOptions) {
    this.#options = options;
    this.#workers = options.workers ?? createWorkerPool();
    this.#listing = createListing(this.#workers);
  }

  /** Opens the jail. New files use the space of `room`, or else reserve it as needed. */
  async jail(serverId: string, room?: Room): Promise<Jail> {
    const { dataDir, owner, disk, lock, openFiles, log } = this.#options;
    const root = dataRoot(dataDir, serverId);
    const change = lock.of(serverId);
    await createFolder(root, owner);
    const enter = room?.enter ?? (() => enterOne(disk, serverId));
    const opened = (file: FileHandle) => openFiles?.add(serverId, file);
    return await openJail(root, { owner, log, change, enter, opened });
  }

  async change<T>(serverId: string, work: (jail: Jail) => Promise<T>, room?: Room): Promise<T> {
    this.#options.lock.require(serverId);
    await using files = await this.jail(serverId, room);
    return await work(files);
  }

  async list(serverId: string, path: string, patience: Patience & { part?: Part } = {}): Promise<Listing> {
    const { signal, tenant = serverId, part } = patience;
    await using files = await this.jail(serverId);
    return await this.#listing(files, path, { signal, tenant }, part);
  }

  async read(serverId: string, path: string, maxBytes: number) {
    await using files = await this.jail(serverId);
    await using file = await files.open(path);
    const { sizeBytes, version } = await file.stat();
    // Read one byte more, to detect a longer file.
    const found = await file.read(0, Math.min(maxBytes, sizeBytes) + 1);
    return { content: found.subarray(0, maxBytes), truncated: found.length > maxBytes, version };
  }

  async write(serverId: string, path: string, { chunks, sizeBytes }: Content, options?: WriteOptions): Promise<Entry> {
    const reservedBytes = spaceOf(sizeBytes ?? 0);
    return await this.#growing(serverId, reservedBytes, (files, room) =>
      replace(files, path, { chunks, reservedBytes }, room, options),
    );
  }

  async copy(serverId: string, from: string, to: string, patience?: Patience): Promise<number> {
    return await this.#growing(serverId, 0, async (files, room) => {
      let addedBytes = 0;
      const beforePiece = patiently(room, patience, (bytes) => (addedBytes += bytes));
      const copied = await files.copy(from, to, { beforePiece });
      return { result: copied, addedBytes };
    });
  }

  async rename(serverId: string, from: string, to: string): Promise<void> {
    await this.change(serverId, (files) => files.rename(from, to));
  }

  async remove(serverId: string, path: string): Promise<void> {
    await this.change(serverId, (files) => files.remove(path));
    this.#options.disk.freed(serverId);
  }

  async mkdir(serverId: string, path: string): Promise<void> {
    await this.#growing(serverId, 0, async (files) => ({ result: await files.mkdir(path), addedBytes: 0 }));
  }

  async download(serverId: string, path: string, { signal, tenant = serverId }: Patience = {}) {
    const files = await this.jail(serverId);
    try {
      const entry = await files.stat(path);
      if (entry.kind === 'directory') {
        const leave = await unlessGone(signal, () => this.#zipping.enter({ key: tenant }, signal));
        const paths = packedPaths(files, [joinNames(parsePath(path))]);
        const zip = archiveStream('zip', paths, () => (leave(), void files.close()));
        return { entry, zip };
      }
      const file = await files.open(path);
      await files.close();
      return { entry: await file.stat(), file };
    } catch (error) {
      await files.close();
      throw error;
    }
  }

  async archive(serverId: string, paths: readonly string[], to: string, patience: Patience = {}): Promise<Entry> {
    const { signal, tenant = serverId } = patience;
    const format = formatOfName(to);
    const reservedBytes = spaceOf(0);
    const leave = await unlessGone(signal, () => this.#packing.enter({ key: tenant }, signal));
    try {
      return await this.#growing(serverId, reservedBytes, async (files, room) => {
        const sources = paths.map((path) => joinNames(parsePath(path)));
        for (const path of sources) await files.stat(path);
        const chunks = archiveStream(format, packedPaths(files, sources));
        try {
          const { landed } = room;
          const patient = { grow: patiently({ grow: room.grow, landed() {} }, patience), landed };
          return await replace(files, to, { chunks, reservedBytes }, patient, { exclusive: true });
        } finally {
          chunks.destroy();
        }
      });
    } finally {
      leave();
    }
  }

  async extract(serverId: string, what: Extraction, patience: Patience = {}): Promise<number> {
    const { signal, tenant = serverId } = patience;
    const extracted = await this.#growing(serverId, 0, (files, room) =>
      unlessGone(signal, () => extract(files, what, { workers: this.#workers, tenant, signal }, room)),
    );
    // Existing directories and replaced files were counted twice.
    this.#options.disk.freed(serverId);
    return extracted;
  }

  /** Runs a change that makes the server grow. */
  async #growing<T>(
    serverId: string,
    bytes: number,
    work: (jail: Jail, room: Room) => Promise<{ result: T; addedBytes: number }>,
  ): Promise<T> {
    // Checked before the server is measured.
    this.#options.lock.require(serverId);
    return await withReserved(this.#options.disk, serverId, bytes, (room) =>
      this.change(serverId, (files) => work(files, room), room),
    );
  }
}

async function replace(
  files: Jail,
  path: string,
  { chunks, reservedBytes }: { chunks: Content['chunks']; reservedBytes: number },
  { grow, landed }: Pick<Room, 'grow' | 'landed'>,
  options?: WriteOptions,
): Promise<{ result: Entry; addedBytes: number }> {
  await using replacement = await files.replace(path, options);
  let size = 0;
  let room = reservedBytes;
  for await (const chunk of chunks) {
    const before = size === 0 ? 0 : spaceOf(size);
    size += chunk.byteLength;
    // Uses up the initial reservation before requesting more.
    const missing = Math.max(0, spaceOf(size) - room);
    await grow(missing);
    room += missing;
    await replacement.write(chunk);
    landed(spaceOf(size) - before);
  }
  const { entry, replacedBytes } = await replacement.commit();
  const freedBytes = replacedBytes === undefined ? 0 : spaceOf(replacedBytes);
  return { result: entry, addedBytes: spaceOf(entry.sizeBytes) - freedBytes };
}
