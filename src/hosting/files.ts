import type { Readable } from 'node:stream';
import { setImmediate as immediate } from 'node:timers/promises';
import { unpack } from './archive-read.ts';
import { archiveStream, packedPaths } from './archive-write.ts';
import { formatOfName } from './archive-format.ts';
import { dataRoot } from './data-root.ts';
import { withReserved } from './disk.ts';
import type { Disk, Reservation } from './disk.ts';
import { openJail } from './jail.ts';
import type { Entry, Jail, JailFile } from './jail.ts';
import { isList } from './jail-secrets.ts';
import { invalidPath, joinNames, parsePath } from './jail-path.ts';
import type { FileOwner } from './properties.ts';
import { createFolder, requireCurrent } from './server-folder.ts';
import type { Log } from '../log.ts';
import { StatusError } from '../status.ts';

/** As many entries of one directory as are listed at once. */
const MAX_LISTED = 250_000;

export interface FilesOptions {
  dataDir: string;
  /** The game's user, where this process is root. */
  owner?: FileOwner | undefined;
  disk: Disk;
  log?: Pick<Log, 'warn'> | undefined;
}

/** What may end a change early: `StatusError` CANCELLED once its caller has gone. */
export interface Patience {
  signal?: AbortSignal;
}

/**
 * Servers' files, whatever the servers do meanwhile: through the jail, and within the quota. Rejects as `Jail` does, and
 * with QUOTA_EXCEEDED before more lands than may.
 */
export interface Files {
  /** For work that is not here. Whoever opens it closes it. */
  jail(serverId: string): Promise<Jail>;
  /** The same for one change. ABORTED FILES_REPLACED where a restore has put other files in place meanwhile. */
  change<T>(serverId: string, work: (jail: Jail) => Promise<T>): Promise<T>;
  /** By name. RESOURCE_EXHAUSTED DIRECTORY_TOO_LARGE beyond 250 000 entries. */
  list(serverId: string, path: string): Promise<Entry[]>;
  /** The first bytes of a file, and whether there are more. */
  read(serverId: string, path: string, maxBytes: number): Promise<{ content: Buffer; truncated: boolean }>;
  /** Puts what comes in place of the file at the path, when all of it has come. */
  write(serverId: string, path: string, content: Content, options?: { exclusive?: boolean }): Promise<Entry>;
  /** Bytes copied. */
  copy(serverId: string, from: string, to: string, patience?: Patience): Promise<number>;
  rename(serverId: string, from: string, to: string): Promise<void>;
  remove(serverId: string, path: string): Promise<void>;
  mkdir(serverId: string, path: string): Promise<void>;
  /** An open file, or the zip of a directory as it is read. Whoever gets it ends it: `file.close`, `stream.destroy`. */
  download(serverId: string, path: string): Promise<{ entry: Entry; file: JailFile } | { entry: Entry; zip: Readable }>;
  /** Makes an archive of the kind its name says (.zip, .tar, .tar.gz, .tar.zst). */
  archive(serverId: string, paths: readonly string[], to: string, patience?: Patience): Promise<Entry>;
  /**
   * Unpacks an archive into a directory, whose files of the same names give way: nothing unless all of it is sound and there is
   * room for it. Put in place one after the other, each whole: a process that is killed just then leaves some of them. Bytes
   * unpacked.
   */
  extract(serverId: string, path: string, to: string, patience?: Patience): Promise<number>;
}

/** What is written: as it comes, and how much that will be where it is known. */
export interface Content {
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  sizeBytes?: number | undefined;
}

