import type { Cause } from '../../machines/server.ts';
import type { Clock } from '../ports.ts';
import type { ScheduleKind, ScheduleRow } from '../store/schedules-table.ts';
import { type ConsoleAccess, runOnGame } from './game-console.ts';
import { notFound } from './refusals.ts';
import type { ScheduleAction } from './schedules.ts';
import type { Servers } from './servers.ts';

export interface ScheduleActionsOptions extends ConsoleAccess {
  servers: Pick<Servers, 'get' | 'send'>;
  clock: Clock;
  /** Resolves when the backup is there. */
  backUp: (serverId: string, cause: Cause) => Promise<unknown>;
}

/** What each kind of schedule does: the same as the operation of its name, with the schedule as the cause. */
export function scheduleActions(options: ScheduleActionsOptions): Record<ScheduleKind, ScheduleAction> {
  const { servers, clock, backUp } = options;
  const send =
    (type: 'START' | 'STOP' | 'RESTART'): ScheduleAction =>
    ({ serverId }, cause) =>
      servers.send(serverId, { type, at: clock.now(), cause });
  return {
    start: send('START'),
    stop: send('STOP'),
    restart: send('RESTART'),
    backup: ({ serverId }: ScheduleRow, cause) => backUp(serverId, cause),
    async command({ serverId, command }) {
      const now = await servers.get(serverId);
      if (now === undefined) throw notFound(serverId);
      await runOnGame(options, now, command);
    },
  };
}
