import type { EngineNodes } from '../engines/engine.ts';
import { NO_ROOM } from '../joining/refusals.ts';
import { type RefusalWords, type StatusError, quotaExceeded } from '../kernel/status.ts';
import type { Limits } from './account-limits.ts';
import type { Capacity } from './capacity.ts';
import {
  CEILINGS_A_CORE,
  type NodeRoom,
  roomFor,
  type Load,
  type Reserving,
  loadOf,
  reserves,
} from './reservations.ts';

/** Free disk space below which no server wakes: a world that cannot be saved is worse than a server that sleeps. */
const LEAST_DISK_MB = 256;

/**
 * Returns the check whether a server may wake or get an installation. It throws unless there is room for the server
 * now: RESOURCE_EXHAUSTED MAX_SERVERS or MAX_RAM for the limits of its account, NODE_CAPACITY for those of the machine
 * (`fits` in the metadata is `never` if the whole limit would be too little). An awake or starting server has its room
 * already, unless it must move from a node that accepts no starts. If no node of a region accepts starts, this check
 * passes and the drain refuses the start.
 *
 * The check is synchronous, and reads the reservations of awake servers from their actors: nothing can happen between
 * it and the event that wakes a server, and a reservation ends when its actor comes to rest.
 *
 * `nodeLabel`: the machine's name in messages to owners. `nodes` and `home` as in `createCapacity`.
 */
export function createAdmission(
  live: () => Reserving[],
  capacity: Capacity,
  limits: { of(accountId: string): Limits },
  { nodeLabel, nodes, home = '' }: { nodeLabel: string; nodes?: EngineNodes | undefined; home?: string },
): (server: Reserving) => void {
  return function admit(server) {
    if (reserves(server)) return mustMove(server) ? admitToOne(server) : undefined;
    const { id, accountId } = server.row;
    const others = live().filter(({ row }) => row.accountId === accountId && row.id !== id);
    admitToAccount(server, limits.of(accountId), loadOf(others, capacity.cpusFor));
    if (nodes === undefined) admitToNode(server);
    else admitToOne(server);
    requireDisk();
  };

  /** Reports whether the game would start on another node than the one it is on. */
  function mustMove({ row }: Reserving): boolean {
    const node = nodes?.whereIs(row.id);
    return node?.state === 'ready' && !node.takesStarts;
  }

  /** Requires one node with room for the whole server. */
  function admitToOne({ row }: Reserving): void {
    const region = row.region || home;
    const there = (capacity.rooms(row.id) ?? []).filter((room) => room.region === region);
    const open = there.filter(({ takesStarts }) => takesStarts);
    if (open.length === 0 || roomFor(open, { ramMb: row.ramMb, region }, capacity.cpusFor)) return;
    throw noneOf(region, { ramMb: row.ramMb, there, open });
  }

  function admitToNode({ row: { ramMb } }: Reserving): void {
    const { machine, ramUsableMb, used } = capacity.now();
    const cpus = capacity.cpusFor(ramMb);
    if (ramMb > ramUsableMb) throw tooLarge(nodeLabel, ramMb, ramUsableMb);
    if (used.ramMb + ramMb > ramUsableMb)
      throw full(nodeLabel, 'RAM', `${ramUsableMb - used.ramMb} MB of RAM are free`);
    if (used.cpus + cpus > machine.cores * CEILINGS_A_CORE) throw full(nodeLabel, 'CPU', 'all CPU time is reserved');
  }

  function requireDisk(): void {
    const { machine } = capacity.now();
    // An unreadable disk does not count as full.
    if (machine.diskTotalMb > 0 && machine.diskFreeMb < LEAST_DISK_MB) {
      throw full(nodeLabel, 'disk', `${machine.diskFreeMb} MB of disk are free`);
    }
  }
}

