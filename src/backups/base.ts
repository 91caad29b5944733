import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { Store } from '../store/store.ts';

/** The dependencies of every part of this room. */
export interface Base {
  store: Store;
  clock: Clock;
  log: Log;
  dataDir: string;
  progress: Progress;
  /** Called with a step's name between any two steps, so that tests can crash the process there. */
  at: (step: string) => Promise<void> | void;
}

/** The progress of a backup as viewers see it. */
interface BackupEvent {
  id: string;
  /** The backup's state, or `restoring`, `restored`, `deleted`. */
  state: string;
  percent: number;
  error?: string;
}

/** Notifies a server's viewers of its backups. */
export interface BackupEvents {
  publish(serverId: string, type: 'backup', data: object): void;
}

/**
 * The progress of backups and restores. It is in memory only, because interrupted work begins anew. A server has one
 * backup in work at a time.
 */
export class Progress {
  readonly #inFlight = new Map<string, { id: string; percent: number }>();
  #viewers: BackupEvents | undefined;

  /** Sends all further progress to the servers' viewers. */
  showTo(viewers: BackupEvents): void {
    this.#viewers = viewers;
  }

  publish(serverId: string, event: BackupEvent): void {
    const { id, state, percent } = event;
    if (state === 'running' || state === 'restoring') this.#inFlight.set(serverId, { id, percent });
    else if (this.#inFlight.get(serverId)?.id === id) this.#inFlight.delete(serverId);
    this.#viewers?.publish(serverId, 'backup', event);
  }

  /** Returns the progress of a running backup or restore, 0 to 100; 0 for any other. */
  of(serverId: string, id: string): number {
    const found = this.#inFlight.get(serverId);
    return found?.id === id ? found.percent : 0;
  }

  /** Called when the server is deleted. */
  forget(serverId: string): void {
    this.#inFlight.delete(serverId);
  }
}
