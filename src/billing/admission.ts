import { type StatusError, quotaExceeded } from '../kernel/status.ts';
import type { AccountLimits } from './account-limits.ts';
import type { Capacity } from './capacity.ts';
import { type Reserving, loadOf, reserves } from './reservations.ts';

/** Decides whether a server may wake, or have something installed. */
export interface Admission {
  /**
   * Throws unless the server may take its place now: RESOURCE_EXHAUSTED MAX_SERVERS or MAX_RAM for what its account may
   * have awake, NODE_CAPACITY for what the machine has left (`fits` of their metadata is `never` where all of it would be too
   * little). One that is awake already, or on its way, has its place.
   *
   * Synchronous, and reads what awake servers reserve off their actors: nothing can happen between this check and the event
   * that wakes a server, and a reservation ends when its actor comes to rest.
   */
  admit(server: Reserving): void;
}

export interface AdmissionOptions {
  live: () => Reserving[];
  capacity: Pick<Capacity, 'now' | 'cpusFor'>;
  limits: Pick<AccountLimits, 'of'>;
  /** How the machine is called towards owners. */
  nodeLabel: string;
}

/** How often a core is promised: a server's CPU time is a ceiling that it seldom touches. */
const CEILINGS_A_CORE = 4;
/** Free disk space below which nothing wakes: a world that cannot be saved is worse than one that sleeps. */
const LEAST_DISK_MB = 256;

export function createAdmission({ live, capacity, limits, nodeLabel }: AdmissionOptions): Admission {
  return {
    admit(server) {
      if (reserves(server)) return;
      const others = live().filter(({ row }) => row.id !== server.row.id);
      admitToAccount(server, others);
      admitToNode(server);
    },
  };

  function admitToAccount({ row }: Reserving, others: Reserving[]): void {
    const { accountId, ramMb } = row;
    const { maxRamMb, maxServers } = limits.of(accountId);
    const awake = loadOf(
      others.filter((other) => other.row.accountId === accountId),
      capacity.cpusFor,
    );
    const subject = `account:${accountId}`;
    if (maxServers > 0 && awake.servers >= maxServers) {
      throw quotaExceeded(
        'MAX_SERVERS',
        subject,
        `The account may have ${maxServers} servers, and so many are awake.`,
        {
          limit: String(maxServers),
        },
      );
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

  function admitToNode({ row: { ramMb } }: Reserving): void {
    const { machine, ramUsableMb, used } = capacity.now();
    const cpus = capacity.cpusFor(ramMb);
    if (ramMb > ramUsableMb) throw tooLarge(ramMb, ramUsableMb);
    if (used.ramMb + ramMb > ramUsableMb) throw full('RAM', `${ramUsableMb - used.ramMb} MB of RAM are free`);
    if (used.cpus + cpus > machine.cores * CEILINGS_A_CORE) throw full('CPU', 'all CPU time is promised');
    // A disk that could not be read does not count as full.
    if (machine.diskTotalMb > 0 && machine.diskFreeMb < LEAST_DISK_MB) {
      throw full('disk', `${machine.diskFreeMb} MB of disk are free`);
    }
  }

  function tooLarge(ramMb: number, ramUsableMb: number): StatusError {
    const message = `${nodeLabel} has ${ramUsableMb} MB of RAM for games, and this server needs ${ramMb} MB. Give it less.`;
    return quotaExceeded('NODE_CAPACITY', `node:${nodeLabel}`, message, {
      node: nodeLabel,
      resource: 'RAM',
      fits: 'never',
    });
  }

  function full(resource: string, found: string): StatusError {
    const message = `${nodeLabel} has no room for this server now: ${found}. Try again when another server sleeps.`;
    return quotaExceeded('NODE_CAPACITY', `node:${nodeLabel}`, message, { node: nodeLabel, resource });
  }
}
