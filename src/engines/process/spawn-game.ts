import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import type { FileOwner } from '../../kernel/atomic-file.ts';
import { EngineError } from '../engine.ts';

/** A command that runs a specification. */
export interface Command {
  file: string;
  args: string[];
  /** The user it runs as; undefined: this process's own. */
  user?: FileOwner | undefined;
  /** The build of the core; absent if it is not known. */
  build?: string | undefined;
}

export interface SpawnOptions {
  cwd: string;
  /** Its whole environment. */
  env: Record<string, string>;
  /** Its standard input; empty unless given. */
  input: FileHandle | undefined;
  /** Its output. */
  output: FileHandle;
}

/**
 * Starts the program of a game as the leader of its own session. Resolves in the turn in which it has started the
 * program. Rejects with EngineError `core_unavailable`.
 */
export async function spawnGame(
  command: Command,
  { cwd, env, input, output }: SpawnOptions,
): Promise<ChildProcess & { pid: number }> {
  const child = spawn(command.file, command.args, {
    cwd,
    env,
    detached: true,
    ...command.user,
    stdio: [input?.fd ?? 'ignore', output.fd, output.fd],
  });
  if (child.pid !== undefined) return child as ChildProcess & { pid: number };
  throw new EngineError('core_unavailable', 'The program of the server could not be started.', {
    cause: await once(child, 'error').then(([error]: unknown[]) => error),
  });
}
