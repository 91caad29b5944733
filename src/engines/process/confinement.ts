import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from './find-program.ts';
import type { FileOwner } from '../../kernel/atomic-file.ts';
import type { GameSpec } from '../engine.ts';
import { type Bubblewrap, pathsOf } from './bubblewrap.ts';
import type { Command } from './spawn-game.ts';

/**
 * How games are confined. Without both parts, games run as the service's own user and can read everything that it can.
 */
export interface Confinement {
  /** The user that games run as. Requires root. */
  user?: FileOwner | undefined;
  bubblewrap?: Bubblewrap | undefined;
}

/** The paths that a core needs besides its server's folder. */
export interface Needs {
  /** Search path of programs, as in PATH. */
  searchPath: string;
  /** Code of the sandbox core. */
  sandboxPaths: readonly string[];
  /** Directory or file of the cores. */
  coreFiles: string;
  /** Directory for compiled code of the sandbox core; undefined: no cache. */
  cacheDir: string | undefined;
}

/** Returns the command with its confinement. */
export async function confine(plain: Command, spec: GameSpec, by: Confinement, needs: Needs): Promise<Command> {
  const { user, bubblewrap } = by;
  const isSandbox = spec.core === 'sandbox';
  // Java cannot find the home of a user without a name.
  const homeless = user && !isSandbox ? [`-Duser.home=${spec.dataDir}`] : [];
  const command = { ...plain, args: [...homeless, ...plain.args] };
  if (!bubblewrap) return { ...command, user };
  // Use the real path, because links to the program may not be visible inside.
  const file = (await findProgram(command.file, needs.searchPath)) ?? command.file;
  const view = {
    home: spec.dataDir,
    readable: [...(await pathsOf(file)), ...(isSandbox ? needs.sandboxPaths : [needs.coreFiles])],
    writable: isSandbox && needs.cacheDir !== undefined ? [needs.cacheDir] : [],
  };
  return await bubblewrap.wrap({ ...command, file }, view);
}

/**
 * Creates the directory for compiled code of the sandbox core and returns its path. Returns undefined for other cores,
 * and if uploaded code of the same user could write code there that every sandbox would run.
 */
export async function compileCache(
  core: string,
  runDir: string,
  { user, bubblewrap }: Confinement,
): Promise<string | undefined> {
  if (core !== 'sandbox') return undefined;
  if (user && !bubblewrap) return undefined;
  const dir = join(runDir, user ? 'game-compile-cache' : 'compile-cache');
  await mkdir(dir, { recursive: true, mode: 0o700 });
  if (user) await chown(dir, user.uid, user.gid);
  return dir;
}
