export interface Disk {
  reserve(serverId: string, bytes: number): Promise<Reservation>;
  freed(serverId: string): void;
}

export interface Reservation {
  /** more is needed; rejects StatusError FAILED_PRECONDITION QUOTA_EXCEEDED */
  grow(bytes: number): Promise<void>;
  /** what really was added in the end; gives back the rest */
  settle(addedBytes: number): void;
}
