import type { Disk } from '../../src/jail/space.ts';
import { StatusError } from '../../src/kernel/status.ts';

/** A disk with a limit in bytes, which counts reserved and used bytes. */
export interface FakeDisk extends Disk {
  limitBytes: number;
  usedBytes: number;
  /** Reserved bytes that are not settled yet. */
  openBytes: number;
  /** How often space was freed. */
  freedTimes: number;
}

export function fakeDisk(limitBytes: number): FakeDisk {
  const disk: FakeDisk = {
    limitBytes,
    usedBytes: 0,
    openBytes: 0,
    freedTimes: 0,
    async reserve(_serverId, bytes) {
      let reserved = 0;
      const grow = async (more: number): Promise<void> => {
        if (disk.usedBytes + disk.openBytes + more > disk.limitBytes) {
          throw new StatusError('RESOURCE_EXHAUSTED', 'DISK_QUOTA_EXCEEDED', 'Free disk space first.');
        }
        disk.openBytes += more;
        reserved += more;
      };
      await grow(bytes);
      return {
        grow,
        settle(addedBytes) {
          if (addedBytes > reserved) throw new Error(`${addedBytes} bytes were added, of ${reserved} set aside`);
          disk.openBytes -= reserved;
          disk.usedBytes += addedBytes;
          reserved = 0;
        },
      };
    },
    room: async () => ({ totalBytes: disk.limitBytes, freeBytes: disk.limitBytes - disk.usedBytes - disk.openBytes }),
    freed: () => void (disk.freedTimes += 1),
  };
  return disk;
}
