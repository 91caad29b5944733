import type { Backups } from '../backups/backups.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import { type TypedCommandAccess, runTyped } from '../players/typed-commands.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import type { ScheduleKind } from './rows.ts';
import type { ScheduleAction } from './schedules.ts';

export interface ScheduleActionsOptions extends TypedCommandAccess {
  servers: Servers;
  clock: Clock;
  backups: Backups;
}

/** A signal that never fires. Closing the backups ends the wait. */
const NEVER = new AbortController().signal;

/**
 * Returns the action of each kind of schedule. Each action runs the operation of the same name, with the schedule as
 * its cause.
 */
export function scheduleActions(options: ScheduleActionsOptions): Record<ScheduleKind, ScheduleAction> {
  const { servers, backups, clock } = options;
  const send =
    (type: 'START' | 'STOP' | 'RESTART'): ScheduleAction =>
    ({ serverId }, cause) =>
      servers.send(serverId, { type, at: clock.now(), cause });
  async function find(serverId: string): Promise<ServerNow> {
    const now = await servers.get(serverId);
    if (now === undefined) throw serverNotFound(serverId);
    return now;
  }
  return {
    start: send('START'),
    stop: send('STOP'),
    restart: send('RESTART'),
    async backup({ serverId }, cause) {
      const actor = { userId: '', through: `schedule ${cause.id}` };
      const { id } = await backups.create((await find(serverId)).row, { actor, kind: 'schedule' });
      const { state, error } = await backups.finished({ serverId, id }, NEVER);
      if (state === 'failed') throw new StatusError('ABORTED', 'BACKUP_FAILED', error);
    },
    async command({ serverId, command }) {
      await runTyped(options, await find(serverId), command);
    },
  };
}
