import type { Log } from '../kernel/log.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import type { Store } from '../store/store.ts';
import { isRedundant } from './redundant.ts';
import type { BackupRemoval } from './removal.ts';
import { PREVIOUS, getBackup, listPrevious } from './rows.ts';

export interface PreviousFoldersOptions {
  servers: Servers;
  store: Store;
  log: Log;
  /** Servers with a folder that a restore has replaced. Jobs add to it. */
  withPrevious: Set<string>;
  drop: BackupRemoval['drop'];
}

/** Removes the folders that restores have replaced, each once a start has shown that it is redundant. */
export class PreviousFolders {
  readonly #options: PreviousFoldersOptions;
  /** The last run (by ready time) of each server in which its replaced folder was checked. */
  readonly #provenIn = new Map<string, number | null>();
  /** Stops observing servers. */
  readonly close: () => void;

  constructor(options: PreviousFoldersOptions) {
    this.#options = options;
    this.close = options.servers.observe((_, now) => this.#seen(now));
  }

  /** Checks the folders left by the previous process. */
  async recover(): Promise<void> {
    const { store, withPrevious, drop } = this.#options;
    for (const row of await listPrevious(store)) {
      if (await isRedundant(store, row)) await drop(row);
      else withPrevious.add(row.serverId);
    }
  }

  /** Called when the server is being deleted. */
  forget(serverId: string): void {
    this.#options.withPrevious.delete(serverId);
    this.#provenIn.delete(serverId);
  }

  /** Checks once in each run. */
  #seen(now: ServerNow | null): void {
    const { withPrevious, log } = this.#options;
    if (now?.state !== 'running' || !withPrevious.has(now.row.id)) return;
    const { id } = now.row;
    const { readyAt } = now.context;
    if (this.#provenIn.get(id) === readyAt) return;
    this.#provenIn.set(id, readyAt);
    this.#proven(id).catch((error: unknown) => {
      this.#provenIn.delete(id);
      log.warn({ server: id, err: error }, 'the folder that a restore replaced could not be removed');
    });
  }

  /** Removes the replaced folder if it is redundant. */
  async #proven(id: string): Promise<void> {
    const { store, withPrevious, drop } = this.#options;
    const row = await getBackup(store, id, PREVIOUS);
    if (row !== undefined && !(await isRedundant(store, row, true))) return;
    if (row !== undefined) await drop(row);
    withPrevious.delete(id);
  }
}
