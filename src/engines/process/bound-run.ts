import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Confinement } from './confinement.ts';
import type { Command } from './spawn-game.ts';

/** Time limits of a run, in ms. */
export interface RunLimits {
  /** Then the run is asked to stop. */
  limitMs: number;
  /** From that request until the run is killed. */
  stopMs: number;
}

/** Returns the beginning of a command. It limits the time of the rest, and passes signals on to all its processes. */
export function limitedRun({ limitMs, stopMs }: RunLimits): string[] {
  return ['timeout', '-k', String(stopMs / 1_000), String(limitMs / 1_000)];
}

/**
 * Returns a confined command that ends with this process, even if that is killed: bubblewrap kills it, otherwise it is
 * asked to stop. Returns the same command on systems that offer neither.
 */
export async function boundRun(command: Command, { bubblewrap }: Confinement, searchPath: string): Promise<Command> {
  const { file, args } = command;
  if (bubblewrap) return { ...command, args: ['--die-with-parent', ...args] };
  const prefix = ['--pdeathsig', 'TERM'];
  // Alpine's setpriv does not have this option.
  const isPossible = await promisify(execFile)('setpriv', [...prefix, 'true'], { env: { PATH: searchPath } }).then(
    () => true,
    () => false,
  );
  return isPossible ? { ...command, file: 'setpriv', args: [...prefix, file, ...args] } : command;
}