const LESS_RAM = { mend: ['member', 'settings', 'reduce it'], others: 'ask its owner to reduce it' } as const;
const STOP_ONE = {
  mend: ['owner', '/servers', 'stop another one first'],
  others: 'it can start once another one sleeps',
} as const;
const LIMIT_REACHED = "§7Asleep: §fowner's limit reached";
const TOO_MANY_AWAKE: RefusalWords = {
  player: "Too many of this owner's servers are running. Try again when one of them sleeps.",
  list: LIMIT_REACHED,
  owner: { title: 'Its account’s limit of awake servers is reached', ...STOP_ONE },
};
const RAM_IN_USE: RefusalWords = {
  player: "The owner's other servers use all the memory. Try again when one of them sleeps.",
  list: LIMIT_REACHED,
  owner: { title: 'The account’s running servers use all of its RAM', ...STOP_ONE },
};
const OVER_ITS_LIMIT: RefusalWords = {
  player: "This server's memory exceeds its owner's limit. Ask its owner to reduce it.",
  list: '§7Asleep: §fmemory over its limit',
  owner: { title: 'Its RAM exceeds the allowed limit', ...LESS_RAM },
};
const TOO_LARGE: RefusalWords = {
  player: "This server's memory exceeds what this host has. Ask its owner to reduce it.",
  list: '§7Asleep: §fneeds too much memory',
  owner: { title: 'Its RAM exceeds the available RAM', ...LESS_RAM },
};

/** Checks the account's limits. `awake`: the reservations of its other servers. */
function admitToAccount({ row }: Reserving, { maxRamMb, maxServers }: Limits, awake: Load): void {
  const { accountId, ramMb } = row;
  const subject = `account:${accountId}`;
  if (maxServers > 0 && awake.servers >= maxServers) {
    const message = `The account already has ${maxServers} servers awake, which is its limit. Stop another server first.`;
    throw quotaExceeded('MAX_SERVERS', subject, message, { limit: String(maxServers) }, TOO_MANY_AWAKE);
  }
  // Possible if the server's RAM or the limit was changed later.
  if (ramMb > maxRamMb) {
    const message =
      `The account may use ${maxRamMb} MB of RAM, and this server is set to ${ramMb} MB. Give it less, or ask the ` +
      `operator for more.`;
    const metadata = { limitMb: String(maxRamMb), neededMb: String(ramMb), fits: 'never' };
    throw quotaExceeded('MAX_RAM', subject, message, metadata, OVER_ITS_LIMIT);
  }
  if (awake.ramMb + ramMb > maxRamMb) {
    const message =
      `The account's awake servers may use ${maxRamMb} MB of RAM together; ${awake.ramMb} MB are in use and this ` +
      `server needs ${ramMb} MB. Stop another server, or give this one less.`;
    const metadata = { limitMb: String(maxRamMb), usedMb: String(awake.ramMb), neededMb: String(ramMb) };
    throw quotaExceeded('MAX_RAM', subject, message, metadata, RAM_IN_USE);
  }
}

function noneOf(
  region: string,
  { ramMb, there, open }: { ramMb: number; there: NodeRoom[]; open: NodeRoom[] },
): StatusError {
  const subject = `region:${region}`;
  const largestMb = Math.max(...there.map(({ ramUsableMb }) => ramUsableMb));
  if (ramMb > largestMb) {
    const message = `The largest machine in region ${region} has ${largestMb} MB of RAM for games, and this server needs ${ramMb} MB. Give it less.`;
    return quotaExceeded('NODE_CAPACITY', subject, message, { region, resource: 'RAM', fits: 'never' }, TOO_LARGE);
  }
  const freeMb = Math.max(...open.map(({ ramUsableMb, used }) => ramUsableMb - used.ramMb));
  const resource = ramMb > freeMb ? 'RAM' : 'CPU';
  const found =
    resource === 'RAM' ? `at most ${Math.max(0, freeMb)} MB of RAM are free on one` : 'all CPU time is reserved';
  const message = `No machine in region ${region} has room for this server now: ${found}. Try again when another server sleeps.`;
  return quotaExceeded('NODE_CAPACITY', subject, message, { region, resource }, NO_ROOM);
}

function tooLarge(nodeLabel: string, ramMb: number, ramUsableMb: number): StatusError {
  const message = `${nodeLabel} has ${ramUsableMb} MB of RAM for games, and this server needs ${ramMb} MB. Give it less.`;
  const metadata = { node: nodeLabel, resource: 'RAM', fits: 'never' };
  return quotaExceeded('NODE_CAPACITY', `node:${nodeLabel}`, message, metadata, TOO_LARGE);
}

function full(nodeLabel: string, resource: string, found: string): StatusError {
  const message = `${nodeLabel} has no room for this server: ${found}. Try again when another server sleeps.`;
  return quotaExceeded('NODE_CAPACITY', `node:${nodeLabel}`, message, { node: nodeLabel, resource }, NO_ROOM);
}
