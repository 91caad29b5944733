import * as z from 'zod';
import { CapacityResponse } from '../billing/capacity-api.ts';
import { message, reply, text } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import type { Principal } from '../http/principal.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import { Reason } from '../accounts/fields.ts';
import type { Fleet } from './fleet.ts';
import type { Clock } from '../kernel/clock.ts';

const Node = z
  .object({
    node: reply.text.describe('Its name, which may not be unique.'),
    id: reply.text.describe("The engine's id of the node; empty if games run only on this machine."),
    address: reply.text.describe('The address at which other nodes reach it; empty if games run only on this machine.'),
    region: reply.text,
    state: reply.text.describe(
      '`ready`; `drained`: an operator has paused starts there; `closed`: something else prevents starts (see ' +
        '`trouble`); `down`: it does not respond, and its games may still run; `fenced`: it does not respond and is ' +
        'marked as off. Further values may be added.',
    ),
    trouble: reply.text.describe('Why games can’t start there although it responds, as a sentence.'),
    lostSince: reply.timestamp.describe(
      'Since when its games have been waiting. The node does not respond, and they start elsewhere only after it ' +
        'is marked as off. Null: no game waits.',
    ),
    fencedAt: reply.timestamp.describe('Since when it has been marked as off; null: it is not.'),
    reachable: reply.flag.describe('Whether its engine responds.'),
    drained: reply.flag.describe('It accepts no new starts.'),
    drainReason: reply.text,
    drainedAt: reply.timestamp,
    ramTotalMb: reply.int64.describe('RAM of the machine, for games and everything else.'),
    capacity: CapacityResponse.prefault({}),
  })
  .meta({ id: 'Node' });

const COMMON = { auth: 'key', scope: 'operator' } as const;
const NodeRequest = message({
  node: text(128).describe('The name or id of the node.'),
  reason: Reason.describe('Shown to owners who start a server.'),
}).meta({ id: 'NodeRequest' });
const FenceNodeRequest = message({
  node: text(128).describe('The name or id of the node.'),
  reason: Reason.describe('How you verified that it is off. Recorded in the audit log.'),
}).meta({ id: 'FenceNodeRequest' });

const NodeRegionRequest = message({
  node: text(128).describe('The name or id of the node.'),
  region: text(32)
    .regex(/^[a-z0-9][a-z0-9-]*$/, 'must be lower-case letters, digits and hyphens')
    .describe('The code of a region, which may be new. `none`: no games start on the node.'),
  reason: Reason,
}).meta({ id: 'NodeRegionRequest' });

export const ListNodes = operation({
  ...COMMON,
  id: 'ListNodes',
  method: 'get',
  path: '/v1/operator/nodes',
  summary: 'List nodes',
  description: 'Lists the machines that servers run on, their free capacity, and whether they accept starts.',
  reply: z.object({ nodes: z.array(Node).default([]) }).meta({ id: 'ListNodesResponse' }),
});

export const DrainNode = operation({
  ...COMMON,
  id: 'DrainNode',
  method: 'post',
  path: '/v1/operator/nodes:drain',
  summary: 'Drain a node',
  description:
    'Prevents new starts on the node, even after the service restarts. Running servers keep running until they ' +
    'stop. Their owners can still restart them. If there are several nodes, a restart moves a server to another ' +
    'one.',
  body: NodeRequest,
  example: { node: 'node-1', reason: 'Maintenance until 18:00 UTC' },
  reply: Node,
});

export const ResumeNode = operation({
  ...COMMON,
  id: 'ResumeNode',
  method: 'post',
  path: '/v1/operator/nodes:resume',
  summary: 'Resume a node',
  description: 'The node accepts starts again.',
  body: NodeRequest,
  example: { node: 'node-1', reason: 'Maintenance done' },
  reply: Node,
});

export const FenceNode = operation({
  ...COMMON,
  id: 'FenceNode',
  method: 'post',
  path: '/v1/operator/nodes:fence',
  summary: 'Mark a node as off',
  description:
    'Confirms that a node that does not respond is off: it has no power, or has been restarted since. Its games ' +
    'then start on other nodes. **Confirm this only if it is true**: a game that still runs there would share its ' +
    'world with the new one and corrupt it. A node that is only unplugged from its network or disk is not off: ' +
    'its games keep running, and save when it is plugged in again. Refused for a node that responds ' +
    '(NODE_ANSWERS). A repeated call changes nothing.',
  body: FenceNodeRequest,
  example: { node: 'node-2', reason: 'Power supply pulled, seen by me' },
  reply: Node,
});

export const SetNodeRegion = operation({
  ...COMMON,
  id: 'SetNodeRegion',
  method: 'post',
  path: '/v1/operator/nodes:setRegion',
  summary: 'Set the region of a node',
  description:
    'From now on, only servers of that region start on the node. Running servers keep running until they stop. ' +
    'With `none`, no games start on the node, as recommended for managers of a swarm. Refused if games run on ' +
    'only one machine (ONE_MACHINE): REGION sets its region.',
  body: NodeRegionRequest,
  example: { node: 'node-2', region: 'eu', reason: 'Moved to Falkenstein' },
  reply: Node,
});

/** Operations on the machines that servers run on. */
export const nodeOperations = (clock: Clock, fleet: Fleet): readonly Served[] => [
  serve(ListNodes, async () => ({ nodes: await fleet.list() })),
  serve(DrainNode, async ({ principal, body: { node, reason } }) =>
    fleet.setDrained(node, { reason, at: clock.now() }, audit(clock, principal, 'node.drain', reason)),
  ),
  serve(ResumeNode, async ({ principal, body: { node, reason } }) =>
    fleet.setDrained(node, undefined, audit(clock, principal, 'node.resume', reason)),
  ),
  serve(FenceNode, async ({ principal, body: { node, reason } }) =>
    fleet.fence(node, audit(clock, principal, 'node.fence', reason)),
  ),
  serve(SetNodeRegion, async ({ principal, body: { node, region, reason } }) =>
    fleet.setRegion(node, region, audit(clock, principal, 'node.region', `${region}: ${reason}`)),
  ),
];

function audit(clock: Clock, principal: Principal, action: string, reason: string): Parameters<Fleet['fence']>[1] {
  const { accountId } = principal;
  return (tx, name) =>
    recordAudit(tx, auditActorOf(principal), { action, accountId, detail: `${name}: ${reason}`, at: clock.now() });
}
