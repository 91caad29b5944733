/**
 * Runs scheduled tasks on time, and each run once. Never runs a task more than a minute late, such as after an outage.
 */
import type { Backups } from '../backups/backups.ts';
import type { AccessChanges } from '../http/access-changes.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import { type TypedCommandAccess, runTyped } from '../players/typed-commands.ts';
import { scheduleOperations } from './api.ts';
import { type ScheduleAction, Schedules, stopSchedulesOf } from './schedules.ts';
import { mountSchedulePages } from './pages.ts';
import type { ScheduleKind } from './rows.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import type { Shared } from '../servers/shared.ts';
import type { Feature } from '../web/feature.ts';

/** Runs due schedules from now on. Call it once all checks that can refuse a start are in place. */
export async function openSchedules(
  { store, servers, serveServer, clock, log, onClose }: Shared,
  rooms: { backups: Backups; accessChanges: AccessChanges; access: TypedCommandAccess },
): Promise<Feature> {
  const actions = scheduleActions(servers, rooms.backups, rooms.access, clock);
  const schedules = await Schedules.open({ store, clock, log, actions });
  onClose(() => schedules.close());
  rooms.accessChanges.onWrite(stopSchedulesOf);
  return { operations: scheduleOperations({ schedules, serveServer, store, clock }), panel: mountSchedulePages };
}

/** A signal that never fires. Closing the backups ends the wait. */
const NEVER = new AbortController().signal;

/**
 * Returns the action of each kind of schedule. Each action runs the operation of the same name, with the schedule as
 * its cause.
 */
function scheduleActions(
  servers: Servers,
  backups: Backups,
  access: TypedCommandAccess,
  clock: Clock,
): Record<ScheduleKind, ScheduleAction> {
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
      await runTyped(access, await find(serverId), command);
    },
  };
}
