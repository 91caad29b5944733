/**
 * Every machine that games run on, by name, and what operators can do with it. Never ends a game: a drain only prevents
 * new ones, and a fence records an operator's confirmation that none runs there.
 */
import { capacityView } from '../billing/capacity-api.ts';
import type { Capacity, CapacityNow } from '../billing/capacity.ts';
import type { NodeRoom } from '../billing/reservations.ts';
import { EngineError, type EngineNode, type EngineNodes } from '../engines/engine.ts';
import type { Reachability } from '../engines/reachability.ts';
import { StatusError } from '../kernel/status.ts';
import type { Store, Tx } from '../store/store.ts';
import type { Drained, NodeDrain } from './node-drain.ts';

/** A machine as operators see it. */
interface NodeView {
  node: string;
  id: string;
  address: string;
  region: string;
  state: 'ready' | 'drained' | 'closed' | 'down' | 'fenced';
  trouble: string;
  lostSince: number | null;
  fencedAt: number | null;
  reachable: boolean;
  drained: boolean;
  drainReason: string | undefined;
  drainedAt: number | undefined;
  ramTotalMb: number;
  capacity: ReturnType<typeof capacityView>;
}

/** Adds the audit entry of an operator's action on the node of this name. */
type Audit = (tx: Tx, name: string) => Promise<void>;

/**
 * Operations on machines. `node` is a name or an id. NOT_FOUND NODE_NOT_FOUND; FAILED_PRECONDITION NODE_AMBIGUOUS if
 * several have the name.
 */
export interface Fleet {
  list(): Promise<NodeView[]>;
  /** Drains a node, or ends its drain. UNAVAILABLE NODE_UNREACHABLE if the engine could not be changed. */
  setDrained(node: string, drained: Drained | undefined, audit: Audit): Promise<NodeView>;
  /** Records an operator's confirmation that a node is off. FAILED_PRECONDITION NODE_ANSWERS if it is not. */
  fence(node: string, audit: Audit): Promise<NodeView>;
  /**
   * Sets a node's region; `none` keeps games off it. FAILED_PRECONDITION ONE_MACHINE if there are no others,
   * UNAVAILABLE NODE_UNREACHABLE if the engine could not be changed.
   */
  setRegion(node: string, region: string, audit: Audit): Promise<NodeView>;
}

/** Creates the fleet of this machine alone. */
export function fleetOfOne(
  {
    nodeLabel,
    region,
    maxServersPerAccount: maxServers,
  }: { nodeLabel: string; region: string; maxServersPerAccount: number },
  capacity: Capacity,
  reachability: Reachability,
  drain: NodeDrain,
): Fleet {
  async function view(): Promise<NodeView> {
    const drained = drain.of();
    const reachable = await reachability.reachable();
    const now = await capacity.read();
    return {
      node: nodeLabel,
      id: '',
      address: '',
      region,
      state: !reachable ? 'down' : drained === undefined ? 'ready' : 'drained',
      trouble: '',
      lostSince: null,
      fencedAt: null,
      reachable,
      drained: drained !== undefined,
      drainReason: drained?.reason,
      drainedAt: drained?.at,
      ramTotalMb: now.machine.ramMb,
      capacity: capacityView(now, { maxServers, available: reachable && drained === undefined }),
    };
  }

  function require(node: string): void {
    if (node !== nodeLabel) throw notFound(node);
  }

  return {
    list: async () => [await view()],
    async setDrained(node, drained, audit) {
      require(node);
      await drain.set(undefined, drained, (tx) => audit(tx, nodeLabel));
      return view();
    },
    async fence(node) {
      require(node);
      const message = `${node} is the machine that this service runs on, so it is not off. It is the only machine for games.`;
      throw new StatusError('FAILED_PRECONDITION', 'NODE_ANSWERS', message, { metadata: { node } });
    },
    async setRegion(node) {
      require(node);
      const message = `Games run only on ${node}. To change its region, set REGION and restart the service.`;
      throw new StatusError('FAILED_PRECONDITION', 'ONE_MACHINE', message, { metadata: { node } });
    },
  };
}

