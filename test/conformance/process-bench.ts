import { chown, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { pino } from 'pino';
import { openBubblewrap } from '../../src/engines/process/bubblewrap.ts';
import { createLog } from '../../src/kernel/log.ts';
import type { Confinement } from '../../src/engines/process/confinement.ts';
import { gameUser } from '../../src/engines/process/game-user.ts';
import { createProcessEngine } from '../../src/engines/process/process.ts';
import { behaviourEnv } from './docker-bench.ts';
import type { Bench } from './engine.ts';
import { gameSpec } from './game-spec.ts';

/** A bench of child processes in a directory of its own. */
export interface ProcessBench extends Bench {
  /** Holds `run` (run files and logs) and `data` (data roots). */
  dir: string;
}

/** Creates a bench with confined games. They run as a separate user if this process may change users. */
export async function confinedBench(t: ExecutionContext): Promise<ProcessBench> {
  const user = process.getuid?.() === 0 ? await gameUser(4711) : undefined;
  return await processBench(t, { user, bubblewrap: await openBubblewrap(user, createLog({ level: 'silent' })) });
}

export async function processBench(t: ExecutionContext, confinement: Confinement = {}): Promise<ProcessBench> {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-process-'));
  const runDir = join(dir, 'run');
  const make = () =>
    createProcessEngine({
      runDir,
      log: pino({ level: 'silent' }),
      sandboxEntry: join(import.meta.dirname, 'scripted-game.ts'),
      confinement,
    });
  const engine = make();
  t.teardown(async () => {
    for (const { serverId } of await engine.list()) await engine.erase(serverId);
    await rm(dir, { recursive: true });
  });
  for (const id of ['alpha', 'beta']) {
    await mkdir(join(dir, 'data', id), { recursive: true });
    const { user } = confinement;
    if (user) await chown(join(dir, 'data', id), user.uid, user.gid);
  }
  return {
    engine,
    dir,
    again: make,
    spec: (serverId, behaviour = {}) =>
      gameSpec(serverId, { image: '', dataDir: join(dir, 'data', serverId), env: behaviourEnv(behaviour), ramMb: 256 }),
    traces: async (serverId) => (await readdir(runDir).catch(() => [])).filter((name) => name.includes(serverId)),
    enforcesMemory: false,
    listens: true,
    echoesUdp: true,
    keepsApart: false,
  };
}
