import { posix } from 'node:path';
import type { Jail, JailFile } from '../jail/jail.ts';
import { parsePath } from '../jail/path.ts';
import { guardOf } from '../jail/secrets.ts';
import { type Disk, spaceOf, withReserved } from '../jail/space.ts';
import { StatusError } from '../kernel/status.ts';
import type { Attributes } from './attributes.ts';
import type { Handles, OpenFile } from './handles.ts';
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

/** Entries of a directory in one reply: with the longest names, they and all about them fit any client's buffer. */
const ENTRIES_AT_ONCE = 64;

/** What requests work on. */
export interface CommandOptions {
  /** The server's files. */
  jail: Jail;
  handles: Handles;
  /** How many handles a client may have, as it is told. */
  mostHandles: number;
  /** Where each byte has a place before it lands. */
  disk: Disk;
  serverId: string;
  space: () => Promise<Space>;
  now: () => number;
}

/**
 * Does what clients ask, on the server's files alone: a path is read as if the data root were `/`, and `..` there leads
 * nowhere. Rejects with StatusError. A reply holds until the next request, as data is read into one place.
 */
export function createCommands(options: CommandOptions): (request: Request) => Promise<Reply> {
  const { jail, handles, disk, serverId } = options;
  let buffer: Buffer | undefined;

  return async function perform(request) {
    const { id } = request;
    switch (request.type) {
      case 'realpath':
        return pathReply(id, pathOf(request.path));
      // A link is never followed, and so is what it is to both.
      case 'stat':
      case 'lstat':
        return attributesReply(id, await jail.stat(pathOf(request.path)));
      case 'fstat':
        return attributesReply(id, await handles.file(request.handle).file.stat());
      case 'open':
        return handleReply(id, await open(request));
      case 'close':
        await handles.close(request.handle);
        return done(id);
      case 'read':
        return read(request);
      case 'write':
        await write(handles.file(request.handle), request);
        return done(id);
      case 'fsync':
        await handles.file(request.handle).file.sync();
        return done(id);
      case 'opendir':
        return handleReply(id, await openDirectory(pathOf(request.path)));
      case 'readdir':
        return list(id, request.handle);
      case 'setstat':
        await change(pathOf(request.path), request.attributes);
        return done(id);
      case 'fsetstat':
        await changeOpen(handles.file(request.handle), request.attributes);
        return done(id);
      case 'remove':
        await removeFile(pathOf(request.path));
        return done(id);
      case 'mkdir':
        await jail.mkdir(pathOf(request.path));
        return done(id);
      case 'rmdir':
        await jail.rmdir(pathOf(request.path));
        return done(id);
      case 'rename':
        await jail.rename(pathOf(request.path), pathOf(request.to), { replace: request.replace });
        return done(id);
      case 'statvfs':
        await jail.stat(pathOf(request.path));
        return spaceReply(id, await options.space());
      case 'fstatvfs':
        handles.file(request.handle);
        return spaceReply(id, await options.space());
      case 'limits':
        return limitsReply(id, options.mostHandles);
      case 'readlink':
      case 'symlink':
        throw new StatusError('UNIMPLEMENTED', 'LINKS_NOT_SUPPORTED', 'There are no symbolic links here.');
      case 'unknown':
        throw new StatusError('UNIMPLEMENTED', 'NOT_SUPPORTED', 'This is not supported.');
      default:
        return request satisfies never;
    }
  };

  function open({ path: given, flags, attributes }: RequestOf<'open'>): Promise<string> {
    const path = pathOf(given);
    const append = (flags & OPEN.append) !== 0;
    const write = append || (flags & OPEN.write) !== 0;
    const create = (flags & OPEN.create) !== 0;
    const truncate = (flags & OPEN.truncate) !== 0;
    return handles.add(async () => {
      const file = await jail.open(path, {
        write,
        create,
        exclusive: create && (flags & OPEN.exclusive) !== 0,
        truncate: write && truncate,
        ...(attributes.mode !== undefined && { mode: attributes.mode }),
      });
      // What the service writes into a file that holds a secret, a handle open for writing must not show.
      const readable = (flags & OPEN.read) !== 0 && !(write && guardOf(parsePath(path)) === 'masked');
      if (write && truncate) disk.freed(serverId);
      return { file, readable, writable: write, append };
    });
  }

  async function read({ id, handle, offset, length }: RequestOf<'read'>): Promise<Reply> {
    const { file, readable } = handles.file(handle);
    if (!readable) throw notOpenFor('reading');
    buffer ??= Buffer.allocUnsafeSlow(DATA_HEAD_BYTES + MOST_DATA_BYTES);
    const bytes = await file.readInto(buffer.subarray(DATA_HEAD_BYTES, DATA_HEAD_BYTES + length), offset);
    return bytes === 0 && length > 0 ? endOf(id) : dataReply(id, buffer, bytes);
  }

  async function write(opened: OpenFile, { offset, data }: RequestOf<'write'>): Promise<void> {
    if (!opened.writable) throw notOpenFor('writing');
    const { sizeBytes, allocatedBytes, removed } = await opened.file.extent();
    const position = opened.append ? sizeBytes : offset;
    const addedBytes = spaceOf(Math.max(sizeBytes, position + data.length)) - spaceOf(sizeBytes);
    // A hole has been counted, but takes its room only now.
    if (allocatedBytes < sizeBytes && position < sizeBytes) await disk.requireFree?.(data.length);
    await growing({ addedBytes, removed }, () => opened.file.write(position, data));
  }

  /**
   * Makes a file longer, under a reservation: a hole counts like what may one day fill it. How long the file is must have
   * been asked just now, as others have it open too. One without a name is found by no measurement, and so stays as it is.
   */
  async function growing({ addedBytes, removed }: { addedBytes: number; removed: boolean }, work: () => Promise<void>) {
    if (addedBytes <= 0) return await work();
    if (removed) throw new StatusError('FAILED_PRECONDITION', 'FILE_REMOVED', 'The file has been removed meanwhile.');
    await withReserved(disk, serverId, addedBytes, async () => ({ result: await work(), addedBytes }));
  }

  function openDirectory(path: string): Promise<string> {
    return handles.add(async () => {
      const batches = jail.entries(path);
      // The first batch already, as it tells whether there is a directory at all.
      const first = await batches.next();
      return { batches, rest: first.done ? [] : first.value };
    });
  }

  async function list(id: number, handle: string): Promise<Reply> {
    const directory = handles.directory(handle);
    while (directory.rest.length === 0) {
      const batch = await directory.batches.next();
      if (batch.done) return endOf(id);
      directory.rest = batch.value;
    }
    const entries = directory.rest.splice(0, ENTRIES_AT_ONCE);
    return namesReply(
      id,
      entries.map((entry) => ({ name: entry.name, shown: entry })),
      options.now(),
    );
  }

  async function change(path: string, attributes: Attributes): Promise<void> {
    const { size, ...rest } = attributes;
    if (size !== undefined) {
      await using file = await jail.open(path, { write: true });
      await resize(file, size);
    }
    await jail.setAttributes(path, inOurTerms(rest));
  }

  async function changeOpen(opened: OpenFile, { size, ...rest }: Attributes): Promise<void> {
    if (size !== undefined) {
      if (!opened.writable) throw notOpenFor('writing');
      await resize(opened.file, size);
    }
    await opened.file.setAttributes(inOurTerms(rest));
  }

  async function resize(file: JailFile, toBytes: number): Promise<void> {
    const { sizeBytes, removed } = await file.extent();
    await growing({ addedBytes: spaceOf(toBytes) - spaceOf(sizeBytes), removed }, () => file.truncate(toBytes));
    if (toBytes < sizeBytes) disk.freed(serverId);
  }

  async function removeFile(path: string): Promise<void> {
    const { kind } = await jail.stat(path);
    if (kind === 'directory') throw new StatusError('FAILED_PRECONDITION', 'NOT_A_FILE', 'It is a directory.');
    await jail.remove(path);
    disk.freed(serverId);
  }
}

/** A client's path from the root, `/plugins/x`. INVALID_ARGUMENT INVALID_PATH where it is no text. */
function pathOf(path: string | undefined): string {
  if (path === undefined) throw new StatusError('INVALID_ARGUMENT', 'INVALID_PATH', 'The path is no UTF-8.');
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

function done(id: number): Reply {
  return statusReply(id, 'ok', '');
}

function endOf(id: number): Reply {
  return statusReply(id, 'eof', 'The end.');
}
