import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import Docker from 'dockerode';
import { pino } from 'pino';
import { createDockerEngine } from '../../src/engines/docker/docker.ts';
import { IMAGE, busyboxImage } from './busybox-image.ts';
import { type Behaviour, type Bench, named } from './engine.ts';
import { gameSpec } from './game-spec.ts';

/** A bench on this machine's Docker Engine, with an installation of its own. */
export interface DockerBench extends Bench {
  docker: Docker;
  installation: string;
  logDir: string;
}

let image: Promise<void> | undefined;

export async function dockerBench(t: ExecutionContext): Promise<DockerBench> {
  await (image ??= busyboxImage());
  const docker = new Docker();
  const installation = `t${randomBytes(5).toString('hex')}`;
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-docker-'));
  await chmod(dir, 0o755);
  const logDir = join(dir, 'logs');
  const make = () => createDockerEngine({ installation, logDir, log: pino({ level: 'silent' }) });
  const engine = make();
  t.teardown(async () => {
    for (const { serverId } of await engine.list()) await engine.erase(serverId);
    await docker
      .getNetwork(`dormouse-${installation}`)
      .remove()
      .catch(() => undefined);
    await rm(dir, { recursive: true });
  });
  for (const id of ['alpha', 'beta']) await mkdir(join(dir, 'data', id), { recursive: true });
  return {
    engine,
    docker,
    installation,
    logDir,
    again: make,
    spec: (serverId, behaviour = {}) =>
      gameSpec(serverId, { image: IMAGE, dataDir: join(dir, 'data', serverId), env: behaviourEnv(behaviour) }),
    async traces(serverId) {
      const filters = { label: [`dormouse.installation=${installation}`] };
      const containers = await docker.listContainers({ all: true, filters });
      const networks = await docker.listNetworks({ filters });
      const logs = await readdir(logDir).catch(() => []);
      return [
        ...containers.flatMap((container) => container.Names),
        ...networks.map((network) => network.Name),
        ...logs.filter((name) => name.startsWith(serverId)),
      ];
    },
    enforcesMemory: true,
    listens: true,
    echoesUdp: false,
    keepsApart: true,
  };
}

/** Returns the environment of the conformance tests' program. */
export function behaviourEnv(behaviour: Behaviour): Record<string, string> {
  const { print, farewell, exitCode, ignoreStop, outOfMemory, echo, dials } = behaviour;
  return {
    ...(print && { GAME_PRINT: print.join('\n') }),
    ...(farewell !== undefined && { GAME_FAREWELL: farewell }),
    ...(exitCode !== undefined && { GAME_EXIT: String(exitCode) }),
    ...(echo !== undefined && { GAME_ECHO: String(echo) }),
    ...(dials && { GAME_DIALS: dials.map(named).join('\n') }),
    ...(ignoreStop && { GAME_IGNORE_STOP: '1' }),
    ...(outOfMemory && { GAME_OOM: '1' }),
  };
}
