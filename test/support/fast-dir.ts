import { access, constants, statfs } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';

const GIB = 2 ** 30;
/** Space for several engines with their images, beside the files of other tests. */
export const ROOM_FOR_ENGINES = 8 * GIB;

/**
 * Returns a folder in memory if it has this much space, else the system's folder for temporary files. On a disk, a sync
 * waits for the syncs of all other programs.
 */
export async function fastDir(room = 2 * GIB): Promise<string> {
  const memory = '/dev/shm';
  const found = await access(memory, constants.W_OK)
    .then(() => statfs(memory))
    .catch(() => undefined);
  return found && Math.min(found.bavail * found.bsize, freemem()) > room ? memory : tmpdir();
}
