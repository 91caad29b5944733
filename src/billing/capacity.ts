import { statfs } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import type { EngineNodes } from '../engines/engine.ts';
import { NO_REGION } from '../engines/regions.ts';
import type { Clock } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import { MIB } from '../kernel/units.ts';
import { type NodeRoom, nodeRooms, usableRamMb, type Load, type Reserving, loadOf } from './reservations.ts';

/** The machine's capacity for games. */
export interface Machine {
  cores: number;
  ramMb: number;
  /** For the file system that holds the servers; both 0 if it cannot be read. */
  diskFreeMb: number;
  diskTotalMb: number;
}

/** Measures the machine. Never rejects. */
export type MachineProbe = () => Promise<Machine>;

/** The CPU time that a server of at most `ramMb` may use, in cores. */
interface CpuTier {
  ramMb: number;
  cpus: number;
}

/** The capacity for games, of one machine or several together, and the reservations of awake servers. */
export interface CapacityNow {
  machine: Machine;
  /** RAM for games, without that of the system and the service. */
  ramUsableMb: number;
  /** The most RAM for one server: a game runs on one machine. */
  ramPerServerMb: number;
  used: Load;
  /** CPU time by RAM, smallest first. The last row applies to all larger servers. */
  cpuTiers: CpuTier[];
  /** The most CPU time of one server. */
  cpusPerServer: number;
}

export type Capacity = Awaited<ReturnType<typeof createCapacity>>;

// A game's main loop is one thread. More memory means more chunks and players, and thus more work besides it.
const TIERS: readonly CpuTier[] = [
  { ramMb: 2_048, cpus: 1 },
  { ramMb: 4_096, cpus: 2 },
  { ramMb: 6_144, cpus: 3 },
  { ramMb: 8_192, cpus: 4 },
];
const PROBE_MS = 15_000;

/**
 * The remaining capacity. With several machines: those of a region, or all. Probes this machine now and every 15 s,
 * because disks fill up. `nodes`: the machines that games run on, if there are several. `home`: the region of servers
 * without one.
 */
export async function createCapacity(
  clock: Clock,
  probe: MachineProbe,
  live: () => Reserving[],
  nodes?: EngineNodes,
  home = '',
) {
  let machine = await probe();
  let probedAt = clock.now();
  const cancel = every(clock, PROBE_MS, () => void refresh());

  async function refresh(): Promise<void> {
    machine = await probe();
    probedAt = clock.now();
  }

  /** CPU time of a server, in cores. Limited to the smallest machine, because it may wake on any of them. */
  function cpusFor(ramMb: number, region?: string): number {
    const tier = TIERS.find((each) => ramMb <= each.ramMb) ?? TIERS.at(-1);
    return Math.min(tier?.cpus ?? 1, leastCores(region));
  }

  function leastCores(region: string | undefined): number {
    const cores = (nodes?.list() ?? [])
      .filter((node) => isIn(region, node) && node.cores > 0)
      .map((node) => node.cores);
    return cores.length > 0 ? Math.min(...cores) : machine.cores;
  }

  /**
   * Each machine's capacity without the reservation of the given server; undefined if games run only on this machine.
   */
  function rooms(exceptId?: string): NodeRoom[] | undefined {
    if (nodes === undefined) return undefined;
    const others = live().filter(({ row }) => row.id !== exceptId);
    return nodeRooms(nodes, { live: others, region: home, cpusFor });
  }

  /** Returns the capacity by the last probe. Synchronous, so that nothing can happen between check and action. */
  function now(region?: string): CapacityNow {
    const cpuTiers = TIERS.map(({ ramMb }) => ({ ramMb, cpus: cpusFor(ramMb, region) }));
    const reserving = live().filter(({ row }) => region === undefined || (row.region || home) === region);
    return {
      ...wholeOf(rooms()?.filter((room) => isIn(region, room))),
      used: loadOf(reserving, cpusFor),
      cpuTiers,
      cpusPerServer: Math.max(...cpuTiers.map(({ cpus }) => cpus)),
    };
  }

  /** Only the used part of a drained machine counts: the rest is unavailable. */
  function wholeOf(among: NodeRoom[] | undefined) {
    if (among === undefined) {
      const ramUsableMb = usableRamMb(machine.ramMb);
      return { machine, ramUsableMb, ramPerServerMb: ramUsableMb };
    }
    const sum = (of: (room: NodeRoom) => number) => among.reduce((total, room) => total + of(room), 0);
    const ramUsableMb = sum(({ takesStarts, used, ...room }) => (takesStarts ? room.ramUsableMb : used.ramMb));
    const cores = sum(({ takesStarts, used, ...room }) => (takesStarts ? room.cores : used.cpus));
    return {
      machine: { ...machine, cores, ramMb: ramUsableMb },
      ramUsableMb,
      ramPerServerMb: Math.max(0, ...among.map((room) => room.ramUsableMb)),
    };
  }

  return {
    now,
    cpusFor,
    rooms,
    /** Returns the capacity, with a new probe if the last one is too old. */
    async read(region?: string): Promise<CapacityNow> {
      if (Math.abs(clock.now() - probedAt) >= PROBE_MS) await refresh();
      return now(region);
    },
    close: cancel,
  };
}

/** Reports whether a node is in the region, or, without one, in any region. */
function isIn(region: string | undefined, node: { region: string }): boolean {
  return region === undefined ? node.region !== NO_REGION : node.region === region;
}

/**
 * Creates a probe of this machine: its hardware, the limits of the control group, and the disk under `dataDir`.
 * `ownLimits`: games run within this process's limits, as its child processes. Containers do not: for them, the whole
 * machine counts, even if this process is limited.
 */
export function createMachineProbe(dataDir: string, ownLimits: boolean): MachineProbe {
  return async function probeMachine() {
    return { cores: cores(ownLimits), ramMb: ramMb(ownLimits), ...(await disk(dataDir)) };
  };
}

/** Returns the number of cores available to this process, at most the whole cores granted by its control group. */
function cores(ownLimits: boolean): number {
  return ownLimits ? availableParallelism() : cpus().length || availableParallelism();
}

function ramMb(ownLimits: boolean): number {
  const whole = totalmem();
  // Without a limit, this is 0 or more than the machine has.
  const limit = ownLimits ? process.constrainedMemory() : 0;
  return Math.floor((limit > 0 ? Math.min(limit, whole) : whole) / MIB);
}

async function disk(dataDir: string): Promise<{ diskFreeMb: number; diskTotalMb: number }> {
  try {
    const { bsize, blocks, bavail } = await statfs(dataDir);
    return { diskFreeMb: Math.floor((bavail * bsize) / MIB), diskTotalMb: Math.floor((blocks * bsize) / MIB) };
  } catch {
    return { diskFreeMb: 0, diskTotalMb: 0 };
  }
}
