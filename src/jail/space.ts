/** The block size that file systems allocate in. */
const BLOCK_BYTES = 4_096;
/** The cost of a directory or an empty file: a block, so that their number is bounded, too. */
export const ENTRY_BYTES = BLOCK_BYTES;

/** The bytes that a file of a length takes. */
export function spaceOf(sizeBytes: number): number {
  return Math.max(ENTRY_BYTES, Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES);
}

/** How much a server's files may still grow. Asked before the bytes land, on every way in. */
export interface Disk {
  /** Reserves so many bytes of the server's quota. Rejects as `grow` does. */
  reserve(serverId: string, bytes: number): Promise<Reservation>;
  /** Returns the server's quota and the space left; undefined without a quota. */
  room(serverId: string): Promise<{ totalBytes: number; freeBytes: number } | undefined>;
  /**
   * Bytes are about to fill what the quota has counted already, as a hole. RESOURCE_EXHAUSTED DISK_FULL. Absent: the machine's
   * disk is not looked at.
   */
  requireFree?(bytes: number): Promise<void>;
  /** Something was removed: usage is worth measuring again. */
  freed(serverId: string): void;
}

/** Bytes reserved for one change. */
export interface Reservation {
  /** More is needed; rejects StatusError RESOURCE_EXHAUSTED DISK_QUOTA_EXCEEDED. */
  grow(bytes: number): Promise<void>;
  /** So many of them are written, and counted by the file system itself. Absent: the machine's disk is not looked at. */
  landed?(bytes: number): void;
  /** Settles the reservation with the bytes actually added. */
  settle(addedBytes: number): void;
}

/** Bytes reserved for work in flight, as that work sees them. */
export interface Room extends Pick<Reservation, 'grow'> {
  /** One more file or directory has been made. */
  enter: () => Promise<void>;
  /** So many bytes are written: others need no longer take them for still to come. */
  landed: (bytes: number) => void;
}

/** A disk without quota, for callers that do not measure. */
export const unlimitedDisk: Disk = {
  async reserve() {
    return { grow: async () => {}, settle() {} };
  },
  room: async () => undefined,
  freed() {},
};

/**
 * Does work that makes a server's files grow, under a reservation that is settled in any case. Failed work settles with
 * nothing, as it leaves only directories behind, which are measured. Entries made count beside `addedBytes`. A negative
 * growth frees room.
 */
export async function withReserved<T>(
  disk: Disk,
  serverId: string,
  bytes: number,
  work: (room: Room) => Promise<{ result: T; addedBytes: number }>,
): Promise<T> {
  const reservation = await disk.reserve(serverId, bytes);
  const grow = (more: number) => reservation.grow(more);
  const landed = (more: number) => reservation.landed?.(more);
  let entered = 0;
  let added = 0;
  let failed = true;
  try {
    const enter = async () => {
      await grow(ENTRY_BYTES);
      entered += ENTRY_BYTES;
      landed(ENTRY_BYTES);
    };
    const { result, addedBytes } = await work({ grow, enter, landed });
    added = addedBytes + entered;
    failed = false;
    return result;
  } finally {
    reservation.settle(Math.max(0, added));
    if (added < 0 || (failed && entered > 0)) disk.freed(serverId);
  }
}

/** Takes the room of one more file or directory. Rejects as `reserve` does. */
export async function enterOne(disk: Disk, serverId: string): Promise<void> {
  await withReserved(disk, serverId, ENTRY_BYTES, async () => ({ result: undefined, addedBytes: ENTRY_BYTES }));
}
