import type { Tx } from '../store/store.ts';

/** Somebody's access has become less, or other, than it was. What is absent is not restricted. */
export interface AccessChange {
  /** This key was revoked. */
  keyId?: string;
  /** This session ended. */
  sessionId?: string;
  /** This app's tokens were revoked, for `userId` only where that is given. */
  clientId?: string;
  /** The permissions of this user changed; with `serverId`, on that server. */
  userId?: string;
  serverId?: string;
}

/**
 * Notifies code that acts for a user or keeps something open for one (streams, SFTP sessions) of permission changes.
 */
export interface AccessChanges {
  announce(change: AccessChange): void;
  /** Calls after each change, once it is stored. Returns the cancellation. */
  onAccessChange(listener: (change: AccessChange) => void): () => void;
  /** To be called in the write that changes a key's access, or a user's to a server: what must go with it goes in that write. */
  inWrite(tx: Tx, change: AccessChange, at: number): Promise<void>;
  /** Calls in each such write, which rejects with what the listener rejects with. */
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
