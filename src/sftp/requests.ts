import { type Attributes, readAttributes } from './attributes.ts';
import { BadPacket, Fields, REQUEST } from './wire.ts';

/** A path as the client wrote it; undefined if it is not UTF-8, and therefore invalid. */
type Path = string | undefined;

/** A client's request. The client chooses `id`, and the reply repeats it. */
export type Request = { id: number } & (
  | { type: 'open'; path: Path; flags: number; attributes: Attributes }
  | { type: 'close' | 'fstat' | 'readdir' | 'fsync' | 'fstatvfs'; handle: string }
  | { type: 'read'; handle: string; offset: number; length: number }
  | { type: 'write'; handle: string; offset: number; data: Buffer }
  | { type: 'lstat' | 'stat' | 'opendir' | 'remove' | 'rmdir' | 'realpath' | 'readlink' | 'statvfs'; path: Path }
  | { type: 'setstat' | 'mkdir'; path: Path; attributes: Attributes }
  | { type: 'fsetstat'; handle: string; attributes: Attributes }
  /** `replace`: replaces an existing file at `to`, like `rename(2)`. */
  | { type: 'rename'; path: Path; to: Path; replace: boolean }
  | { type: 'symlink' | 'limits' | 'unknown' }
);

export type RequestOf<Type extends Request['type']> = Extract<Request, { type: Type }>;

/** The names of OpenSSH's extended requests, with the supported version of each. */
export const EXTENSIONS = {
  'posix-rename@openssh.com': '1',
  'statvfs@openssh.com': '2',
  'fstatvfs@openssh.com': '2',
  'fsync@openssh.com': '1',
  'limits@openssh.com': '1',
} as const;

/** Returns the protocol version in a client's greeting. Throws BadPacket for any other packet. */
export function readInit(packet: Buffer): number {
  const fields = new Fields(packet);
  if (fields.byte() !== REQUEST.init) throw new BadPacket('the first packet is not a greeting');
  return fields.uint32();
}

/** Parses a packet. Throws BadPacket if it is invalid; an unknown request is `unknown`. */
export function readRequest(packet: Buffer): Request {
  const fields = new Fields(packet);
  const code = fields.byte();
  if (code === REQUEST.init) throw new BadPacket('a second greeting');
  const id = fields.uint32();
  const path = () => fields.text();
  // Latin-1 preserves bytes: a handle is the server's own, and any other text is invalid.
  const handle = () => fields.bytes().toString('latin1');
  switch (code) {
    case REQUEST.open:
      return { type: 'open', id, path: path(), flags: fields.uint32(), attributes: readAttributes(fields) };
    case REQUEST.close:
      return { type: 'close', id, handle: handle() };
    case REQUEST.read:
      return { type: 'read', id, handle: handle(), offset: fields.uint64(), length: fields.uint32() };
    case REQUEST.write:
      return { type: 'write', id, handle: handle(), offset: fields.uint64(), data: fields.bytes() };
    case REQUEST.lstat:
      return { type: 'lstat', id, path: path() };
    case REQUEST.fstat:
      return { type: 'fstat', id, handle: handle() };
    case REQUEST.setstat:
      return { type: 'setstat', id, path: path(), attributes: readAttributes(fields) };
    case REQUEST.fsetstat:
      return { type: 'fsetstat', id, handle: handle(), attributes: readAttributes(fields) };
    case REQUEST.opendir:
      return { type: 'opendir', id, path: path() };
    case REQUEST.readdir:
      return { type: 'readdir', id, handle: handle() };
    case REQUEST.remove:
      return { type: 'remove', id, path: path() };
    case REQUEST.mkdir:
      return { type: 'mkdir', id, path: path(), attributes: readAttributes(fields) };
    case REQUEST.rmdir:
      return { type: 'rmdir', id, path: path() };
    case REQUEST.realpath:
      return { type: 'realpath', id, path: path() };
    case REQUEST.stat:
      return { type: 'stat', id, path: path() };
    case REQUEST.rename:
      return { type: 'rename', id, path: path(), to: path(), replace: false };
    case REQUEST.readlink:
      return { type: 'readlink', id, path: path() };
    case REQUEST.symlink:
      return { type: 'symlink', id };
    case REQUEST.extended:
      return readExtended(id, fields);
    default:
      return { type: 'unknown', id };
  }
}

function readExtended(id: number, fields: Fields): Request {
  switch (fields.text() as keyof typeof EXTENSIONS | undefined) {
    case 'posix-rename@openssh.com':
      return { type: 'rename', id, path: fields.text(), to: fields.text(), replace: true };
    case 'statvfs@openssh.com':
      return { type: 'statvfs', id, path: fields.text() };
    case 'fstatvfs@openssh.com':
      return { type: 'fstatvfs', id, handle: fields.bytes().toString('latin1') };
    case 'fsync@openssh.com':
      return { type: 'fsync', id, handle: fields.bytes().toString('latin1') };
    case 'limits@openssh.com':
      return { type: 'limits', id };
    case undefined:
    default:
      return { type: 'unknown', id };
  }
}
