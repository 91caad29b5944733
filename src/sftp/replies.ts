import { type Shown, attributesOf, longName } from './attributes.ts';
import { EXTENSIONS } from './requests.ts';
import { MOST_DATA_BYTES, MOST_PACKET_BYTES, REPLY, STATUS, type Status, string, uint32, uint64 } from './wire.ts';

/** A packet, ready to be sent. */
export type Reply = Buffer;

/** Bytes of a `data` reply before the data: length, type, id, length of the data. */
export const DATA_HEAD_BYTES = 13;

/** One entry of a `name` reply. */
export interface NamedFile {
  name: string;
  shown: Shown;
}

/** A disk's total and free space, in bytes. */
export interface Space {
  totalBytes: number;
  freeBytes: number;
}

/** The answer to a client's greeting: version 3 and the supported extensions. */
export function versionReply(): Reply {
  const extensions = Object.entries(EXTENSIONS).flatMap(([name, version]) => [string(name), string(version)]);
  return packet(REPLY.version, [uint32(3), ...extensions]);
}

/** `message`: one sentence for the user of the client. */
export function statusReply(id: number, status: Status, message: string): Reply {
  return packet(REPLY.status, [uint32(id), uint32(STATUS[status]), string(message), string('en')]);
}

export function handleReply(id: number, handle: string): Reply {
  return packet(REPLY.handle, [uint32(id), string(handle)]);
}

/** Completes a data reply in a buffer: its first `DATA_HEAD_BYTES` are free, and `length` bytes of data follow them. */
export function dataReply(id: number, buffer: Buffer, length: number): Reply {
  buffer.writeUInt32BE(DATA_HEAD_BYTES - 4 + length, 0);
  buffer.writeUInt8(REPLY.data, 4);
  buffer.writeUInt32BE(id, 5);
  buffer.writeUInt32BE(length, 9);
  return buffer.subarray(0, DATA_HEAD_BYTES + length);
}

export function attributesReply(id: number, shown: Shown): Reply {
  return packet(REPLY.attrs, [uint32(id), attributesOf(shown)]);
}

export function namesReply(id: number, files: readonly NamedFile[], now: number): Reply {
  const entries = files.flatMap(({ name, shown }) => [
    string(name),
    string(longName(name, shown, now)),
    attributesOf(shown),
  ]);
  return packet(REPLY.name, [uint32(id), uint32(files.length), ...entries]);
}

/** The answer to `realpath`: a path without attributes (§6.11). */
export function pathReply(id: number, path: string): Reply {
  return packet(REPLY.name, [uint32(id), uint32(1), string(path), string(path), uint32(0)]);
}

/** `statvfs@openssh.com`: a file system of 4 KiB blocks. */
export function spaceReply(id: number, { totalBytes, freeBytes }: Space): Reply {
  const block = 4_096;
  const blocks = Math.floor(totalBytes / block);
  const free = Math.min(blocks, Math.floor(freeBytes / block));
  const files = 0xff_ff_ff_ff;
  const figures = [block, block, blocks, free, free, files, files, files, 0, NO_SETUID, LONGEST_NAME];
  return packet(REPLY.extended, [uint32(id), ...figures.map(uint64)]);
}

/** `limits@openssh.com`: the longest packet, read and write, and the most open handles. */
export function limitsReply(id: number, handles: number): Reply {
  const figures = [MOST_PACKET_BYTES, MOST_DATA_BYTES, MOST_DATA_BYTES, handles];
  return packet(REPLY.extended, [uint32(id), ...figures.map(uint64)]);
}

/** SSH_FXE_STATVFS_ST_NOSUID. */
const NO_SETUID = 2;
const LONGEST_NAME = 255;

function packet(type: number, parts: readonly Buffer[]): Reply {
  const length = parts.reduce((sum, part) => sum + part.length, 1);
  return Buffer.concat([uint32(length), Buffer.of(type), ...parts], 4 + length);
}
