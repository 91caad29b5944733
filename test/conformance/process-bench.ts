import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createProcessEngine } from '../../src/adapters/process.ts';
import { behaviourEnv } from './docker-bench.ts';
import type { Bench } from './engine.ts';

/** A bench of child processes in a directory of its own. */
export interface ProcessBench extends Bench {
  /** Holds `run` (run files and logs) and `data` (data roots). */
  dir: string;
}

export async function processBench(t: ExecutionContext): Promise<ProcessBench> {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-process-'));
  const runDir = join(dir, 'run');
  const make = () =>
    createProcessEngine({
      runDir,
      log: pino({ level: 'silent' }),
      sandboxEntry: join(import.meta.dirname, 'scripted-game.ts'),
    });
  const engine = make();
  t.teardown(async () => {
    for (const { serverId } of await engine.list()) await engine.erase(serverId);
    await rm(dir, { recursive: true });
  });
  for (const id of ['alpha', 'beta']) await mkdir(join(dir, 'data', id), { recursive: true });
  return {
    engine,
    dir,
    again: make,
    spec: (serverId, behaviour = {}) => ({
      serverId,
      core: 'sandbox',
      version: '1.21.4',
      ramMb: 256,
      cpus: 1,
      ports: [],
      image: '',
      dataDir: join(dir, 'data', serverId),
      env: behaviourEnv(behaviour),
    }),
    traces: async (serverId) => (await readdir(runDir).catch(() => [])).filter((name) => name.includes(serverId)),
    enforcesMemory: false,
    listens: true,
    echoesUdp: true,
  };
}
