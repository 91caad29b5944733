import { listTransitionsSince } from '../servers/machine-rows.ts';
import type { Sql } from '../store/writer.ts';
import type { BackupRow } from './rows.ts';

/** The event that ends a job on a server's files. A start queued in the meantime follows in the same step. */
const JOB_DONE = 'xstate.done.actor.maintain';

/**
 * Reports whether the folder replaced by a restore is redundant because a start has succeeded since. The start at the
 * end of the restore itself does not count, because the restored files have not been seen yet. `runs`: the server is
 * running now, stored or not.
 */
export async function isRedundant(
  db: Sql,
  { serverId, createdAt }: Pick<BackupRow, 'serverId' | 'createdAt'>,
  runs = false,
): Promise<boolean> {
  let isOwnStart = false;
  for (const { event, from, to } of await listTransitionsSince(db, serverId, createdAt)) {
    if (from === to) continue;
    if (to === 'starting') isOwnStart = event === JOB_DONE;
    if (to === 'running' && !isOwnStart) return true;
  }
  return runs && !isOwnStart;
}
