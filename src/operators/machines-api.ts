import * as z from 'zod';
import { eventName } from '../../machines/event-names.ts';
import type { MachineStep } from '../actors/machine-step.ts';
import { int32, message, pageLimit, queryFlag, reply, rfc3339, text } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { type EventSource, eventFrame } from '../http/sse.ts';
import { MACHINE_EVENTS } from '../insight/event-schemas.ts';
import { StatusError } from '../kernel/status.ts';
import { auditActorOf } from '../audit/audit.ts';
import { operatorCause } from '../access/caller.ts';
import { Reason } from '../accounts/fields.ts';
import { Cause, Transition } from '../servers/api/machine.ts';
import { OPERATOR_EVENTS } from '../servers/machine-events.ts';
import type { Machines } from './machines.ts';

const DEFAULT_LIMIT = 50;
const MOST = 200;

const summary = {
  id: reply.text,
  kind: reply.text.describe('`server` or `grant`.'),
  name: reply.text.describe("A server's name, or the app that asks for a grant."),
  accountId: reply.text.describe('Empty for a grant.'),
  state: reply.text.describe(
    'As in GetServer; also `deleting`, and `maintaining` as in InspectMachine. For a grant: `pending`, ' +
      '`approved`, `denied`, `expired` or `redeemed`.',
  ),
  path: reply.text.describe('Its path in the statechart: `stopping.halting`.'),
  since: reply.timestamp.describe('When the state was entered.'),
  passing: reply.flag.describe('Whether the state is transitional.'),
  cause: Cause.describe('The cause.'),
  waitsFor: z
    .array(
      z.object({
        name: reply.text.describe('The active invoke, or the awaited event.'),
        what: reply.text.describe('The same in words.'),
        until: reply.timestamp.describe('When the wait ends.'),
      }),
    )
    .default([]),
  deadlineAt: reply.timestamp,
};

const Machine = z.object(summary).meta({ id: 'OperatorMachine' });

const MachineDetail = z
  .object({
    ...summary,
    legalEvents: z.array(z.string()).default([]).describe('The events SendToMachine accepts now.'),
    deadlines: z.array(z.object({ name: reply.text, at: reply.timestamp })).default([]),
    transitions: z.array(Transition).default([]).describe('The last 50, newest first.'),
    snapshot: z.unknown().describe('As stored; possible secrets are redacted.'),
    definition: z.unknown().describe('The statechart.'),
  })
  .meta({ id: 'OperatorMachineDetail' });

const Params = message({
  id: z
    .string()
    .regex(/^[\w-]{1,64}$/)
    .describe("A server's or a grant's id."),
});

const COMMON = { auth: 'key', scope: 'operator' } as const;

export const ListMachines = operation({
  ...COMMON,
  id: 'ListMachines',
  method: 'get',
  path: '/v1/operator/machines',
  summary: 'List state machines',
  description: [
    'Lists all servers and device grants in pages: repeat with `next` as `after` until `next` is empty. Machines in',
    'a transitional state come first, the longest-waiting at the top. Then come failed servers, running servers,',
    'waiting grants, sleeping servers and finished grants. Reads from the store and wakes no server.',
  ].join('\n'),
  query: message({
    state: text(32).default('').describe('A state as in the reply. Empty: all.'),
    stuckForSeconds: int32({ min: 0 })
      .optional()
      .describe('Only machines in a transitional state for at least this long.'),
    kind: z.enum(['', 'server', 'grant']).default('').describe('Empty: all.'),
    search: text(100).default('').describe('Part of an id, a name or an account id.'),
    limit: pageLimit({ fallback: DEFAULT_LIMIT, most: MOST }),
    after: text(200).default('').describe('`next` of the previous page.'),
    counts: queryFlag().default(false).describe('Whether to count the machines in each state, too.'),
  }),
  reply: z
    .object({
      machines: z.array(Machine).default([]),
      next: reply.text.describe('Empty on the last page.'),
      counts: z
        .array(z.object({ state: reply.text, count: reply.int32 }))
        .default([])
        .describe('If requested: the number of machines in each state, on all pages and regardless of `state`.'),
    })
    .meta({ id: 'ListMachinesResponse' }),
});

