import * as z from 'zod';
import { eventName } from '../../../machines/event-names.ts';
import { type RestDeadline, restDeadline } from '../../../machines/server-context.ts';
import type { ServerContext } from '../../../machines/server-types.ts';
import { reply } from '../../http/fields.ts';
import { operation } from '../../http/operation.ts';
import type { Served } from '../../http/serve.ts';
import type { Clock } from '../../kernel/clock.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { serverNotFound } from '../../access/owned-servers.ts';
import { awakeHoursUntil } from '../awake-hours.ts';
import type { ServerRow } from '../rows.ts';
import type { Servers } from '../servers.ts';
import type { TransitionRow } from '../machine-rows.ts';
import { ServerParams } from './messages.ts';
import type { ServeServer } from './operation.ts';

/** Dependencies of these operations. */
interface Needs {
  serveServer: ServeServer;
  servers: Servers;
  clock: Clock;
  /** Default for servers without an idle time of their own. */
  settings: { idleTimeoutMinutes: number };
}

/** The cause of a step: a person, a key, a schedule or the service itself. */
export const Cause = z.object({
  kind: reply.text.describe('`key`, `user`, `player`, `schedule`, `operator` or `system`.'),
  id: reply.text,
  note: reply.text,
});

/** One step of a machine. */
export const Transition = z.object({
  at: reply.timestamp,
  event: reply.text.describe('`BOOT_DONE` and `BOOT_FAILED` report that an effect of the machine has ended.'),
  from: reply.text,
  to: reply.text,
  cause: Cause,
});

const Machine = z
  .object({
    state: reply.text.describe(
      'Same as in GetServer, or `maintaining` during a file operation, such as the restore of a backup. GetServer ' +
        'then returns `hibernated`.',
    ),
    path: reply.text.describe('Path in the statechart, such as `stopping.halting`.'),
    since: reply.timestamp.describe('When the state was entered.'),
    job: z
      .object({
        kind: reply.text.describe('`backup.restore`, `world.reset` or `world.delete`.'),
        target: reply.text.describe('The backup or the world.'),
      })
      .nullable()
      .default(null)
      .describe('The file operation that is running, or waits for the server to stop.'),
    jobError: reply.text.describe(
      'Why the last file operation failed. The files are then unchanged. Empty if it did not fail.',
    ),
    allowedEvents: z.array(z.string()).default([]).describe('Commands that the server accepts now.'),
    deadlines: z
      .array(
        z.object({
          name: reply.text.describe(
            'A state: it times out then. `keepAwake`, `awakeHours`: the server stays awake until then. `idle`, `falseWake`: the ' +
              'server goes to sleep then unless someone joins.',
          ),
          at: reply.timestamp,
        }),
      )
      .default([]),
    keptAwakeBy: z
      .array(
        z.object({
          reason: reply.text.describe(
            '`players`, `neverSleeps`, `awakeHours` or `keepAwake`. More reasons may be added.',
          ),
          until: reply.timestamp.describe('When the reason ends; null if that is unknown.'),
          players: reply.int32.describe('The number of players, for `players`.'),
        }),
      )
      .default([])
      .describe('Why the running server does not go to sleep now.'),
    transitions: z.array(Transition).default([]).describe('The last 50, newest first.'),
    definition: z.unknown().describe('The statechart.'),
  })
  .meta({ id: 'Machine' });

export const InspectMachine = operation({
  id: 'InspectMachine',
  method: 'get',
  path: '/v1/servers/{id}/machine',
  auth: 'key',
  scope: 'servers:read',
  role: 'limited',
  section: 'Console, logs and insight',
  summary: "Inspect a server's state machine",
  description:
    'Returns the state, the commands it accepts, its deadlines, the last transitions with their causes, and the ' +
    'statechart.',
  params: ServerParams,
  reply: Machine,
});

function transitionView({ at, event, from, to, cause }: TransitionRow): z.input<typeof Transition> {
  return { at, event: eventName(event), from, to, cause: Cause.parse(JSON.parse(cause)) };
}

/** Returns why a running server does not go to sleep at an instant. */
function reasonsAwake(row: ServerRow, { live, keepAwakeUntil }: ServerContext, now: number) {
  const players = live.players ?? 0;
  const hours = awakeHoursUntil(row, now);
  return [
    ...(players > 0 ? [{ reason: 'players', until: null, players }] : []),
    ...(row.idleTimeoutMinutes < 0 ? [{ reason: 'neverSleeps', until: null }] : []),
    ...(hours === undefined ? [] : [{ reason: 'awakeHours', until: hours === Infinity ? null : hours }]),
    ...(keepAwakeUntil > now ? [{ reason: 'keepAwake', until: keepAwakeUntil }] : []),
  ];
}

/** Returns when a server without players goes to sleep: after its awake hours. */
function sleepDeadline(row: ServerRow, context: ServerContext, idleMinutes: number): RestDeadline[] {
  const rest = idleMinutes < 0 ? undefined : restDeadline(context, idleMinutes * MINUTE_MS);
  if (rest === undefined) return [];
  const at = awakeHoursUntil(row, rest.at) ?? rest.at;
  return at === Infinity ? [] : [{ ...rest, at }];
}

export const machineOperations = ({ serveServer, servers, clock, settings }: Needs): readonly Served[] => [
  serveServer(InspectMachine, async ({ params, server: { row, state, context } }) => {
    const view = await servers.inspect(params.id);
    if (!view) throw serverNotFound(params.id);
    const keptAwakeBy = state === 'running' ? reasonsAwake(row, context, clock.now()) : [];
    const hours = keptAwakeBy.find(({ reason }) => reason === 'awakeHours')?.until;
    const deadlines = [
      ...view.deadlines,
      ...(typeof hours === 'number' ? [{ name: 'awakeHours', at: hours }] : []),
      ...sleepDeadline(row, context, row.idleTimeoutMinutes || settings.idleTimeoutMinutes),
    ];
    return { ...view, deadlines, keptAwakeBy, transitions: view.transitions.map(transitionView) };
  }),
];
