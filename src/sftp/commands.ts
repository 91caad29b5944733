import { posix } from 'node:path';
import type { Entry, Jail, JailFile } from '../jail/jail.ts';
import { parsePath } from '../jail/path.ts';
import { guardOf } from '../jail/secrets.ts';
import { type Disk, spaceOf, withReserved } from '../jail/space.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import type { Attributes } from './attributes.ts';
import {
  DATA_HEAD_BYTES,
  type Reply,
  type Space,
  attributesReply,
  dataReply,
  handleReply,
  limitsReply,
  namesReply,
  pathReply,
  spaceReply,
  statusReply,
} from './replies.ts';
import type { Request, RequestOf } from './requests.ts';
import { MOST_DATA_BYTES, OPEN } from './wire.ts';

/** Most directory entries in one reply. Even with the longest names, the reply fits the buffer of any client. */
const ENTRIES_AT_ONCE = 64;

/**
 * Performs clients' requests on the server's files. The data root is `/`, and `..` cannot leave it. Rejects with
 * StatusError. A reply is valid until the next request, because all reads share one buffer.
 */
export class Commands {
  readonly #jail: Jail;
  readonly #handles: Handles;
  readonly #mostHandles: number;
  readonly #disk: Disk;
  readonly #serverId: string;
  readonly #space: () => Promise<Space>;
  readonly #clock: Clock;
  #buffer: Buffer | undefined;

  /** `mostHandles`: the most open handles of a client, as reported to it. `space` returns the server's free space. */
  constructor(
    jail: Jail,
    handles: Handles,
    mostHandles: number,
    disk: Disk,
    serverId: string,
    space: () => Promise<Space>,
    clock: Clock,
  ) {
    this.#jail = jail;
    this.#handles = handles;
    this.#mostHandles = mostHandles;
    this.#disk = disk;
    this.#serverId = serverId;
    this.#space = space;
    this.#clock = clock;
  }

