/** The progress of a backup as viewers see it. */
export interface Told {
  id: string;
  /** The backup's state, or `restoring`, `restored`, `deleted`. */
  state: string;
  percent: number;
  error?: string;
}

/** How far what is done with servers' backups has come. */
export interface Progress {
  /** Records the progress for viewers. */
  note(serverId: string, told: Told): void;
  /** How far a backup that is being made or restored has come, 0 to 100; 0 for any other. */
  of(serverId: string, id: string): number;
  /** The server is no more. */
  forget(serverId: string): void;
}

/** In memory only: whatever a restart cuts short begins anew. One backup of a server is worked on at a time. */
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
