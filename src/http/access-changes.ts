import type { Tx } from '../store/store.ts';

/** A reduction or change of access. Access through absent fields is unaffected. */
export interface AccessChange {
  /** This key was revoked. */
  keyId?: string;
  /** This session ended. */
  sessionId?: string;
  /** This app's tokens were revoked; with `userId`, only that user's. */
  clientId?: string;
  /** The permissions of this user changed; with `serverId`, on that server. */
  userId?: string;
  serverId?: string;
}

/** Notifies code that acts for a user, or keeps streams or SFTP sessions open for one, of permission changes. */
export interface AccessChanges {
  announce(change: AccessChange): void;
  /** Calls `listener` after each stored change. Returns a function that removes it. */
  onAccessChange(listener: (change: AccessChange) => void): () => void;
  /**
   * Runs the write listeners. Called in the write that changes the access of a key, or of a user to a server, so that
   * dependent rows change in the same write.
   */
  inWrite(tx: Tx, change: AccessChange, at: number): Promise<void>;
  /** Calls `listener` in each such write, which fails if the listener rejects. */
  onWrite(listener: AccessWriteListener): void;
}

/** `at` is the time of the change. */
export type AccessWriteListener = (tx: Tx, change: AccessChange, at: number) => Promise<void>;

export function createAccessChanges(): AccessChanges {
  const listeners = new Set<(change: AccessChange) => void>();
  const inWrite: AccessWriteListener[] = [];
  return {
    announce(change) {
      for (const listener of listeners) listener(change);
    },
    onAccessChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async inWrite(tx, change, at) {
      for (const listener of inWrite) await listener(tx, change, at);
    },
    onWrite: (listener) => void inWrite.push(listener),
  };
}
