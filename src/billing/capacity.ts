import type { EngineNodes } from '../engines/engine.ts';
import { NO_REGION } from '../engines/regions.ts';
import type { Clock } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import type { Machine, MachineProbe } from './machine.ts';
import { type NodeRoom, nodeRooms, usableRamMb } from './node-rooms.ts';
import { type Load, type Reserving, loadOf } from './reservations.ts';

/** How much CPU time a server of at most `ramMb` may use at once, in cores. */
export interface CpuTier {
  ramMb: number;
  cpus: number;
}

/** The capacity for games, of one machine or several together, and how much awake servers have reserved. */
export interface CapacityNow {
  machine: Machine;
  /** RAM for games: the rest is for the system and the service itself. */
  ramUsableMb: number;
  /** The most that one server can have: a game is on one machine. */
  ramPerServerMb: number;
  used: Load;
  /** The table by which a server's RAM decides its CPU time, smallest first; its last line holds for all above. */
  cpuTiers: CpuTier[];
  /** The most that one server gets. */
  cpusPerServer: number;
}

/** The remaining capacity. Of several machines, those of a region if one is named, otherwise all. */
export interface Capacity {
  /** Returns the capacity by the newest probe, synchronously, so that nothing can happen between asking and acting. */
  now(region?: string): CapacityNow;
  /** Probes anew where the last probe is no longer fresh. */
  read(region?: string): Promise<CapacityNow>;
  /** CPU time of a server, in cores. Of several machines it gets no more than the smallest has: it may wake on each. */
  cpusFor(ramMb: number, region?: string): number;
  /** Each machine, as if the server of that id reserved nothing; undefined where games run on this one alone. */
  rooms(exceptId?: string): NodeRoom[] | undefined;
  close(): void;
}

export interface CapacityOptions {
  probe: MachineProbe;
  live: () => Reserving[];
  /** The machines that games run on, where they are several. */
  nodes?: Pick<EngineNodes, 'list' | 'whereIs'> | undefined;
  /** The region of servers that name none. */
  region?: string;
  clock: Clock;
}

// A game server's main loop is one thread; more memory means more chunks and players, hence more work beside it.
const TIERS: readonly CpuTier[] = [
  { ramMb: 2_048, cpus: 1 },
  { ramMb: 4_096, cpus: 2 },
  { ramMb: 6_144, cpus: 3 },
  { ramMb: 8_192, cpus: 4 },
];
const PROBE_MS = 15_000;

/** Probes the machine, and goes on doing so every quarter of a minute: disks fill up. */
export async function createCapacity({
  probe,
  live,
  nodes,
  region: home = '',
  clock,
}: CapacityOptions): Promise<Capacity> {
  let machine = await probe();
  let probedAt = clock.now();
  const cancel = every(clock, PROBE_MS, () => void refresh());

  async function refresh(): Promise<void> {
    machine = await probe();
    probedAt = clock.now();
  }

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

  function rooms(exceptId?: string): NodeRoom[] | undefined {
    if (nodes === undefined) return undefined;
    const others = live().filter(({ row }) => row.id !== exceptId);
    return nodeRooms(nodes, { live: others, region: home, cpusFor });
  }

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

  /** Only the used part of a drained machine counts: the rest cannot be had. */
  function wholeOf(among?: NodeRoom[]): Pick<CapacityNow, 'machine' | 'ramUsableMb' | 'ramPerServerMb'> {
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
    async read(region) {
      if (Math.abs(clock.now() - probedAt) >= PROBE_MS) await refresh();
      return now(region);
    },
    close: cancel,
  };
}

/** Whether a node is one of a region; of any, where none is named. */
function isIn(region: string | undefined, node: { region: string }): boolean {
  return region === undefined ? node.region !== NO_REGION : node.region === region;
}
