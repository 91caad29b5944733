import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { EngineError } from '../engines/engine.ts';
import { type FileOwner, writeAtomic } from '../kernel/atomic-file.ts';
import { MIB } from '../kernel/units.ts';

/** Files of other kinds, lists for example, are read up to here. */
const MAX_BYTES = MIB;

/** A plain file's text, '' where there is none. Neither follows a link nor waits on a pipe. Rejects with EngineError. */
export async function readPlain(path: string, maxBytes = MAX_BYTES): Promise<string> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error.code === 'ELOOP' ? notPlain(path, error) : error;
  });
  if (!file) return '';
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > maxBytes) throw notPlain(path);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Writes a file of mode 0640 (`writeAtomic`) in the place of one that `readPlain` has read. */
export function writePlain(path: string, text: string, owner?: FileOwner): Promise<void> {
  return writeAtomic(path, text, { mode: 0o640, owner });
}

function notPlain(path: string, cause?: Error): EngineError {
  return new EngineError(
    'unknown',
    `${path.slice(path.lastIndexOf('/') + 1)} is not a plain file, or too large for one of its kind.`,
    {
      suggestion: 'Delete it in the file manager, then start again.',
      cause,
    },
  );
}
