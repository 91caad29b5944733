/** The block size that file systems allocate in. */
const BLOCK_BYTES = 4_096;
/** The cost of a directory or an empty file: a block, so that their number is bounded, too. */
export const ENTRY_BYTES = BLOCK_BYTES;

/** Returns the bytes that a file of this size takes. */
export function spaceOf(sizeBytes: number): number {
  return Math.max(ENTRY_BYTES, Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES);
}

/** The disk quotas of servers. All code that adds bytes reserves them before it writes. */
export interface Disk {
  /** Reserves bytes of the server's quota. Rejects like `grow`. */
  reserve(serverId: string, bytes: number): Promise<Reservation>;
  /** Returns the server's quota and the space left; undefined without a quota. */
  room(serverId: string): Promise<{ totalBytes: number; freeBytes: number } | undefined>;
  /**
   * Checks the machine's disk before bytes fill space that the quota has counted already, such as a hole in a file.
   * Rejects with RESOURCE_EXHAUSTED DISK_FULL. Absent: the machine's disk is not checked.
   */
  requireFree?(bytes: number): Promise<void>;
  /** Reports that files were removed, so that usage is measured again. */
  freed(serverId: string): void;
}

/** Bytes reserved for one change. */
export interface Reservation {
  /** Reserves more bytes. Rejects with RESOURCE_EXHAUSTED DISK_QUOTA_EXCEEDED. */
  grow(bytes: number): Promise<void>;
  /**
   * Reports that reserved bytes are written, and thus counted by the file system itself. Absent: the machine's disk is
   * not checked.
   */
  landed?(bytes: number): void;
  /** Settles the reservation with the bytes actually added. */
  settle(addedBytes: number): void;
}

/** A reservation, as the work that uses it sees it. */
export interface Room extends Pick<Reservation, 'grow'> {
  /** Reserves space for one more file or directory, which has been created. */
  enter: () => Promise<void>;
  /** Reports that bytes are written, so that they no longer count as pending. */
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
 * Runs work that makes a server's files grow, under a reservation that is always settled. Failed work is settled with
 * 0, because it leaves only directories, which are measured. Entries created by `enter` count in addition to
 * `addedBytes`. Reports freed space if the files shrink.
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

/** Reserves space for one more file or directory. Rejects like `reserve`. */
export async function enterOne(disk: Disk, serverId: string): Promise<void> {
  await withReserved(disk, serverId, ENTRY_BYTES, async () => ({ result: undefined, addedBytes: ENTRY_BYTES }));
}
