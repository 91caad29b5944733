import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { StatusError } from '../kernel/status.ts';
import { LABEL } from './docker/container.ts';
import { within } from './docker/errors.ts';
import { dockerOptions } from './docker/host.ts';
import { INSTALLATION, SERVER } from './process/games.ts';
import { processTable } from './process/table.ts';

const DOCKER_MS = 5_000;

/**
 * Rejects with FAILED_PRECONDITION GAMES_RUN if games of this installation run on this machine with folders outside
 * `dataDir`, for example after that directory was moved or copied. A service in `dataDir` would start the same servers
 * a second time. `installation`: see `installationOf`.
 */
export async function refuseGamesElsewhere(installation: string, dataDir: string, dockerHost: string): Promise<void> {
  const found = await Promise.all([
    processesElsewhere(installation, dataDir),
    containersElsewhere(installation, dataDir, dockerHost),
  ]);
  const servers = [...new Set(found.flat())].toSorted();
  if (servers.length === 0) return;
  const sentence = `Games of this installation still run, with their files in another folder: ${servers.join(', ')}. Put them to sleep first: DATA_DIR=<that folder> npm run stop`;
  throw new StatusError('FAILED_PRECONDITION', 'GAMES_RUN', sentence);
}

async function processesElsewhere(installation: string, dataDir: string): Promise<string[]> {
  const pids = await processTable.withEnvironment(`${INSTALLATION}=${installation}`);
  const servers = await Promise.all(pids.map((pid) => processTable.variable(pid, SERVER)));
  const isHere = (id: string) => existsSync(join(dataDir, 'run', `${id}.json`));
  return servers.filter((id) => id !== undefined && !isHere(id)) as string[];
}

async function containersElsewhere(installation: string, dataDir: string, dockerHost: string): Promise<string[]> {
  const options = dockerOptions(dockerHost);
  if (options.socketPath !== undefined && !existsSync(options.socketPath)) return [];
  const docker = new (await import('dockerode')).default(options);
  const filters = { label: [`${LABEL.installation}=${installation}`] };
  const running = await within(DOCKER_MS, docker.listContainers({ filters })).catch(() => []);
  const isHere = (sources: string[]) =>
    sources.some((source) => source.startsWith(join(dataDir, 'servers/')) && existsSync(source));
  return running
    .filter(({ Mounts }) => !isHere(Mounts.map(({ Source }) => Source)))
    .map(({ Labels }) => Labels[LABEL.server] ?? '');
}
