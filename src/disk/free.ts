import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Disk, Reservation } from '../jail/space.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import { MIB } from '../kernel/units.ts';

/** Space this service always leaves free on a disk, because games must save their worlds. */
const LEAST_FREE_BYTES = 256 * MIB;

/** A look at a disk holds so long, less what was granted since. */
const LOOK_MS = 1_000;

/**
 * The free space of this machine's disks, minus all concurrent writes: bytes set aside and not yet written are
 * reserved, however slowly they come.
 */
export interface FreeDisk {
  /** Reserves bytes of the disk that holds `path`. RESOURCE_EXHAUSTED DISK_FULL. Their holder releases them. */
  hold(path: string, bytes: number): Promise<Hold>;
}

/** Bytes of a disk that are set aside. */
export interface Hold {
  /** Rejects as `hold` does. */
  grow(bytes: number): Promise<void>;
  /** So many of them are written: from now on the file system counts them itself. */
  landed(bytes: number): void;
  /** No further bytes are written. */
  release(): void;
}

export interface FreeDiskOptions {
  clock: Pick<Clock, 'now'>;
  leastFreeBytes?: number | undefined;
  /** Which disk holds a path, and what is free of it. */
  look?: (path: string) => Promise<DiskLook>;
}

/** `device`: as `stat` names it. */
export interface DiskLook {
  device: number;
  freeBytes: number;
}

interface FileSystem {
  /** As last looked at, less what was granted since. */
  left: number;
  /** Reserved and not landed. */
  outstanding: number;
  /** Ever set aside. */
  granted: number;
}

export function createFreeDisk(options: FreeDiskOptions): FreeDisk {
  const { clock, leastFreeBytes = LEAST_FREE_BYTES, look = lookAt } = options;
  const disks = new Map<number, FileSystem>();
  const seen = new Map<string, { disk: FileSystem; at: number }>();

  /** Looked at anew where the last look is old, or has not so many bytes left. */
  async function diskOf(path: string, bytes: number): Promise<FileSystem> {
    const last = seen.get(path);
    if (last && bytes <= last.disk.left && Math.abs(clock.now() - last.at) <= LOOK_MS) return last.disk;
    const before = new Map(
      Array.from(disks, ([device, { outstanding, granted }]) => [device, { outstanding, granted }]),
    );
    const { device, freeBytes } = await look(path);
    const disk = disks.get(device) ?? { left: 0, outstanding: 0, granted: 0 };
    const then = before.get(device) ?? { outstanding: 0, granted: 0 };
    // Bytes granted during the look may be missing in it; bytes written meanwhile may be included, and count twice
    // until the next.
    disk.left = freeBytes - leastFreeBytes - then.outstanding - (disk.granted - then.granted);
    disks.set(device, disk);
    seen.set(path, { disk, at: clock.now() });
    return disk;
  }

  async function take(path: string, bytes: number): Promise<FileSystem | undefined> {
    if (bytes <= 0) return undefined;
    const disk = await diskOf(path, bytes);
    if (bytes > disk.left) throw diskFull();
    disk.left -= bytes;
    disk.granted += bytes;
    disk.outstanding += bytes;
    return disk;
  }

  return {
    async hold(path, bytes) {
      let disk = await take(path, bytes);
      let held = disk ? bytes : 0;
      const landed = (more: number): void => {
        if (disk === undefined) return;
        const known = Math.min(held, more);
        held -= known;
        disk.outstanding -= known;
      };
      return {
        async grow(more) {
          const grown = await take(path, more);
          disk ??= grown;
          if (grown) held += more;
        },
        landed,
        release: () => landed(held),
      };
    },
  };
}

/** A disk on which nothing is set aside beyond what the machine has where `path` lies: RESOURCE_EXHAUSTED DISK_FULL. */
export function withinFree<Kind extends Disk>(disk: Kind, free: FreeDisk, path: string): Kind {
  return {
    ...disk,
    async reserve(serverId, bytes) {
      const reservation = await disk.reserve(serverId, bytes);
      const hold = await free.hold(path, bytes).catch((error: unknown) => {
        reservation.settle(0);
        throw error;
      });
      return {
        async grow(more) {
          await reservation.grow(more);
          await hold.grow(more);
        },
        landed: (more) => hold.landed(more),
        settle(addedBytes) {
          hold.release();
          reservation.settle(addedBytes);
        },
      } satisfies Reservation;
    },
    async requireFree(bytes) {
      (await free.hold(path, bytes)).release();
    },
  };
}

async function lookAt(path: string): Promise<DiskLook> {
  try {
    const [{ dev }, { bavail, bsize }] = await Promise.all([stat(path), statfs(path)]);
    return { device: dev, freeBytes: bavail * bsize };
  } catch (error) {
    // Not created yet: it will be on the disk of the folder above it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    return await lookAt(dirname(path));
  }
}

function diskFull(): StatusError {
  const sentence = 'The machine’s disk is too full for this. Ask the operator to free some space.';
  return new StatusError('RESOURCE_EXHAUSTED', 'DISK_FULL', sentence);
}
