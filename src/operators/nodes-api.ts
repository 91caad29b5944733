import { z } from 'zod';
import { CapacityResponse, capacityView } from '../billing/capacity-api.ts';
import type { Capacity } from '../billing/capacity.ts';
import type { Reachability } from '../engines/reachability.ts';
import { message, reply, text } from '../http/fields.ts';
import { type Operation, operation } from '../http/operation.ts';
import type { Principal } from '../http/principal.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import { auditActorOf, recordAudit } from '../people/audit/audit.ts';
import type { Drained, NodeDrain } from './node-drain.ts';
import { Reason } from './servers-api.ts';

/** What these operations work with. */
interface Needs {
  capacity: Pick<Capacity, 'read'>;
  reachability: Reachability;
  clock: Clock;
  config: { nodeLabel: string; region: string; maxServersPerAccount: number };
  drain: NodeDrain;
}

const Node = z
  .object({
    node: reply.text,
    region: reply.text,
    reachable: reply.flag.describe('Its engine answers.'),
    drained: reply.flag.describe('It takes no new starts.'),
    drainReason: reply.text,
    drainedAt: reply.timestamp,
    capacity: CapacityResponse.prefault({}),
  })
  .meta({ id: 'Node' });

const of = { scope: 'operator', tag: 'operator' } as const;
const NodeRequest = message({
  node: text(128).describe('As the list names it.'),
  reason: Reason.describe('Owners who start a server read it.'),
}).meta({ id: 'NodeRequest' });

const listNodes = (needs: Needs) =>
  operation({
    ...of,
    id: 'ListNodes',
    method: 'get',
    path: '/v1/operator/nodes',
    summary: 'List nodes',
    description: 'The machines that servers run on, what they have left, and whether they take new starts.',
    reply: z.object({ nodes: z.array(Node).default([]) }).meta({ id: 'ListNodesResponse' }),
    run: async () => ({ nodes: [await nodeView(needs)] }),
  });

const drainNode = (needs: Needs) =>
  operation({
    ...of,
    id: 'DrainNode',
    method: 'post',
    path: '/v1/operator/nodes:drain',
    summary: 'Drain a node',
    description:
      'The node starts no servers and takes no new ones from now on, also after a restart of the service. Those that are awake ' +
      'stay awake until they stop; their owners may still restart them.',
    body: NodeRequest,
    example: { node: 'node-1', reason: 'Maintenance until 18:00 UTC' },
    reply: Node,
    async run({ principal, body: { node, reason } }) {
      const at = needs.clock.now();
      return change(needs, principal, { node, action: 'node.drain', reason, drained: { reason, at } });
    },
  });

const resumeNode = (needs: Needs) =>
  operation({
    ...of,
    id: 'ResumeNode',
    method: 'post',
    path: '/v1/operator/nodes:resume',
    summary: 'Resume a node',
    description: 'The node takes new starts again.',
    body: NodeRequest,
    example: { node: 'node-1', reason: 'Maintenance done' },
    reply: Node,
    run: async ({ principal, body: { node, reason } }) =>
      change(needs, principal, { node, action: 'node.resume', reason, drained: undefined }),
  });

/** The machines servers run on, for operators. */
export const nodeOperations = (needs: Needs): readonly Operation[] => [
  listNodes(needs),
  drainNode(needs),
  resumeNode(needs),
];

interface Change {
  node: string;
  action: string;
  reason: string;
  drained: Drained | undefined;
}

async function change(
  needs: Needs,
  principal: Principal,
  { node, action, reason, drained }: Change,
): Promise<z.input<typeof Node>> {
  const { config, clock, drain } = needs;
  if (node !== config.nodeLabel) {
    throw new StatusError('NOT_FOUND', 'NODE_NOT_FOUND', 'There is no such node.', { metadata: { node } });
  }
  const entry = { action, accountId: principal.accountId, detail: `${node}: ${reason}`, at: clock.now() };
  await drain.set(drained, (tx) => recordAudit(tx, auditActorOf(principal), entry));
  return nodeView(needs);
}

async function nodeView({ config, capacity, reachability, drain }: Needs): Promise<z.input<typeof Node>> {
  const drained = drain.now();
  const reachable = await reachability.reachable();
  return {
    node: config.nodeLabel,
    region: config.region,
    reachable,
    drained: drained !== undefined,
    drainReason: drained?.reason,
    drainedAt: drained?.at,
    capacity: capacityView(await capacity.read(), {
      maxServers: config.maxServersPerAccount,
      available: reachable && drained === undefined,
    }),
  };
}
