import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import { type OffSite, createOffSite } from '../../src/backups/offsite/offsite.ts';
import { createRestics } from '../../src/backups/offsite/restic.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { createLog } from '../../src/kernel/log.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { fastDir } from './fast-dir.ts';

const PASSWORD = 'a password of the tests';

/** The settings of a repository, as JSON for a child process. */
export interface OnRestic {
  location: string;
  dataDir: string;
  installation?: string;
  /** '': a password is created in the data folder. */
  resticPassword?: string;
  resticEnvironment?: Record<string, string>;
}

/** Returns the repository as the place of new backups. */
export function resticPlace(
  given: OnRestic,
  clock: Clock = systemClock,
  log = createLog({ level: 'silent' }),
  hasArchives = async () => false,
): OffSite {
  const { location, installation = 'one', ...rest } = given;
  const settings = { backupStore: location, resticPassword: PASSWORD, resticEnvironment: {}, ...rest };
  const restics = createRestics(settings, { derive: (...of) => [installation, ...of].join(' ') }, clock, log);
  return createOffSite(location, restics.open, () => restics.check(location, hasArchives));
}

/** Creates a folder with the settings of a repository in it. */
export async function resticFolder(t: ExecutionContext): Promise<OnRestic & { folder: string }> {
  const folder = await mkdtemp(join(await fastDir(), 'dormouse-restic-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return { folder, location: `restic:${join(folder, 'repository')}`, dataDir: join(folder, 'data') };
}

/** Runs restic itself, as an operator would, and returns its output. */
export async function restic(on: OnRestic, ...args: string[]): Promise<string> {
  const child = resticChild(on, ...args);
  const ended = once(child, 'close');
  child.stdin.end();
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if ((await ended)[0] !== 0) throw new Error(errors);
  return output;
}

/** Starts restic in the same way. */
export function resticChild({ location, dataDir, resticEnvironment }: OnRestic, ...args: string[]) {
  const repository = { RESTIC_PASSWORD: PASSWORD, RESTIC_REPOSITORY: location.slice('restic:'.length) };
  return spawn('restic', ['--cache-dir', join(dataDir, 'operator'), ...args], {
    env: { ...process.env, ...repository, ...resticEnvironment },
  });
}

/** Starts a REST server for repositories, on a folder and a free port: rclone. */
export async function startRest(): Promise<{ endpoint: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(await fastDir(), 'rest-'));
  const server = spawn('rclone', ['serve', 'restic', '--addr', '127.0.0.1:0', folder], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(server, 'exit');
  let said = '';
  let endpoint: string | undefined;
  for await (const chunk of server.stderr.iterator({ destroyOnReturn: false })) {
    said += String(chunk);
    endpoint = /(http:\/\/127\.0\.0\.1:[0-9]+)/.exec(said)?.[1];
    if (endpoint !== undefined) break;
  }
  if (endpoint === undefined) throw new Error(`rclone did not start: ${said}`);
  server.stderr.resume();
  return {
    endpoint,
    async remove() {
      server.kill();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