/** Creates the fleet of several machines. */
export function fleetOfNodes(
  { store, clock }: { store: Store; clock: { now(): number } },
  nodes: EngineNodes,
  capacity: Capacity,
  reachability: Reachability,
  drain: NodeDrain,
  maxServers: number,
): Fleet {
  async function list(): Promise<NodeView[]> {
    const reachable = await reachability.reachable();
    const now = await capacity.read();
    const rooms = new Map(capacity.rooms()?.map((room) => [room.id, room]));
    const sorted = nodes.list().toSorted((one, other) => (one.name < other.name ? -1 : 1));
    return sorted.map((node) => showNode(node, { reachable, now, room: rooms.get(node.id), drain, maxServers }));
  }

  async function viewOf({ id, name }: EngineNode): Promise<NodeView> {
    const found = (await list()).find((each) => each.id === id);
    if (found === undefined) throw notFound(name);
    return found;
  }

  /** Returns a fenced node. A node that has left the swarm is listed only while games of it wait. */
  async function viewOfFenced(node: EngineNode): Promise<NodeView> {
    if (nodes.list().some(({ id }) => id === node.id)) return viewOf(node);
    const off = { ...node, waitsSince: null, fencedAt: clock.now() };
    const now = await capacity.read();
    return showNode(off, { reachable: false, now, room: undefined, drain, maxServers });
  }

  return {
    list,
    async setDrained(name, drained, audit) {
      const node = findNode(nodes.list(), name);
      if (node.state === 'gone') throw notFound(name);
      await drain
        .set(node.id, drained, (tx) => audit(tx, node.name))
        .catch((cause: unknown) => {
          throw cause instanceof StatusError ? cause : unreachable(node.name, cause);
        });
      return viewOf(node);
    },
    async fence(name, audit) {
      const node = findNode(nodes.list(), name);
      if (node.state === 'ready') throw answers(node.name);
      if (node.fencedAt !== null) return viewOf(node);
      await store.write((tx) => audit(tx, node.name));
      const isOff = await nodes.fence(node.id).catch((cause: unknown) => {
        throw unreachable(node.name, cause);
      });
      if (!isOff) throw answers(node.name);
      return viewOfFenced(node);
    },
    async setRegion(name, region, audit) {
      const node = findNode(nodes.list(), name);
      if (node.state === 'gone') throw notFound(name);
      await store.write((tx) => audit(tx, node.name));
      await nodes.setRegion(node.id, region).catch((cause: unknown) => {
        throw unreachable(node.name, cause);
      });
      return viewOf(node);
    },
  };
}

/** Returns a node by its id, or by its name if that is unique. */
function findNode(all: readonly EngineNode[], name: string): EngineNode {
  const byId = all.find(({ id }) => id === name);
  if (byId) return byId;
  const [found, ...others] = all.filter((node) => node.name === name);
  if (found === undefined) throw notFound(name);
  if (others.length === 0) return found;
  const ids = [found, ...others].map(({ id }) => id).join(', ');
  const message = `Several nodes are called ${name}. Use the id of one instead (${ids}).`;
  throw new StatusError('FAILED_PRECONDITION', 'NODE_AMBIGUOUS', message, { metadata: { node: name } });
}

/** A node's state beyond the engine's data. */
interface Seen {
  reachable: boolean;
  now: CapacityNow;
  room: NodeRoom | undefined;
  drain: NodeDrain;
  maxServers: number;
}

function showNode(node: EngineNode, { reachable, now, room, drain, maxServers }: Seen): NodeView {
  const { id, name, address, region, trouble, waitsSince, fencedAt, drained, ramMb, cores } = node;
  const said = drained ? drain.of(id) : undefined;
  const used = room?.used ?? { servers: 0, ramMb: 0, cpus: 0 };
  const ramUsableMb = room?.ramUsableMb ?? 0;
  const ofNode = { ...now, used, ramUsableMb, ramPerServerMb: ramUsableMb, machine: { ...now.machine, cores, ramMb } };
  return {
    node: name,
    id,
    address,
    region,
    trouble,
    fencedAt,
    drained,
    state: stateOf(node),
    lostSince: waitsSince,
    reachable: reachable && node.state === 'ready',
    drainReason: said?.reason,
    drainedAt: said?.at,
    ramTotalMb: ramMb,
    capacity: capacityView(ofNode, { maxServers, available: reachable && node.takesStarts }),
  };
}

function stateOf({ state, drained, trouble, fencedAt }: EngineNode): NodeView['state'] {
  if (state !== 'ready') return fencedAt === null ? 'down' : 'fenced';
  if (drained) return 'drained';
  return trouble === '' ? 'ready' : 'closed';
}

function notFound(node: string): StatusError {
  return new StatusError('NOT_FOUND', 'NODE_NOT_FOUND', 'There is no such node.', { metadata: { node } });
}

function answers(node: string): StatusError {
  const message =
    `${node} responds, so it is not off. Nothing was changed, and its games keep running. To prevent new starts, ` +
    'drain it. To end a game there, stop its server.';
  return new StatusError('FAILED_PRECONDITION', 'NODE_ANSWERS', message, { metadata: { node } });
}

/** Returns the error for any failed change of an engine, which can be retried. */
function unreachable(node: string, cause: unknown): StatusError {
  const found = cause instanceof EngineError ? ` ${cause.message}` : '';
  const message = `The engine did not apply the change to ${node}.${found} Try again in a moment.`;
  return new StatusError('UNAVAILABLE', 'NODE_UNREACHABLE', message, {
    metadata: { node },
    retryAfterSeconds: 2,
    cause,
  });
}
