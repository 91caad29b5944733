import type { ServerNow } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import { listTransitionsSince } from '../servers/machine-rows.ts';
import type { Sql } from '../store/writer.ts';
import type { Base } from './base.ts';
import { type BackupRow, PREVIOUS, getBackup, listPrevious } from './rows.ts';

/** The event that ends a job on a server's files. A start queued in the meantime follows in the same step. */
const JOB_DONE = 'xstate.done.actor.maintain';

/**
 * Reports whether the folder replaced by a restore is redundant because a start has succeeded since. The start at the
 * end of the restore itself does not count, because the restored files have not been seen yet. `runs`: the server is
 * running now, stored or not.
 */
export async function isRedundant(db: Sql, { serverId, createdAt }: BackupRow, runs = false): Promise<boolean> {
  let isOwnStart = false;
  for (const { event, from, to } of await listTransitionsSince(db, serverId, createdAt)) {
    if (from === to) continue;
    if (to === 'starting') isOwnStart = event === JOB_DONE;
    if (to === 'running' && !isOwnStart) return true;
  }
  return runs && !isOwnStart;
}

/** Removes the folders that restores have replaced, each once a start has shown that it is redundant. */
export class PreviousFolders {
  readonly #base: Base;
  readonly #withPrevious: Set<string>;
  readonly #drop: (row: BackupRow) => Promise<void>;
  /** The last run (by ready time) of each server in which its replaced folder was checked. */
  readonly #provenIn = new Map<string, number | null>();
  /** Stops observing servers. */
  readonly close: () => void;

  /** `withPrevious`: the servers with a folder that a restore has replaced. Jobs add to it. */
  constructor(base: Base, servers: Servers, withPrevious: Set<string>, drop: (row: BackupRow) => Promise<void>) {
    this.#base = base;
    this.#withPrevious = withPrevious;
    this.#drop = drop;
    this.close = servers.observe((_, now) => this.#seen(now));
  }

  /** Checks the folders left by the previous process. */
  async recover(): Promise<void> {
    const { store } = this.#base;
    for (const row of await listPrevious(store)) {
      if (await isRedundant(store, row)) await this.#drop(row);
      else this.#withPrevious.add(row.serverId);
    }
  }

  /** Called when the server is being deleted. */
  forget(serverId: string): void {
    this.#withPrevious.delete(serverId);
    this.#provenIn.delete(serverId);
  }

  /** Checks once in each run. */
  #seen(now: ServerNow | null): void {
    if (now?.state !== 'running' || !this.#withPrevious.has(now.row.id)) return;
    const { id } = now.row;
    const { readyAt } = now.context;
    if (this.#provenIn.get(id) === readyAt) return;
    this.#provenIn.set(id, readyAt);
    this.#proven(id).catch((error: unknown) => {
      this.#provenIn.delete(id);
      this.#base.log.warn({ server: id, err: error }, 'the folder that a restore replaced could not be removed');
    });
  }

  /** Removes the replaced folder if it is redundant. */
  async #proven(id: string): Promise<void> {
    const { store } = this.#base;
    const row = await getBackup(store, id, PREVIOUS);
    if (row !== undefined && !(await isRedundant(store, row, true))) return;
    if (row !== undefined) await this.#drop(row);
    this.#withPrevious.delete(id);
  }
}
