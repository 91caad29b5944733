import type { Clock } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import type { Machine, MachineProbe } from './machine.ts';
import { type Load, type Reserving, loadOf } from './reservations.ts';

/** How much CPU time a server of at most `ramMb` may use at once, in cores. */
export interface CpuTier {
  ramMb: number;
  cpus: number;
}

/** What the machine has for games, and how much of it awake servers have reserved. */
export interface CapacityNow {
  machine: Machine;
  /** RAM for games: the rest is for the system and the service itself. */
  ramUsableMb: number;
  used: Load;
  /** The table by which a server's RAM decides its CPU time, smallest first; its last line holds for all above. */
  cpuTiers: CpuTier[];
  /** The most that one server gets. */
  cpusPerServer: number;
}

/** What the machine can still take. */
export interface Capacity {
  /** By the newest probe; at once, so that nothing can happen between asking and acting. */
  now(): CapacityNow;
  /** The same, probed anew where the last probe is no longer fresh. */
  read(): Promise<CapacityNow>;
  /** CPU time of a server, in cores. */
  cpusFor(ramMb: number): number;
  close(): void;
}

export interface CapacityOptions {
  probe: MachineProbe;
  live: () => Reserving[];
  clock: Clock;
}

// A game server's main loop is one thread; more memory means more chunks and players, hence more work beside it.
const TIERS: readonly CpuTier[] = [
  { ramMb: 2_048, cpus: 1 },
  { ramMb: 4_096, cpus: 2 },
  { ramMb: 6_144, cpus: 3 },
  { ramMb: 8_192, cpus: 4 },
];
/** Left to the system and the service: an eighth of the RAM, at most this much. */
const KEPT_RAM_MB = 512;
const PROBE_MS = 15_000;

/** Probes the machine, and goes on doing so every quarter of a minute: disks fill up. */
export async function createCapacity({ probe, live, clock }: CapacityOptions): Promise<Capacity> {
  let machine = await probe();
  let probedAt = clock.now();
  const cancel = every(clock, PROBE_MS, () => void refresh());

  async function refresh(): Promise<void> {
    machine = await probe();
    probedAt = clock.now();
  }

  function cpusFor(ramMb: number): number {
    const tier = TIERS.find((each) => ramMb <= each.ramMb) ?? TIERS.at(-1);
    return Math.min(tier?.cpus ?? 1, machine.cores);
  }

  function now(): CapacityNow {
    const cpuTiers = TIERS.map(({ ramMb }) => ({ ramMb, cpus: cpusFor(ramMb) }));
    return {
      machine,
      ramUsableMb: machine.ramMb - Math.min(KEPT_RAM_MB, Math.floor(machine.ramMb / 8)),
      used: loadOf(live(), cpusFor),
      cpuTiers,
      cpusPerServer: Math.max(...cpuTiers.map(({ cpus }) => cpus)),
    };
  }

  return {
    now,
    cpusFor,
    async read() {
      if (clock.now() - probedAt >= PROBE_MS) await refresh();
      return now();
    },
    close: cancel,
  };
}
