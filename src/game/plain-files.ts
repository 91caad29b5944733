import { close, constants, fstat, open, read } from 'node:fs';
import { promisify } from 'node:util';
import { EngineError } from '../engines/engine.ts';
import { type FileOwner, writeAtomic } from '../kernel/atomic-file.ts';
import { decodeText } from '../kernel/decode-text.ts';
import { MIB } from '../kernel/units.ts';

/** Default size limit of files, such as lists. */
const MAX_BYTES = MIB;
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

// Some files are read at each boot and usually missing. With file handles and their error traces, that would take half
// as long again.
const calls = { open: promisify(open), fstat: promisify(fstat), read: promisify(read), close: promisify(close) };

/** Returns the text of `readPlainBytes` (`decodeText`). */
export async function readPlain(path: string, maxBytes = MAX_BYTES): Promise<string> {
  return decodeText(await readPlainBytes(path, maxBytes));
}

/**
 * Returns a plain file's bytes; empty if there is no file. Does not follow links or block on pipes. Rejects with
 * EngineError.
 */
export async function readPlainBytes(path: string, maxBytes = MAX_BYTES): Promise<Buffer> {
  const file = await calls.open(path, FLAGS).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error.code === 'ELOOP' ? notPlain(path, error) : error;
  });
  if (file === undefined) return Buffer.alloc(0);
  try {
    const stats = await calls.fstat(file);
    if (!stats.isFile() || stats.size > maxBytes) throw notPlain(path);
    return await bytesOf(file, stats.size);
  } finally {
    await calls.close(file);
  }
}

/** Reads up to the size the file had when opened. */
async function bytesOf(file: number, sizeBytes: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(sizeBytes);
  let length = 0;
  for (let last = -1; last !== 0 && length < sizeBytes; length += last) {
    last = (await calls.read(file, bytes, length, sizeBytes - length, length)).bytesRead;
  }
  return bytes.subarray(0, length);
}

/** Writes a file of mode 0640 (`writeAtomic`) over one read by `readPlain`. */
export function writePlain(path: string, text: string, owner?: FileOwner): Promise<void> {
  return writeAtomic(path, text, { mode: 0o640, owner });
}

/** Returns the EngineError of a start for a link, a folder or a huge file in place of a plain one. */
export function notPlain(path: string, cause?: Error): EngineError {
  return new EngineError(
    'unknown',
    `${path.slice(path.lastIndexOf('/') + 1)} is not a regular file, or it is too large.`,
    {
      suggestion: 'Delete it in the file manager, then start again.',
      cause,
    },
  );
}
