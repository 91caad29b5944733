import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ProcessLogFiles } from './process-log-files.ts';
import type { Run } from './process-runs.ts';
import { send } from './process-signals.ts';
import { processTable } from './process-table.ts';

/** Moves the large logs of running games aside, one after another; each game stands still for a few milliseconds. */
export async function rotateLogs(files: ProcessLogFiles, runs: Iterable<Run>, log: Logger): Promise<void> {
  for (const { serverId, pid } of runs) {
    if (pid === null) continue;
    const pause = async () => {
      send(-pid, 'SIGSTOP');
      for (let look = 0; look < 100 && !processTable.isStopped(pid); look += 1) await sleep(1);
      return processTable.isStopped(pid);
    };
    try {
      await files.rotateIfLarge(serverId, pause, () => send(-pid, 'SIGCONT'));
    } catch (err) {
      log.warn({ err, server: serverId }, 'a log was not moved aside');
    }
  }
}
