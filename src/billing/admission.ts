import type { EngineNodes } from '../engines/engine.ts';
import { type StatusError, quotaExceeded } from '../kernel/status.ts';
import type { AccountLimits, Limits } from './account-limits.ts';
import type { Capacity } from './capacity.ts';
import { CEILINGS_A_CORE, type NodeRoom, roomFor } from './node-rooms.ts';
import { type Load, type Reserving, loadOf, reserves } from './reservations.ts';

/** Decides whether a server may wake, or have something installed. */
export interface Admission {
  /**
   * Throws unless the server may take its place now: RESOURCE_EXHAUSTED MAX_SERVERS or MAX_RAM for what its account may
   * have awake, NODE_CAPACITY for what the machine has left (`fits` of their metadata is `never` where all of it would be too
   * little). One that is awake already, or on its way, has its place; of several machines, unless its own takes no starts. Where
   * none of a region does, there is nothing to weigh here: the drain refuses that.
   *
   * Synchronous, and reads what awake servers reserve off their actors: nothing can happen between this check and the event
   * that wakes a server, and a reservation ends when its actor comes to rest.
   */
  admit(server: Reserving): void;
}

export interface AdmissionOptions {
  live: () => Reserving[];
  capacity: Pick<Capacity, 'now' | 'cpusFor' | 'rooms'>;
  limits: Pick<AccountLimits, 'of'>;
  /** How the machine is called towards owners. */
  nodeLabel: string;
  /** The region of servers that name none. */
  region?: string;
  /** The machines that games run on, where they are several. */
  nodes?: Pick<EngineNodes, 'whereIs'> | undefined;
}

/** Free disk space below which nothing wakes: a world that cannot be saved is worse than one that sleeps. */
const LEAST_DISK_MB = 256;

export function createAdmission({
  live,
  capacity,
  limits,
  nodeLabel,
  region: home = '',
  nodes,
}: AdmissionOptions): Admission {
  return {
    admit(server) {
      if (reserves(server)) return mustMove(server) ? admitToOne(server) : undefined;
      const { id, accountId } = server.row;
      const others = live().filter(({ row }) => row.accountId === accountId && row.id !== id);
      admitToAccount(server, limits.of(accountId), loadOf(others, capacity.cpusFor));
      if (nodes === undefined) admitToNode(server);
      else admitToOne(server);
      requireDisk();
    },
  };

  /** Its game would have to come up on another node than it is on. */
  function mustMove({ row }: Reserving): boolean {
    const node = nodes?.whereIs(row.id);
    return node?.state === 'ready' && !node.takesStarts;
  }

  /** Among several nodes it needs one with room for all of it. */
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
    if (used.cpus + cpus > machine.cores * CEILINGS_A_CORE) throw full(nodeLabel, 'CPU', 'all CPU time is promised');
  }

  function requireDisk(): void {
    const { machine } = capacity.now();
    // A disk that could not be read does not count as full.
    if (machine.diskTotalMb > 0 && machine.diskFreeMb < LEAST_DISK_MB) {
      throw full(nodeLabel, 'disk', `${machine.diskFreeMb} MB of disk are free`);
    }
  }
}

/** `awake`: what the account's other servers reserve. */
function admitToAccount({ row }: Reserving, { maxRamMb, maxServers }: Limits, awake: Load): void {
  const { accountId, ramMb } = row;
  const subject = `account:${accountId}`;
  if (maxServers > 0 && awake.servers >= maxServers) {
    const message = `The account may have ${maxServers} servers, and so many are awake.`;
    throw quotaExceeded('MAX_SERVERS', subject, message, { limit: String(maxServers) });
  }
  // Its RAM was changed, or the limit lowered, after it was made.
  if (ramMb > maxRamMb) {
    const message =
      `The account may use ${maxRamMb} MB of RAM, and this server is set to ${ramMb} MB. Give it less, or ask the ` +
      `operator for more.`;
    const metadata = { limitMb: String(maxRamMb), neededMb: String(ramMb), fits: 'never' };
    throw quotaExceeded('MAX_RAM', subject, message, metadata);
  }
  if (awake.ramMb + ramMb > maxRamMb) {
    const message =
      `The account's awake servers may use ${maxRamMb} MB of RAM together; ${awake.ramMb} MB are in use and this ` +
      `server needs ${ramMb} MB. Stop another server, or give this one less.`;
    const metadata = { limitMb: String(maxRamMb), usedMb: String(awake.ramMb), neededMb: String(ramMb) };
    throw quotaExceeded('MAX_RAM', subject, message, metadata);
  }
}

function noneOf(
  region: string,
  { ramMb, there, open }: { ramMb: number; there: NodeRoom[]; open: NodeRoom[] },
): StatusError {
  const subject = `region:${region}`;
  const largestMb = Math.max(...there.map(({ ramUsableMb }) => ramUsableMb));
  if (ramMb > largestMb) {
    const message = `The largest machine of region ${region} has ${largestMb} MB of RAM for games, and this server needs ${ramMb} MB. Give it less.`;
    return quotaExceeded('NODE_CAPACITY', subject, message, { region, resource: 'RAM', fits: 'never' });
  }
  const freeMb = Math.max(...open.map(({ ramUsableMb, used }) => ramUsableMb - used.ramMb));
  const resource = ramMb > freeMb ? 'RAM' : 'CPU';
  const found =
    resource === 'RAM' ? `at most ${Math.max(0, freeMb)} MB of RAM are free on one` : 'all CPU time is promised';
  const message = `No machine of region ${region} has room for this server now: ${found}. Try again when another server sleeps.`;
  return quotaExceeded('NODE_CAPACITY', subject, message, { region, resource });
}

function tooLarge(nodeLabel: string, ramMb: number, ramUsableMb: number): StatusError {
  const message = `${nodeLabel} has ${ramUsableMb} MB of RAM for games, and this server needs ${ramMb} MB. Give it less.`;
  return quotaExceeded('NODE_CAPACITY', `node:${nodeLabel}`, message, {
    node: nodeLabel,
    resource: 'RAM',
    fits: 'never',
  });
}

function full(nodeLabel: string, resource: string, found: string): StatusError {
  const message = `${nodeLabel} has no room for this server: ${found}. Try again when another server sleeps.`;
  return quotaExceeded('NODE_CAPACITY', `node:${nodeLabel}`, message, { node: nodeLabel, resource });
}
