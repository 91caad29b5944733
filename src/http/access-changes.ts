/** Somebody's access has become less, or other, than it was. What is absent is not restricted. */
export interface AccessChange {
  /** This key was revoked. */
  keyId?: string;
  /** This session ended. */
  sessionId?: string;
  /** This app's tokens were revoked, for `userId` only where that is given. */
  clientId?: string;
  /** What this user may do has changed; together with `serverId`, on that server. */
  userId?: string;
  serverId?: string;
}

/** Tells those who keep something open for somebody (streams, SFTP sessions) to look again whether they still may. */
export interface AccessChanges {
  announce(change: AccessChange): void;
  /** Calls after each change, once it is stored. Returns the cancellation. */
  onAccessChange(listener: (change: AccessChange) => void): () => void;
}

export function createAccessChanges(): AccessChanges {
  const listeners = new Set<(change: AccessChange) => void>();
  return {
    announce(change) {
      for (const listener of listeners) listener(change);
    },
    onAccessChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
