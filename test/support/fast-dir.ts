import { access, constants, statfs } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';

const GIB = 2 ** 30;
/** Of several engines with their images, beside whatever else the tests keep there. */
export const ROOM_FOR_ENGINES = 8 * GIB;

/** A folder in memory where there is so much room: what is synced to a disk waits for everybody else who does so. */
export async function fastDir(room = 2 * GIB): Promise<string> {
  const memory = '/dev/shm';
  const found = await access(memory, constants.W_OK)
    .then(() => statfs(memory))
    .catch(() => undefined);
  return found && Math.min(found.bavail * found.bsize, freemem()) > room ? memory : tmpdir();
}
