/** How much a server's files may still grow. Asked before the bytes land, on every way in. */
export interface Disk {
  /** Sets so many bytes of the server's quota aside. Rejects as `grow` does. */
  reserve(serverId: string, bytes: number): Promise<Reservation>;
  /** Something was removed: usage is worth measuring again. */
  freed(serverId: string): void;
}

/** Bytes set aside for one change. */
export interface Reservation {
  /** More is needed; rejects StatusError FAILED_PRECONDITION QUOTA_EXCEEDED. */
  grow(bytes: number): Promise<void>;
  /** What really was added in the end; gives back the rest. */
  settle(addedBytes: number): void;
}

/** A disk without quota: for where nobody measures. */
export const unlimitedDisk: Disk = {
  async reserve() {
    return { grow: async () => {}, settle() {} };
  },
  freed() {},
};

/**
 * Does what makes a server's files grow, under a reservation that is settled whatever comes of it: with nothing where it
 * fails, as it then leaves nothing behind. Fewer bytes than before are room that has become free.
 */
export async function withReserved<T>(
  disk: Disk,
  serverId: string,
  bytes: number,
  work: (reservation: Pick<Reservation, 'grow'>) => Promise<{ result: T; addedBytes: number }>,
): Promise<T> {
  const reservation = await disk.reserve(serverId, bytes);
  let added = 0;
  try {
    const { result, addedBytes } = await work(reservation);
    added = addedBytes;
    return result;
  } finally {
    reservation.settle(Math.max(0, added));
    if (added < 0) disk.freed(serverId);
  }
}
