/** The progress of a backup as viewers see it. */
export interface BackupEvent {
  id: string;
  /** The backup's state, or `restoring`, `restored`, `deleted`. */
  state: string;
  percent: number;
  error?: string;
}

/** The progress of backups and restores. */
export interface Progress {
  /** Records the progress for viewers. */
  note(serverId: string, event: BackupEvent): void;
  /** Returns the progress of a running backup or restore, 0 to 100; 0 for any other. */
  of(serverId: string, id: string): number;
  /** Called when the server is deleted. */
  forget(serverId: string): void;
}

/** Keeps progress in memory only, because interrupted work begins anew. A server has one backup in work at a time. */
export function createProgress(): Progress {
  const inFlight = new Map<string, { id: string; percent: number }>();

  return {
    note(serverId, { id, state, percent }) {
      if (state === 'running' || state === 'restoring') inFlight.set(serverId, { id, percent });
      else if (inFlight.get(serverId)?.id === id) inFlight.delete(serverId);
    },
    of(serverId, id) {
      const found = inFlight.get(serverId);
      return found?.id === id ? found.percent : 0;
    },
    forget: (serverId) => void inFlight.delete(serverId),
  };
}
