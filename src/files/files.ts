import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { ChangeLock } from '../jail/change-lock.ts';
import { dataRoot } from '../jail/data-root.ts';
import { refused } from '../jail/errors.ts';
import { type Entry, type Jail, type JailFile, openJail } from '../jail/jail.ts';
import type { OpenFiles } from '../jail/open-files.ts';
import { invalidPath, joinNames, parsePath } from '../jail/path.ts';
import { patiently } from '../jail/patience.ts';
import { isList } from '../jail/secrets.ts';
import { createFolder } from '../jail/server-folder.ts';
import { type Disk, type Room, enterOne, spaceOf, withReserved } from '../jail/space.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { unlessGone } from '../kernel/caller-gone.ts';
import { createSemaphore } from '../kernel/limits/semaphore.ts';
import type { Log } from '../kernel/log.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import { formatOfName } from './archives/format.ts';
import { stageEntry, unpack } from './archives/read.ts';
import { type Packed, archiveStream, packedPaths, withText } from './archives/write.ts';
import type { Part } from './listing-job.ts';
import { type Listing, createListing } from './listing.ts';

/** Limits of concurrent archives, each with its compressor, and of downloads as zip, however slow. */
const PACKING = { atOnce: 3, atOncePerKey: 2, mostWaiting: 256, mostWaitingPerKey: 16 };
const ZIPPING = { atOnce: 48, atOncePerKey: 8, mostWaiting: 256, mostWaitingPerKey: 16 };

/** Where servers' files are, and what each change of them heeds. */
export interface Folders {
  dataDir: string;
  /** The game's user if this process is root. */
  owner: FileOwner | undefined;
  disk: Disk;
  /** Keeps changes and restores apart. */
  lock: ChangeLock;
}

/** The tenant of the work, and a signal that ends it with `StatusError` CANCELLED once the caller has gone. */
interface Patience {
  signal?: AbortSignal;
  /** The tenant of the work. Other tenants do not wait for it. Default: the server. */
  tenant?: string;
}

/** The target must not exist, or must still have this version: ABORTED FILE_CHANGED. */
interface Condition {
  exclusive?: boolean;
  version?: string | undefined;
}

/** Content as a stream, with its length if known. */
interface Content {
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  sizeBytes?: number | undefined;
}

/**
 * Servers' files, independent of the servers' state: through the jail, and within the quota. Rejects with the errors of
 * `Jail`, and with DISK_QUOTA_EXCEEDED before more is written than allowed. Changes also reject with the errors of
 * `ChangeLock.of`.
 */
export class Files {
  readonly #folders: Folders;
  readonly #workers: WorkerPool;
  readonly #openFiles: OpenFiles | undefined;
  readonly #log: Log | undefined;
  readonly #listing: ReturnType<typeof createListing>;
  readonly #packing = createSemaphore(PACKING);
  readonly #zipping = createSemaphore(ZIPPING);

  /** `workers` read untrusted bytes. `openFiles` tracks open files, to measure those that are deleted while open. */
  constructor(folders: Folders, workers: WorkerPool, openFiles?: OpenFiles, log?: Log) {
    this.#folders = folders;
    this.#workers = workers;
    this.#openFiles = openFiles;
    this.#log = log;
    this.#listing = createListing(workers);
  }

