import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Disk, Reservation } from '../jail/space.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import { MIB } from '../kernel/units.ts';

/** Space this service always leaves free on a disk, because games must save their worlds. */
const LEAST_FREE_BYTES = 256 * MIB;

/** How long a measurement of a disk is reused, minus the bytes granted since. */
const LOOK_MS = 1_000;

/**
 * The free space of this machine's disks, minus reservations for all concurrent writes. Reserved bytes count until they
 * are written.
 */
export interface FreeDisk {
  /**
   * Reserves bytes on the disk that holds `path`. The caller releases them. Rejects with RESOURCE_EXHAUSTED DISK_FULL.
   */
  hold(path: string, bytes: number): Promise<Hold>;
}

/** A reservation of bytes on a disk. */
export interface Hold {
  /** Rejects with the errors of `hold`. */
  grow(bytes: number): Promise<void>;
  /** Marks bytes as written: from now on, the file system counts them. */
  landed(bytes: number): void;
  /** Releases the bytes not written. */
  release(): void;
}

/** `device`: the id from `stat`. */
interface DiskLook {
  device: number;
  freeBytes: number;
}

interface FileSystem {
  /** Free bytes at the last measurement, minus those granted since. */
  left: number;
  /** Reserved and not yet written. */
  outstanding: number;
  /** Total ever reserved. */
  granted: number;
}

/** `probe` returns the disk that holds a path, and its free space. */
export function createFreeDisk(clock: Clock, leastFreeBytes = LEAST_FREE_BYTES, probe = probeAt): FreeDisk {
  const disks = new Map<number, FileSystem>();
  const seen = new Map<string, { disk: FileSystem; at: number }>();

  /** Returns the disk of a path. Measures it again if the last measurement is old or leaves too few bytes. */
  async function diskOf(path: string, bytes: number): Promise<FileSystem> {
    const last = seen.get(path);
    if (last && bytes <= last.disk.left && Math.abs(clock.now() - last.at) <= LOOK_MS) return last.disk;
    const before = new Map(
      Array.from(disks, ([device, { outstanding, granted }]) => [device, { outstanding, granted }]),
    );
    const { device, freeBytes } = await probe(path);
    const disk = disks.get(device) ?? { left: 0, outstanding: 0, granted: 0 };
    const then = before.get(device) ?? { outstanding: 0, granted: 0 };
    // Bytes granted during the measurement may be missing from it. Bytes written during it may count twice until the
    // next one.
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

/**
 * Limits the reservations of a disk to the free space of the file system that holds `path`. Rejects with
 * RESOURCE_EXHAUSTED DISK_FULL.
 */
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

async function probeAt(path: string): Promise<DiskLook> {
  try {
    const [{ dev }, { bavail, bsize }] = await Promise.all([stat(path), statfs(path)]);
    return { device: dev, freeBytes: bavail * bsize };
  } catch (error) {
    // The path does not exist yet: it will be on the disk of its parent folder.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    return await probeAt(dirname(path));
  }
}

function diskFull(): StatusError {
  const sentence = 'The machine’s disk is too full for this. Ask the operator to free some space.';
  return new StatusError('RESOURCE_EXHAUSTED', 'DISK_FULL', sentence);
}
