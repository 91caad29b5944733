import { statfs } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { MIB } from '../kernel/units.ts';

export interface MachineProbeOptions {
  dataDir: string;
  /**
   * Whether games run within this process's limits, as its child processes. Containers do not: for them, the whole
   * machine counts, even if this process is limited.
   */
  ownLimits: boolean;
}

/** Creates a probe of this machine: its hardware, the limits of the control group, and the disk under `dataDir`. */
export function createMachineProbe({ dataDir, ownLimits }: MachineProbeOptions): MachineProbe {
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

async function disk(dataDir: string): Promise<Pick<Machine, 'diskFreeMb' | 'diskTotalMb'>> {
  try {
    const { bsize, blocks, bavail } = await statfs(dataDir);
    return { diskFreeMb: Math.floor((bavail * bsize) / MIB), diskTotalMb: Math.floor((blocks * bsize) / MIB) };
  } catch {
    return { diskFreeMb: 0, diskTotalMb: 0 };
  }
}

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
