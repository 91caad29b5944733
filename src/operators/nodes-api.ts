import * as z from 'zod';
import { CapacityResponse } from '../billing/capacity-api.ts';
import { message, reply, text } from '../http/fields.ts';
import { type Operation, operation } from '../http/operation.ts';
import type { Principal } from '../http/principal.ts';
import { auditActorOf, recordAudit } from '../people/audit/audit.ts';
import { Reason } from '../people/people-fields.ts';
import type { Fleet } from './fleet.ts';

/** Dependencies of these operations. */
interface Needs {
  fleet: Fleet;
  clock: { now(): number };
}

const Node = z
  .object({
    node: reply.text.describe('Its name. Where two are called alike, their ids.'),
    id: reply.text.describe("The engine's id of it; empty where games run on this machine alone."),
    address: reply.text.describe('Where the other nodes reach it; empty where games run on this machine alone.'),
    region: reply.text,
    state: reply.text.describe(
      '`ready`; `drained`: an operator lets no games start there; `closed`: something else keeps games from starting (see `trouble`); ' +
        '`down`: it does not answer, and its games may run on; `fenced`: it does not answer and is surely off. More may come.',
    ),
    trouble: reply.text.describe('What keeps games from starting there though it answers, as a sentence.'),
    lostSince: reply.timestamp.describe(
      'Since when its games wait: it is not responding, and they start elsewhere only once it is marked as off. Null: no game waits.',
    ),
    fencedAt: reply.timestamp.describe('Since when it counts as surely off; null: it does not.'),
    reachable: reply.flag.describe('Its engine answers.'),
    drained: reply.flag.describe('It accepts no new starts.'),
    drainReason: reply.text,
    drainedAt: reply.timestamp,
    ramTotalMb: reply.int64.describe('What the machine has, for games and all else.'),
    capacity: CapacityResponse.prefault({}),
  })
  .meta({ id: 'Node' });

const COMMON = { scope: 'operator', tag: 'operator' } as const;
const NodeRequest = message({
  node: text(128).describe('As the list names it, or its id.'),
  reason: Reason.describe('Shown to owners who start a server.'),
}).meta({ id: 'NodeRequest' });
const FenceNodeRequest = message({
  node: text(128).describe('As the list names it, or its id.'),
  reason: Reason.describe('How you verified that it is off. Recorded in the audit log.'),
}).meta({ id: 'FenceNodeRequest' });

const NodeRegionRequest = message({
  node: text(128).describe('As the list names it, or its id.'),
  region: text(32)
    .regex(/^[a-z0-9][a-z0-9-]*$/, 'must be lower-case letters, digits and hyphens')
    .describe('The code of a region, which may be new; `none`: no games start on it.'),
  reason: Reason,
}).meta({ id: 'NodeRegionRequest' });

const listNodes = ({ fleet }: Needs) =>
  operation({
    ...COMMON,
    id: 'ListNodes',
    method: 'get',
    path: '/v1/operator/nodes',
    summary: 'List nodes',
    description: 'The machines that servers run on, what they have left, and whether they take new starts.',
    reply: z.object({ nodes: z.array(Node).default([]) }).meta({ id: 'ListNodesResponse' }),
    run: async () => ({ nodes: await fleet.list() }),
  });

const drainNode = (needs: Needs) =>
  operation({
    ...COMMON,
    id: 'DrainNode',
    method: 'post',
    path: '/v1/operator/nodes:drain',
    summary: 'Drain a node',
    description:
      'The node starts no servers and takes no new ones from now on, also after a restart of the service. Those that are awake ' +
      'stay awake until they stop; their owners may still restart them, which brings them to another node where there are several.',
    body: NodeRequest,
    example: { node: 'node-1', reason: 'Maintenance until 18:00 UTC' },
    reply: Node,
    async run({ principal, body: { node, reason } }) {
      const { fleet, clock } = needs;
      return fleet.setDrained(node, { reason, at: clock.now() }, audit(needs, principal, 'node.drain', reason));
    },
  });

const resumeNode = (needs: Needs) =>
  operation({
    ...COMMON,
    id: 'ResumeNode',
    method: 'post',
    path: '/v1/operator/nodes:resume',
    summary: 'Resume a node',
    description: 'The node takes new starts again.',
    body: NodeRequest,
    example: { node: 'node-1', reason: 'Maintenance done' },
    reply: Node,
    run: async ({ principal, body: { node, reason } }) =>
      needs.fleet.setDrained(node, undefined, audit(needs, principal, 'node.resume', reason)),
  });

const fenceNode = (needs: Needs) =>
  operation({
    ...COMMON,
    id: 'FenceNode',
    method: 'post',
    path: '/v1/operator/nodes:fence',
    summary: 'Say that a node is off',
    description:
      'You say that a node which does not answer is surely off: it has no power, or has been started anew since. Its games then start ' +
      'on other nodes. **Only say so where it is true**: a game that still runs there would share its world with the new one, and ruin ' +
      'it. A node whose network or disk is unplugged is not off: its games run on, and save when it is plugged in again. Refused for a node that answers (NODE_ANSWERS); once said, saying it again changes nothing.',
    body: FenceNodeRequest,
    example: { node: 'node-2', reason: 'Power supply pulled, seen by me' },
    reply: Node,
    run: async ({ principal, body: { node, reason } }) =>
      needs.fleet.fence(node, audit(needs, principal, 'node.fence', reason)),
  });

const setNodeRegion = (needs: Needs) =>
  operation({
    ...COMMON,
    id: 'SetNodeRegion',
    method: 'post',
    path: '/v1/operator/nodes:setRegion',
    summary: 'Say in which region a node stands',
    description:
      'Servers of that region start on it from now on, and no others. Those that are awake stay there until they stop. With ' +
      '`none` the node is kept free of games, as managers of a swarm should be. Refused where games run on one machine alone ' +
      '(ONE_MACHINE): its region is a setting.',
    body: NodeRegionRequest,
    example: { node: 'node-2', region: 'eu', reason: 'Moved to Falkenstein' },
    reply: Node,
    run: async ({ principal, body: { node, region, reason } }) =>
      needs.fleet.setRegion(node, region, audit(needs, principal, 'node.region', `${region}: ${reason}`)),
  });

/** Operations on the machines that servers run on. */
export const nodeOperations = (needs: Needs): readonly Operation[] => [
  listNodes(needs),
  drainNode(needs),
  resumeNode(needs),
  fenceNode(needs),
  setNodeRegion(needs),
];

function audit({ clock }: Needs, principal: Principal, action: string, reason: string): Parameters<Fleet['fence']>[1] {
  const { accountId } = principal;
  return (tx, name) =>
    recordAudit(tx, auditActorOf(principal), { action, accountId, detail: `${name}: ${reason}`, at: clock.now() });
}
