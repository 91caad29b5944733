import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { gameProcessOf } from './family.ts';
import type { ProcessLogFiles } from './log-files.ts';
import type { Run } from './runs.ts';
import { send } from './signals.ts';
import { processTable } from './table.ts';

/** A game whose log was not large is checked only once in this many checks. */
const QUIET_EVERY = 5;

/** Rotates the large logs of running games, one after another. Each game is paused for a few milliseconds. */
export class LogRotation {
  readonly #files: ProcessLogFiles;
  readonly #log: Logger;
  /** Servers whose log was large at the last check. They may print hundreds of megabytes a second. */
  #loud = new Set<string>();
  #looks = 0;
  #busy = false;

  constructor(files: ProcessLogFiles, log: Logger) {
    this.#files = files;
    this.#log = log;
  }

  /**
   * Rotates large logs. Must be called once a second. Never rejects. Returns immediately while the previous check still
   * runs.
   */
  async check(runs: Iterable<Run>): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    const all = this.#looks++ % QUIET_EVERY === 0;
    for (const run of runs) {
      if (!all && !this.#loud.has(run.serverId)) continue;
      if (await this.#rotate(run)) this.#loud.add(run.serverId);
      else this.#loud.delete(run.serverId);
    }
    this.#busy = false;
  }

  /** Rotates a log if it is large, and returns whether it was. */
  async #rotate({ serverId, pid }: Run): Promise<boolean> {
    if (pid === null) return false;
    const pause = async () => {
      send(-pid, 'SIGSTOP');
      const game = (await gameProcessOf(pid)) ?? pid;
      for (let attempt = 0; attempt < 100 && !processTable.isStopped(game); attempt += 1) await sleep(1);
      return processTable.isStopped(game);
    };
    try {
      return await this.#files.rotateIfLarge(serverId, pause, () => send(-pid, 'SIGCONT'));
    } catch (err) {
      this.#log.warn({ err, server: serverId }, 'could not rotate the log of a game');
      return false;
    }
  }
}
