import type { Cause, ServerState } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import type { EngineNode, EngineNodes } from '../engines/engine.ts';

/** The part of a server that decides its reservation. */
export interface Reserving {
  row: { id: string; accountId: string; ramMb: number; region?: string };
  state: ServerState;
  context: { queued: Cause | null; wokenAt: number | null };
}

/** The total reservations of servers. */
export interface Load {
  servers: number;
  ramMb: number;
  /** In cores. */
  cpus: number;
}

/**
 * Reports whether a server reserves RAM and CPU: from the command that wakes it or queues its start until all its parts
 * have ended. After a failure, that includes the removal of parts that may hang.
 */
export function reserves({ state, context }: Reserving): boolean {
  return isTagged(state, 'holds-place') || context.queued !== null || context.wokenAt !== null;
}

/** CPU time of a server, in cores. */
type CpusFor = (ramMb: number, region?: string) => number;

/** Returns the total reservations. Servers at rest have none. */
export function loadOf(servers: readonly Reserving[], cpusFor: CpusFor): Load {
  const load: Load = { servers: 0, ramMb: 0, cpus: 0 };
  for (const server of servers)
    if (reserves(server)) reserve(load, server, cpusFor(server.row.ramMb, server.row.region));
  return load;
}

function reserve(load: Load, { row: { ramMb } }: Reserving, cpus: number): void {
  load.servers += 1;
  load.ramMb += ramMb;
  load.cpus += cpus;
}

/** Servers' CPU time that is reserved per core. It is a ceiling that servers rarely reach. */
export const CEILINGS_A_CORE = 4;
/** Reserved for the system and the service: an eighth of the RAM, at most this much. */
const KEPT_RAM_MB = 512;

/** Returns the RAM of a machine that games may use. */
export function usableRamMb(ramMb: number): number {
  return ramMb - Math.min(KEPT_RAM_MB, Math.floor(ramMb / 8));
}

/** The capacity of one of several machines that games run on. */
export interface NodeRoom {
  id: string;
  name: string;
  region: string;
  takesStarts: boolean;
  cores: number;
  ramUsableMb: number;
  used: Load;
}

/**
 * Returns each node's capacity and the servers' reservations on it. A server counts on its game's node, even while that
 * is unresponsive and may still run it. A game without a node yet counts where the scheduler, which spreads games, is
 * likely to put it. The scheduler ignores the RAM reserved for the system: the last game on a full node may use some of
 * it.
 */
export function nodeRooms(
  nodes: EngineNodes,
  { live, region, cpusFor }: { live: readonly Reserving[]; region: string; cpusFor: CpusFor },
): NodeRoom[] {
  const rooms = new Map(nodes.list().map((node) => [node.id, emptyRoom(node)]));
  const unplaced: Reserving[] = [];
  for (const server of live) {
    if (!reserves(server)) continue;
    const node = nodes.whereIs(server.row.id);
    const room = node && (node.state === 'ready' || node.waitsSince !== null) ? rooms.get(node.id) : undefined;
    if (room) reserve(room.used, server, cpusFor(server.row.ramMb, room.region));
    else unplaced.push(server);
  }
  for (const server of unplaced) {
    const wanted = { ramMb: server.row.ramMb, region: server.row.region || region };
    const room = roomFor([...rooms.values()], wanted, cpusFor);
    if (room) reserve(room.used, server, cpusFor(server.row.ramMb, room.region));
  }
  return [...rooms.values()];
}

/**
 * Returns the node on which a game is likely to start: of the nodes in its region with room for all of it, the one with
 * the fewest games.
 */
export function roomFor(
  rooms: readonly NodeRoom[],
  { ramMb, region }: { ramMb: number; region: string },
  cpusFor: CpusFor,
): NodeRoom | undefined {
  const cpus = cpusFor(ramMb, region);
  return rooms
    .filter((room) => room.takesStarts && room.region === region)
    .filter(({ used, ramUsableMb }) => used.ramMb + ramMb <= ramUsableMb)
    .filter(({ used, cores }) => used.cpus + cpus <= cores * CEILINGS_A_CORE)
    .toSorted((one, other) => one.used.servers - other.used.servers)[0];
}

function emptyRoom({ id, name, region, takesStarts, cores, ramMb }: EngineNode): NodeRoom {
  const used = { servers: 0, ramMb: 0, cpus: 0 };
  return { id, name, region, takesStarts, cores, ramUsableMb: usableRamMb(ramMb), used };
}
