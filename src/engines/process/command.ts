import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type FileOwner, writeAtomic } from '../../kernel/atomic-file.ts';
import { MIB } from '../../kernel/units.ts';
import { EngineError, type GameSpec, type Preparation } from '../engine.ts';
import { heapMb } from '../java-heap.ts';
import { ownFlags, presetFlags } from '../jvm-options.ts';
import { type JavaPrograms, prepareLaunch } from './prepare-launch.ts';
import type { Command } from './spawn-game.ts';

/** The programs of cores. */
export interface Programs extends JavaPrograms {
  /** Main file of the sandbox core, which runs on this Node. */
  sandboxEntry: string;
}

/** The ports of one run. */
export interface GamePorts {
  gamePort: number;
  rconPort: number;
  managementPort: number;
}

const MAX_PROPERTIES_BYTES = MIB;

/**
 * Returns the command line of a server's core. The sandbox runs on this Node, other cores on a suitable Java. The
 * runtime's own flag limits the heap and leaves room for other memory. It follows the owner's options, so that it
 * overrides them. Rejects like `prepareLaunch`.
 */
export async function commandFor(
  spec: GameSpec,
  programs: Programs,
  signal: AbortSignal,
  progress: (progress: Preparation) => void = () => {},
): Promise<Command> {
  if (spec.core === 'sandbox') {
    const nodeHeapMb = Math.max(64, Math.floor(spec.ramMb * 0.75));
    return { file: process.execPath, args: [`--max-old-space-size=${nodeHeapMb}`, programs.sandboxEntry] };
  }
  const heap = heapMb(spec.ramMb);
  const { java, launch, build } = await prepareLaunch(spec, programs, { signal, progress });
  const own = [`-Xms${Math.floor(heap / 4)}M`, `-Xmx${heap}M`, '-XX:+ExitOnOutOfMemoryError'];
  const { preset = 'default', options = '' } = spec.jvm ?? {};
  const flags = presetFlags(preset, java.major);
  // Quick starts are made for games, with a EULA and a world.
  const quickStarts = spec.isProxy ? undefined : programs.quickStarts;
  const main = (await quickStarts?.quicken({ spec, java, flags, main: launch.main })) ?? launch.main;
  const args = [...launch.first, ...flags, ...ownFlags(options), ...own, ...main, ...(spec.isProxy ? [] : ['nogui'])];
  return { file: java.file, args, build };
}

/**
 * Writes a run's ports to `server.properties`, the only place from which Java cores read them. The lines are appended,
 * because later lines override earlier ones (java.util.Properties.load). An empty line precedes them, in case the last
 * line ends in a backslash. At its start the core rewrites the file without the overridden lines. `owner` owns the file
 * afterwards.
 */
export async function writePorts(
  dataDir: string,
  { gamePort, rconPort, managementPort }: GamePorts,
  owner?: FileOwner,
): Promise<void> {
  const path = join(dataDir, 'server.properties');
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw notPlain(error);
    },
  );
  let text = '';
  if (file) {
    await using open = file;
    const stat = await open.stat();
    if (!stat.isFile() || stat.size > MAX_PROPERTIES_BYTES) throw notPlain();
    text = await open.readFile('utf8');
  }
  const lines = [
    'server-ip=127.0.0.1',
    `server-port=${gamePort}`,
    `rcon.port=${rconPort}`,
    'management-server-host=127.0.0.1',
    `management-server-port=${managementPort}`,
  ];
  await writeAtomic(path, `${text}\n\n${lines.join('\n')}\n`, { owner });
}

function notPlain(cause?: unknown): EngineError {
  return new EngineError('unknown', 'server.properties is not a regular file.', {
    suggestion: 'Delete it in the file manager, then start again.',
    cause,
  });
}