export function createFiles({ dataDir, owner, disk, log }: FilesOptions): Files {
  async function jail(serverId: string): Promise<Jail> {
    const root = dataRoot(dataDir, serverId);
    await createFolder(root, owner);
    return await openJail(root, { owner, log });
  }

  async function change<T>(serverId: string, work: (jail: Jail) => Promise<T>): Promise<T> {
    await using files = await jail(serverId);
    try {
      return await work(files);
    } finally {
      // Whatever became of it then: in the folder that is the server's now it has not happened.
      await requireCurrent(files, dataRoot(dataDir, serverId));
    }
  }

  return {
    jail,
    change,

    async list(serverId, path) {
      await using files = await jail(serverId);
      const batches: Entry[][] = [];
      let count = 0;
      for await (const batch of files.entries(path)) {
        count += batch.length;
        if (count > MAX_LISTED) throw tooManyEntries();
        batches.push(batch.sort(byName));
      }
      return await merged(batches);
    },

    async read(serverId, path, maxBytes) {
      await using files = await jail(serverId);
      await using file = await files.open(path);
      const { sizeBytes } = await file.stat();
      // A byte more than is given, to know whether there is one.
      const found = await file.read(0, Math.min(maxBytes, sizeBytes) + 1);
      return { content: found.subarray(0, maxBytes), truncated: found.length > maxBytes };
    },

    async write(serverId, path, { chunks, sizeBytes }, options) {
      const reservedBytes = sizeBytes ?? 0;
      return await change(serverId, (files) =>
        withReserved(disk, serverId, reservedBytes, (reservation) =>
          replace(files, path, { chunks, reservedBytes }, reservation, options),
        ),
      );
    },

    async copy(serverId, from, to, patience) {
      return await change(serverId, (files) =>
        withReserved(disk, serverId, 0, async (reservation) => {
          const copied = await files.copy(from, to, { beforePiece: patiently(reservation, patience) });
          return { result: copied, addedBytes: copied };
        }),
      );
    },

    async rename(serverId, from, to) {
      await change(serverId, (files) => files.rename(from, to));
    },

    async remove(serverId, path) {
      await change(serverId, (files) => files.remove(path));
      disk.freed(serverId);
    },

    async mkdir(serverId, path) {
      await change(serverId, (files) => files.mkdir(path));
    },

    async download(serverId, path) {
      const files = await jail(serverId);
      try {
        const entry = await files.stat(path);
        if (entry.kind === 'directory') {
          const zip = archiveStream('zip', packedPaths(files, [joinNames(parsePath(path))]));
          zip.once('close', () => void files.close());
          return { entry, zip };
        }
        const file = await files.open(path);
        await files.close();
        return { entry: await file.stat(), file };
      } catch (error) {
        await files.close();
        throw error;
      }
    },

    archive: (serverId, paths, to, patience) =>
      change(serverId, (files) => archive(serverId, files, paths, to, patience)),
    extract: (serverId, path, to, patience) =>
      change(serverId, (files) => extract(serverId, files, path, to, patience)),
  };

  async function archive(
    serverId: string,
    files: Jail,
    paths: readonly string[],
    to: string,
    patience: Patience | undefined,
  ): Promise<Entry> {
    const format = formatOfName(to);
    const sources = paths.map((path) => joinNames(parsePath(path)));
    for (const path of sources) await files.stat(path);
    const chunks = archiveStream(format, packedPaths(files, sources));
    try {
      return await withReserved(disk, serverId, 0, async ({ grow }) => {
        const reservation = { grow: patiently({ grow }, patience) };
        return await replace(files, to, { chunks, reservedBytes: 0 }, reservation, { exclusive: true });
      });
    } finally {
      chunks.destroy();
    }
  }

  async function extract(
    serverId: string,
    files: Jail,
    path: string,
    to: string,
    patience: Patience | undefined,
  ): Promise<number> {
    await using source = await files.open(path);
    const target = await files.stat(to).catch(() => undefined);
    if (target && target.kind !== 'directory') throw invalidPath(to, 'must be a directory, or nothing yet');
    await using stage = await files.stage();
    return await withReserved(disk, serverId, 0, async (reservation) => {
      const beforePiece = patiently(reservation, patience);
      let extracted = 0;
      for await (const { path, kind, mode, content } of unpack(source)) {
        // A backup, say: its lists speak of a server's own folder.
        if (isList(path)) continue;
        await beforePiece(0);
        parsePath(`${to}/${path}`);
        if (kind === 'directory') {
          await stage.mkdir(path);
          continue;
        }
        await using file = await stage.create(path, mode || undefined);
        let size = 0;
        for await (const chunk of content) {
          await beforePiece(chunk.length);
          await file.write(size, chunk);
          size += chunk.length;
        }
        extracted += size;
      }
      const replacedBytes = await stage.mergeInto(to);
      return { result: extracted, addedBytes: extracted - replacedBytes };
    });
  }

  async function replace(
    files: Jail,
    path: string,
    { chunks, reservedBytes }: { chunks: Content['chunks']; reservedBytes: number },
    reservation: Pick<Reservation, 'grow'>,
    options?: { exclusive?: boolean },
  ): Promise<{ result: Entry; addedBytes: number }> {
    await using replacement = await files.replace(path, options);
    let size = 0;
    for await (const chunk of chunks) {
      size += chunk.byteLength;
      // What is left of the bytes set aside at first is used up before more is asked for.
      await reservation.grow(Math.max(0, Math.min(chunk.byteLength, size - reservedBytes)));
      await replacement.write(chunk);
    }
    const { entry, replacedBytes } = await replacement.commit();
    return { result: entry, addedBytes: entry.sizeBytes - replacedBytes };
  }
}

/** What is asked before each piece: is there room for it, and is there still somebody who wants it. */
function patiently({ grow }: Pick<Reservation, 'grow'>, { signal }: Patience = {}): (bytes: number) => Promise<void> {
  return async (bytes) => {
    if (signal?.aborted) throw new StatusError('CANCELLED', 'CALLER_GONE', 'The caller went away.');
    if (bytes > 0) await grow(bytes);
  };
}

function byName(a: Entry, b: Entry): number {
  return a.name < b.name ? -1 : 1;
}

/** Sorted batches as one, in steps between which others get their turn: sorting all of them at once would hold them up. */
async function merged(batches: Entry[][]): Promise<Entry[]> {
  for (; batches.length > 1;) {
    const [first = [], second = []] = batches.splice(0, 2);
    const both: Entry[] = [];
    for (let a = 0, b = 0; a < first.length || b < second.length;) {
      const left = first[a];
      const right = second[b];
      const next = left && (!right || byName(left, right) < 0) ? left : right!;
      both.push(next);
      if (next === left) a += 1;
      else b += 1;
    }
    batches.push(both);
    await immediate();
  }
  return batches[0] ?? [];
}

function tooManyEntries(): StatusError {
  return new StatusError(
    'RESOURCE_EXHAUSTED',
    'DIRECTORY_TOO_LARGE',
    `The directory holds more than ${MAX_LISTED} entries. List it over SFTP.`,
  );
}