export const GetMachine = operation({
  ...COMMON,
  id: 'GetMachine',
  method: 'get',
  path: '/v1/operator/machines/{id}',
  summary: 'Inspect any machine',
  description:
    'Like InspectMachine, for all accounts, with the stored snapshot and the events that an operator can send.',
  params: Params,
  reply: MachineDetail,
});

export const SendToMachine = operation({
  ...COMMON,
  id: 'SendToMachine',
  method: 'post',
  path: '/v1/operator/machines/{id}:send',
  summary: 'Send an event to a machine',
  description: [
    'Accepts only events that have an effect now (`legalEvents`). Others are refused with FAILED_PRECONDITION',
    'EVENT_NOT_LEGAL, which lists the legal ones. The history and the account’s audit log record the event as an',
    'operator’s action with the reason, which the owner can read. ALARM ends a wait: it runs the due time-out now,',
    'or retries what hangs. KILL ends the game without saving. Events that report facts cannot be sent, because they',
    'come from the engine. Grants accept DENY.',
  ].join('\n'),
  params: Params,
  body: message({
    event: z.enum([...OPERATOR_EVENTS, 'DENY']),
    reason: Reason,
  }).meta({ id: 'SendToMachineRequest' }),
  example: { event: 'ALARM', reason: 'The engine hung and was restarted' },
  reply: z
    .object({ machine: MachineDetail.optional().describe('Absent if the machine no longer exists.') })
    .meta({ id: 'SendToMachineResponse' }),
});

export const StreamMachines = operation({
  answers: 'events',
  ...COMMON,
  id: 'StreamMachines',
  method: 'get',
  path: '/v1/operator/machines:stream',
  summary: 'Follow every transition',
  description: [
    'Server-sent events `transition`, sent once stored: `id` of the machine, `kind`, `event`, `from` and `to`',
    '(states), `fromPath` and `toPath` (places in the statechart), `cause`, `at`. A client that reads too slowly is',
    'disconnected: reconnect, then read the list. Pings, the end after 30 minutes and the limit of streams are the',
    'same as for StreamServerLogs. These streams are counted separately.',
  ].join('\n'),
  query: message({ id: text(64).default('').describe('Only this machine.') }),
  reply: z.string().describe('Frames of `id`, `event` and `data`.'),
  events: MACHINE_EVENTS,
});

/** Operations on state machines. */
export const operatorMachineOperations = ({ machines }: { machines: Machines }): readonly Served[] => [
  serve(ListMachines, async ({ query: { stuckForSeconds, counts, ...query } }) => {
    const queryFields = {
      ...query,
      stuckForMs: stuckForSeconds === undefined ? undefined : stuckForSeconds * 1_000,
    };
    const [page, counted] = await Promise.all([machines.list(queryFields), counts ? machines.count(queryFields) : []]);
    return { ...page, counts: counted };
  }),
  serve(GetMachine, async ({ params }) => {
    const machine = await machines.inspect(params.id);
    if (machine) return machine;
    throw new StatusError('NOT_FOUND', 'MACHINE_NOT_FOUND', 'There is no such machine.', { metadata: params });
  }),
  serve(SendToMachine, async ({ principal, params, body: { event, reason } }) => {
    const { accountId } = principal;
    await machines.send(params.id, {
      event,
      cause: operatorCause(principal, reason),
      actor: auditActorOf(principal),
      accountId,
    });
    return { machine: await machines.inspect(params.id) };
  }),
  serve(StreamMachines, async ({ query: { id } }): Promise<EventSource> => ({
    play: (sink) => {
      let sent = 0;
      return machines.follow((step) => {
        if (id === '' || id === step.id) sink.send(stepFrame(step, ++sent));
      });
    },
    overflow: 'end',
  })),
];

function stepFrame({ at, ...step }: MachineStep, nth: number): string {
  const data = { at: rfc3339(at), ...step, event: eventName(step.event) };
  return eventFrame({ id: String(nth), type: 'transition', data });
}
