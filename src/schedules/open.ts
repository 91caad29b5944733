/**
 * Runs scheduled tasks on time, and each run once. Never runs a task more than a minute late, such as after an outage.
 */
import type { Backups } from '../backups/backups.ts';
import type { AccessChanges } from '../http/access-changes.ts';
import { StatusError } from '../kernel/status.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import { type TypedCommandAccess, runTyped } from '../players/typed-commands.ts';
import { scheduleOperations } from './api.ts';
import { type ScheduleActions, Schedules, stopSchedulesOf } from './schedules.ts';
import { mountSchedulePages } from './pages.ts';
import { makeDueAtSleep } from './rows.ts';
import type { OnStep } from '../servers/actors.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Shared } from '../servers/shared.ts';
import type { Updates } from '../servers/updates.ts';
import { hasGame, leftText, warnPlayers } from '../servers/stopping.ts';
import type { Feature } from '../web/feature.ts';

/** Runs due schedules from now on. Call it once all checks that can refuse a start are in place. */
export async function openSchedules(
  shared: Shared,
  rooms: { backups: Backups; updates: Updates; accessChanges: AccessChanges; access: TypedCommandAccess },
): Promise<Feature> {
  const { store, serveServer, clock, log, onClose } = shared;
  const actions = scheduleActions(shared, rooms);
  const schedules = await Schedules.open({ store, clock, log, actions });
  onClose(() => schedules.close());
  onClose(
    shared.servers.follow(({ from, to }) => {
      if (hasGame(from) && to === 'hibernated') schedules.changed();
    }),
  );
  rooms.accessChanges.onWrite(stopSchedulesOf);
  return { operations: scheduleOperations({ schedules, serveServer, store, clock }), panel: mountSchedulePages };
}

/** Makes the schedules for a server's sleep due, in the write of the step to it. A job between two runs is no sleep. */
export const dueAtSleep: OnStep = async (tx, { row, context }, { from, to, at }) => {
  if (hasGame(from) && to === 'hibernated' && context.job === null) await makeDueAtSleep(tx, row.id, at);
};

/** A signal that never fires. Closing the backups ends the wait. */
const NEVER = new AbortController().signal;

/** Each action runs the operation of the same name, with the schedule as its cause. */
function scheduleActions(
  { servers, clock, log }: Shared,
  { backups, updates, access }: { backups: Backups; updates: Updates; access: TypedCommandAccess },
): ScheduleActions {
  async function find(serverId: string): Promise<ServerNow> {
    const now = await servers.get(serverId);
    if (now === undefined) throw serverNotFound(serverId);
    return now;
  }
  const isPlayed = ({ state, context }: ServerNow) => state === 'running' && context.live.players !== 0;
  const hasPlayers = async (serverId: string) => {
    const now = await servers.get(serverId);
    return now !== undefined && isPlayed(now);
  };
  return {
    hasPlayers,
    played: () =>
      servers
        .live()
        .filter(isPlayed)
        .map(({ row }) => row.id),
    async warnOfBackup(serverId, ms) {
      const now = await servers.get(serverId);
      if (now === undefined) return;
      const title = `Backup in ${leftText(ms)}`;
      const { consoles } = access;
      await warnPlayers([now], `${now.row.name}: ${title.toLowerCase()}.`, { consoles, log, title });
    },
    async run({ serverId, kind, command, onlyWhenEmpty }, cause, dueAt) {
      if (onlyWhenEmpty && (await hasPlayers(serverId))) throw playersOnline(serverId);
      switch (kind) {
        case 'start':
          return servers.send(serverId, { type: 'START', at: clock.now(), cause });
        case 'stop':
        case 'restart': {
          const type = kind === 'stop' ? 'STOP' : 'RESTART';
          return servers.send(serverId, { type, at: clock.now(), cause, ...(dueAt !== undefined && { dueAt }) });
        }
        case 'backup': {
          const actor = { userId: '', through: `schedule ${cause.id}` };
          const { id } = await backups.create((await find(serverId)).row, { actor, kind: 'schedule' });
          const { state, error } = await backups.finished({ serverId, id }, NEVER);
          if (state === 'failed') throw new StatusError('ABORTED', 'BACKUP_FAILED', error);
          return undefined;
        }
        case 'update':
          return updates.toNewestBuild(await find(serverId), { userId: '', through: `schedule ${cause.id}` });
        case 'command':
          return runTyped(access, await find(serverId), command);
        default:
          return kind satisfies never;
      }
    },
  };
}

function playersOnline(serverId: string): StatusError {
  const metadata = { server: serverId };
  return new StatusError('FAILED_PRECONDITION', 'PLAYERS_ONLINE', 'Players were online.', { metadata });
}
