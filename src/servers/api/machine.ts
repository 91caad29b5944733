import * as z from 'zod';
import { eventName } from '../../../machines/event-names.ts';
import { restDeadline } from '../../../machines/server-context.ts';
import { reply } from '../../http/fields.ts';
import { operation } from '../../http/operation.ts';
import type { Served } from '../../http/serve.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { serverNotFound } from '../../access/owned-servers.ts';
import type { Servers } from '../servers.ts';
import type { TransitionRow } from '../machine-rows.ts';
import { ServerParams } from './messages.ts';
import type { ServeServer } from './operation.ts';

/** Dependencies of these operations. */
interface Needs {
  serveServer: ServeServer;
  servers: Servers;
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
            'A state: it times out then. `keepAwake`: the server stays awake until then. `idle`, `falseWake`: the ' +
              'server goes to sleep then unless someone joins.',
          ),
          at: reply.timestamp,
        }),
      )
      .default([]),
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

export const machineOperations = ({ serveServer, servers, settings }: Needs): readonly Served[] => [
  serveServer(InspectMachine, async ({ params, server: { row, context } }) => {
    const view = await servers.inspect(params.id);
    if (!view) throw serverNotFound(params.id);
    const rest = restDeadline(context, (row.idleTimeoutMinutes || settings.idleTimeoutMinutes) * MINUTE_MS);
    const deadlines = [...view.deadlines, ...(rest === undefined ? [] : [rest])];
    return { ...view, deadlines, transitions: view.transitions.map(transitionView) };
  }),
];