  async perform(request: Request): Promise<Reply> {
    const { id } = request;
    switch (request.type) {
      case 'realpath':
        return pathReply(id, pathOf(request.path));
      // Links are never followed, so both return the same.
      case 'stat':
      case 'lstat':
        return attributesReply(id, await this.#jail.stat(pathOf(request.path)));
      case 'fstat':
        return attributesReply(id, await this.#handles.file(request.handle).file.stat());
      case 'open':
        return handleReply(id, await this.#open(request));
      case 'close':
        return done(id, this.#handles.close(request.handle));
      case 'read':
        return this.#read(request);
      case 'write':
        return done(id, this.#write(this.#handles.file(request.handle), request));
      case 'fsync':
        return done(id, this.#handles.file(request.handle).file.sync());
      case 'opendir':
        return handleReply(id, await this.#openDirectory(pathOf(request.path)));
      case 'readdir':
        return this.#list(id, request.handle);
      case 'setstat':
        return done(id, this.#change(pathOf(request.path), request.attributes));
      case 'fsetstat':
        return done(id, this.#changeOpen(this.#handles.file(request.handle), request.attributes));
      case 'remove':
        return done(id, this.#remove(pathOf(request.path)));
      case 'mkdir':
        return done(id, this.#jail.mkdir(pathOf(request.path)));
      case 'rmdir':
        return done(id, this.#jail.rmdir(pathOf(request.path)));
      case 'rename':
        return done(id, this.#jail.rename(pathOf(request.path), pathOf(request.to), { replace: request.replace }));
      case 'statvfs':
        await this.#jail.stat(pathOf(request.path));
        return spaceReply(id, await this.#space());
      case 'fstatvfs':
        this.#handles.file(request.handle);
        return spaceReply(id, await this.#space());
      case 'limits':
        return limitsReply(id, this.#mostHandles);
      case 'readlink':
      case 'symlink':
        throw new StatusError('UNIMPLEMENTED', 'LINKS_NOT_SUPPORTED', 'Symbolic links are not supported.');
      case 'unknown':
        throw new StatusError('UNIMPLEMENTED', 'NOT_SUPPORTED', 'This request is not supported.');
      default:
        return request satisfies never;
    }
  }

  #open({ path: given, flags, attributes }: RequestOf<'open'>): Promise<string> {
    const path = pathOf(given);
    const append = (flags & OPEN.append) !== 0;
    const write = append || (flags & OPEN.write) !== 0;
    const create = (flags & OPEN.create) !== 0;
    const truncate = (flags & OPEN.truncate) !== 0;
    return this.#handles.add(async () => {
      const file = await this.#jail.open(path, {
        write,
        create,
        exclusive: create && (flags & OPEN.exclusive) !== 0,
        truncate: write && truncate,
        ...(attributes.mode !== undefined && { mode: attributes.mode }),
      });
      // A handle open for writing must not show what the service writes into a file with a secret.
      const readable = (flags & OPEN.read) !== 0 && !(write && guardOf(parsePath(path)) === 'masked');
      if (write && truncate) this.#disk.freed(this.#serverId);
      return { file, readable, writable: write, append };
    });
  }

  async #read({ id, handle, offset, length }: RequestOf<'read'>): Promise<Reply> {
    const { file, readable } = this.#handles.file(handle);
    if (!readable) throw notOpenFor('reading');
    this.#buffer ??= Buffer.allocUnsafeSlow(DATA_HEAD_BYTES + MOST_DATA_BYTES);
    const bytes = await file.readInto(this.#buffer.subarray(DATA_HEAD_BYTES, DATA_HEAD_BYTES + length), offset);
    return bytes === 0 && length > 0 ? endOf(id) : dataReply(id, this.#buffer, bytes);
  }

  async #write(opened: OpenFile, { offset, data }: RequestOf<'write'>): Promise<void> {
    if (!opened.writable) throw notOpenFor('writing');
    const { sizeBytes, allocatedBytes, removed } = await opened.file.extent();
    const position = opened.append ? sizeBytes : offset;
    const addedBytes = spaceOf(Math.max(sizeBytes, position + data.length)) - spaceOf(sizeBytes);
    // The quota already counts this hole, but only now does it take space on the disk.
    if (allocatedBytes < sizeBytes && position < sizeBytes) await this.#disk.requireFree?.(data.length);
    await this.#growing({ addedBytes, removed }, () => opened.file.write(position, data));
  }

  /**
   * Extends a file under a reservation. A hole counts like the data that may fill it later. The caller must read the
   * size of the file just before, because other clients may have it open too. A removed file cannot grow, because no
   * measurement finds it.
   */
  async #growing({ addedBytes, removed }: { addedBytes: number; removed: boolean }, work: () => Promise<void>) {
    if (addedBytes <= 0) return await work();
    if (removed) throw new StatusError('FAILED_PRECONDITION', 'FILE_REMOVED', 'The file was removed.');
    await withReserved(this.#disk, this.#serverId, addedBytes, async () => ({ result: await work(), addedBytes }));
  }

  #openDirectory(path: string): Promise<string> {
    return this.#handles.add(async () => {
      const batches = this.#jail.entries(path);
      // Reads the first batch now, to check that the directory exists.
      const first = await batches.next();
      return { batches, rest: first.done ? [] : first.value };
    });
  }

  async #list(id: number, handle: string): Promise<Reply> {
    const directory = this.#handles.directory(handle);
    while (directory.rest.length === 0) {
      const batch = await directory.batches.next();
      if (batch.done) return endOf(id);
      directory.rest = batch.value;
    }
    const entries = directory.rest.splice(0, ENTRIES_AT_ONCE);
    return namesReply(
      id,
      entries.map((entry) => ({ name: entry.name, shown: entry })),
      this.#clock.now(),
    );
  }

  async #change(path: string, attributes: Attributes): Promise<void> {
    const { size, ...rest } = attributes;
    if (size !== undefined) {
      await using file = await this.#jail.open(path, { write: true });
      await this.#resize(file, size);
    }
    await this.#jail.setAttributes(path, inOurTerms(rest));
  }

  async #changeOpen(opened: OpenFile, { size, ...rest }: Attributes): Promise<void> {
    if (size !== undefined) {
      if (!opened.writable) throw notOpenFor('writing');
      await this.#resize(opened.file, size);
    }
    await opened.file.setAttributes(inOurTerms(rest));
  }

  async #resize(file: JailFile, toBytes: number): Promise<void> {
    const { sizeBytes, removed } = await file.extent();
    await this.#growing({ addedBytes: spaceOf(toBytes) - spaceOf(sizeBytes), removed }, () => file.truncate(toBytes));
    if (toBytes < sizeBytes) this.#disk.freed(this.#serverId);
  }

  async #remove(path: string): Promise<void> {
    const { kind } = await this.#jail.stat(path);
    if (kind === 'directory') throw new StatusError('FAILED_PRECONDITION', 'NOT_A_FILE', 'This is a directory.');
    await this.#jail.remove(path);
    this.#disk.freed(this.#serverId);
  }
}

/**
 * Returns a client's path from the root, such as `/plugins/x`. Throws INVALID_ARGUMENT INVALID_PATH if it is invalid or
 * not UTF-8.
 */
function pathOf(path: string | undefined): string {
  if (path === undefined) throw new StatusError('INVALID_ARGUMENT', 'INVALID_PATH', 'The path is not valid UTF-8.');
  const whole = posix.resolve('/', path);
  parsePath(whole);
  return whole;
}

function inOurTerms({ mode, atime, mtime }: Omit<Attributes, 'size'>): Parameters<Jail['setAttributes']>[1] {
  return {
    ...(mode !== undefined && { mode }),
    ...(atime !== undefined && { accessedAt: atime * 1_000 }),
    ...(mtime !== undefined && { modifiedAt: mtime * 1_000 }),
  };
}

function notOpenFor(what: string): StatusError {
  return new StatusError('PERMISSION_DENIED', 'NOT_OPEN', `The file is not open for ${what}.`);
}

async function done(id: number, work: Promise<void>): Promise<Reply> {
  await work;
  return statusReply(id, 'ok', '');
}

function endOf(id: number): Reply {
  return statusReply(id, 'eof', 'End of file.');
}

/** A file that a client has open. */
interface OpenFile {
  file: JailFile;
  readable: boolean;
  writable: boolean;
  /** Writes are appended to the file, regardless of the client's offset. */
  append: boolean;
}

/** A directory that a client is listing. */
interface OpenDirectory {
  batches: AsyncGenerator<Entry[]>;
  /** The unsent part of the current batch. */
  rest: Entry[];
}

/** The open handles of a session. Handle numbers are never reused. */
interface Handles {
  /**
   * Opens a file or directory and returns the client's handle for it. Rejects with RESOURCE_EXHAUSTED TOO_MANY_HANDLES
   * before it opens anything.
   */
  add(open: () => Promise<OpenFile | OpenDirectory>): Promise<string>;
  file(handle: string): OpenFile;
  directory(handle: string): OpenDirectory;
  close(handle: string): Promise<void>;
  closeAll(): Promise<void>;
}

/** Creates the handles of a session: at most `most`, and at most `total.left` over all sessions. */
export function createHandles(most: number, total: { left: number }): Handles {
  const open = new Map<string, OpenFile | OpenDirectory>();
  let last = 0;

  function get(handle: string): OpenFile | OpenDirectory {
    const found = open.get(handle);
    if (found) return found;
    throw new StatusError('FAILED_PRECONDITION', 'NOT_OPEN', 'There is no such handle.');
  }

  async function release(handle: string, opened: OpenFile | OpenDirectory): Promise<void> {
    open.delete(handle);
    total.left++;
    if ('file' in opened) await opened.file.close();
    else await opened.batches.return(undefined);
  }

  return {
    async add(work) {
      if (open.size >= most || total.left <= 0) {
        throw new StatusError('RESOURCE_EXHAUSTED', 'TOO_MANY_HANDLES', 'Too many files are open. Close some.');
      }
      total.left--;
      try {
        const opened = await work();
        const handle = String(++last);
        open.set(handle, opened);
        return handle;
      } catch (error) {
        total.left++;
        throw error;
      }
    },
    file(handle) {
      const found = get(handle);
      if ('file' in found) return found;
      throw new StatusError('FAILED_PRECONDITION', 'NOT_A_FILE', 'This is a directory.');
    },
    directory(handle) {
      const found = get(handle);
      if ('batches' in found) return found;
      throw new StatusError('FAILED_PRECONDITION', 'NOT_A_DIRECTORY', 'This is a file.');
    },
    close: (handle) => release(handle, get(handle)),
    async closeAll() {
      await Promise.allSettled(Array.from(open, ([handle, opened]) => release(handle, opened)));
    },
  };
}