  /** Opens the jail, which the caller closes. New files use the space of `room`, or else reserve it as needed. */
  async jail(serverId: string, room?: Room): Promise<Jail> {
    const { dataDir, owner, disk, lock } = this.#folders;
    const root = dataRoot(dataDir, serverId);
    const change = lock.of(serverId);
    await createFolder(root, owner);
    const enter = room?.enter ?? (() => enterOne(disk, serverId));
    const opened = (file: FileHandle) => this.#openFiles?.add(serverId, file);
    return await openJail(root, { owner, log: this.#log, change, enter, opened });
  }

  /** Opens the jail for one change and closes it. */
  async change<T>(serverId: string, work: (jail: Jail) => Promise<T>, room?: Room): Promise<T> {
    this.#folders.lock.require(serverId);
    await using files = await this.jail(serverId, room);
    return await work(files);
  }

  /** Lists all entries by name, or a part. Throws RESOURCE_EXHAUSTED DIRECTORY_TOO_LARGE beyond 250 000 entries. */
  async list(serverId: string, path: string, patience: Patience & { part?: Part } = {}): Promise<Listing> {
    const { signal, tenant = serverId, part } = patience;
    await using files = await this.jail(serverId);
    return await this.#listing(files, path, { signal, tenant }, part);
  }

  /** Reads the first bytes of a file. Also returns whether the file is longer, and its `Entry.version`. */
  async read(
    serverId: string,
    path: string,
    maxBytes: number,
  ): Promise<{ content: Buffer; truncated: boolean; version: string }> {
    await using files = await this.jail(serverId);
    await using file = await files.open(path);
    const { sizeBytes, version } = await file.stat();
    // Read one byte more, to detect a longer file.
    const found = await file.read(0, Math.min(maxBytes, sizeBytes) + 1);
    return { content: found.subarray(0, maxBytes), truncated: found.length > maxBytes, version };
  }

  /** Replaces the file at the path, once all of the content has arrived. */
  async write(serverId: string, path: string, { chunks, sizeBytes }: Content, options?: Condition): Promise<Entry> {
    const reservedBytes = spaceOf(sizeBytes ?? 0);
    return await this.#growing(serverId, reservedBytes, (files, room) =>
      replace(files, path, { chunks, reservedBytes }, room, options),
    );
  }

  /** Returns the bytes copied. */
  async copy(serverId: string, from: string, to: string, patience?: Patience): Promise<number> {
    return await this.#growing(serverId, 0, async (files, room) => {
      let addedBytes = 0;
      const beforePiece = patiently(room, patience, (bytes) => (addedBytes += bytes));
      const copied = await files.copy(from, to, beforePiece);
      return { result: copied, addedBytes };
    });
  }

  async rename(serverId: string, from: string, to: string): Promise<void> {
    await this.change(serverId, (files) => files.rename(from, to));
  }

  async remove(serverId: string, path: string): Promise<void> {
    await this.change(serverId, (files) => files.remove(path));
    this.#folders.disk.freed(serverId);
  }

  async mkdir(serverId: string, path: string): Promise<void> {
    await this.#growing(serverId, 0, async (files) => ({ result: await files.mkdir(path), addedBytes: 0 }));
  }

  /**
   * Opens a file, or streams a directory or the named paths below it as zip. The caller ends it: `file.close`,
   * `stream.destroy`.
   */
  async download(
    serverId: string,
    { path, names = [] }: { path: string; names?: readonly string[] },
    { signal, tenant = serverId }: Patience = {},
  ): Promise<{ entry: Entry; file: JailFile } | { entry: Entry; zip: Readable }> {
    const files = await this.jail(serverId);
    try {
      const entry = await files.stat(path);
      const sources = (names.length === 0 ? [path] : names.map((name) => `${path}/${name}`)).map((source) =>
        joinNames(parsePath(source)),
      );
      if (entry.kind === 'directory' || names.length > 0) {
        for (const source of sources) await files.stat(source);
        const zip = await this.#zip(files, packedPaths(files, sources), signal, tenant);
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

  /** Streams all files as zip, after a text that replaces a file of its path. The caller ends it: `stream.destroy`. */
  async export(
    serverId: string,
    first: { path: string; text: string },
    { signal, tenant = serverId }: Patience = {},
  ): Promise<Readable> {
    const files = await this.jail(serverId);
    try {
      return await this.#zip(files, withText(packedPaths(files, ['']), first), signal, tenant);
    } catch (error) {
      await files.close();
      throw error;
    }
  }

  /** Closes the jail at the end. */
  async #zip(
    files: Jail,
    entries: AsyncIterable<Packed>,
    signal: AbortSignal | undefined,
    tenant: string,
  ): Promise<Readable> {
    const leave = await unlessGone(signal, () => this.#zipping.enter({ key: tenant }, signal));
    return archiveStream('zip', entries, () => (leave(), void files.close()));
  }

  /** Creates an archive in the format of its name (.zip, .tar, .tar.gz, .tar.zst). */
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

  /**
   * Extracts an archive into a directory and replaces existing files. Changes nothing unless the whole archive is valid
   * and there is room for it. Files are moved into place one by one, each complete, so a process killed at that point
   * leaves only some of them. Returns the bytes extracted.
   */
  async extract(serverId: string, what: Extraction, patience: Patience = {}): Promise<number> {
    const { signal, tenant = serverId } = patience;
    const { path, to } = what;
    const extracted = await this.#growing(serverId, 0, (files, room) =>
      unlessGone(signal, async () => {
        await using archive = await files.open(path);
        const target = await files.stat(to).catch(() => undefined);
        if (target && target.kind !== 'directory') throw invalidPath(to, 'must be a directory or must not exist yet');
        // Skips the service's lists, as in a backup: they describe the server's own folder.
        const place = (entry: string) => (isList(entry) ? undefined : entry);
        return await extract(files, { ...what, archive, place }, this.#workers, { tenant, signal }, room);
      }),
    );
    // Existing directories and replaced files were counted twice.
    this.#folders.disk.freed(serverId);
    return extracted;
  }

  /** Extracts files of an archive that is elsewhere to paths that must not exist. Otherwise like `extract`. */
  async unpack(
    serverId: string,
    { archive, place }: { archive: JailFile; place: (path: string) => string | undefined },
    { signal, tenant = serverId }: Patience = {},
  ): Promise<number> {
    const what = { archive, place, to: '', overwrite: false };
    return await this.#growing(serverId, 0, (files, room) =>
      unlessGone(signal, () => extract(files, what, this.#workers, { tenant, signal }, room)),
    );
  }

  /** Runs a change that makes the server grow. */
  async #growing<T>(
    serverId: string,
    bytes: number,
    work: (jail: Jail, room: Room) => Promise<{ result: T; addedBytes: number }>,
  ): Promise<T> {
    // Checked before the server is measured.
    this.#folders.lock.require(serverId);
    return await withReserved(this.#folders.disk, serverId, bytes, (room) =>
      this.change(serverId, (files) => work(files, room), room),
    );
  }
}

async function replace(
  files: Jail,
  path: string,
  { chunks, reservedBytes }: { chunks: Content['chunks']; reservedBytes: number },
  { grow, landed }: Pick<Room, 'grow' | 'landed'>,
  options?: Condition,
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

/** The archive, the target folder and the policy for existing files. */
interface Extraction {
  path: string;
  to: string;
  /**
   * Whether to replace existing files. If not, any conflict throws ALREADY_EXISTS PATH_EXISTS, and nothing is
   * extracted.
   */
  overwrite: boolean;
}

/** Extracts an archive. `result`: bytes extracted; `addedBytes`: the growth of the server. */
async function extract(
  files: Jail,
  {
    archive,
    place: placeOf,
    to,
    overwrite,
  }: Omit<Extraction, 'path'> & { archive: JailFile; place: (path: string) => string | undefined },
  workers: WorkerPool,
  caller: { tenant: string; signal: AbortSignal | undefined },
  room: Room,
): Promise<{ result: number; addedBytes: number }> {
  await using stage = await files.stage();
  let addedBytes = 0;
  const beforePiece = patiently(room, caller, (bytes) => (addedBytes += bytes));
  let extracted = 0;
  for await (const entry of unpack(archive, workers, caller)) {
    const path = placeOf(entry.path);
    if (path === undefined) continue;
    await beforePiece(0);
    const place = joinNames(parsePath(`${to}/${path}`));
    // Reports conflicts early. Later ones are detected when the files are moved into place.
    if (entry.kind === 'file' && !overwrite && (await files.stat(place).catch(() => undefined)))
      throw refused('EEXIST', place);
    extracted += await stageEntry(stage, path, entry, beforePiece);
  }
  const replacedBytes = await stage.mergeInto(to, !overwrite);
  return { result: extracted, addedBytes: addedBytes - replacedBytes };
}
