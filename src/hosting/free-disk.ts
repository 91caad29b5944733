import { statfs } from 'node:fs/promises';
import type { Clock } from '../ports.ts';
import { StatusError } from '../status.ts';
import type { Disk, Reservation } from './disk.ts';

/** What this service leaves free of a disk, whatever is to be put on it: games have to save their worlds. */
export const LEAST_FREE_BYTES = 256 * 2 ** 20;

/** A look at the disk holds so long, less what was granted since. */
const LOOK_MS = 1_000;

/** What may still be put on the file system that holds `path`, in bytes. */
export async function freeBytes(path: string, leastFreeBytes = LEAST_FREE_BYTES): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return Math.max(0, bavail * bsize - leastFreeBytes);
}

/** A disk on which nothing is set aside beyond what the machine has: RESOURCE_EXHAUSTED DISK_FULL. */
export function withinFree<Kind extends Disk>(
  disk: Kind,
  clock: Pick<Clock, 'now'>,
  free: () => Promise<number>,
): Kind {
  let left = 0;
  let lookedAt = -Infinity;

  async function take(bytes: number): Promise<void> {
    if (bytes <= 0) return;
    if (bytes > left || clock.now() - lookedAt > LOOK_MS) {
      left = await free();
      lookedAt = clock.now();
    }
    if (bytes > left) throw diskFull();
    left -= bytes;
  }

  return {
    ...disk,
    async reserve(serverId, bytes) {
      const reservation = await disk.reserve(serverId, bytes);
      await take(bytes).catch((error: unknown) => {
        reservation.settle(0);
        throw error;
      });
      return {
        ...reservation,
        async grow(more) {
          await reservation.grow(more);
          await take(more);
        },
      } satisfies Reservation;
    },
  };
}

export function diskFull(): StatusError {
  const sentence = "The machine's disk has no room for this. Its operator has to make some.";
  return new StatusError('RESOURCE_EXHAUSTED', 'DISK_FULL', sentence);
}
