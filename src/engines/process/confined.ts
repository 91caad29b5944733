import { chmod, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../kernel/log.ts';
import { openBubblewrap } from './bubblewrap.ts';
import type { Confinement } from './confinement.ts';
import { closedAbove, gameUser } from './game-user.ts';

/** Whose servers may run code that was uploaded. `nobody`: it would run with all rights of this machine. */
export type TrustedWithCode = 'everybody' | 'operators' | 'nobody';

/** How games that are processes are kept from what is not theirs, and so whose code they may run. */
export interface Confined {
  confinement: Confinement;
  trusted: TrustedWithCode;
}

/** In the data directory: what no game may read, whatever rights earlier versions, or others, gave it. */
const PRIVATE = ['backups', 'dormouse.db', 'dormouse.db-shm', 'dormouse.db-wal', 'first-run.json', 'logs', 'run'];
const KEYS = ['secret.key', 'ssh_host_ed25519_key'];
const OTHERS = 0o007;

export interface ConfinementOptions {
  dataDir: string;
  /** Code that others than operators upload is run as well. */
  trustTenants: boolean;
  /** A number that tells this installation from others on the machine. */
  installation: number;
  /** What games are started from. */
  programs: readonly string[];
  log: Log;
}

/**
 * As root, games get a user of their own, so that they can read nothing of the service's whatever they run. Bubblewrap, where
 * it is there and works, shows each one its own folder alone.
 */
export async function openConfinement(
  { dataDir, trustTenants, installation, programs, log }: ConfinementOptions,
  open = openBubblewrap,
): Promise<Confined> {
  const user = process.getuid?.() === 0 ? await gameUser(installation) : undefined;
  const trusted = trustTenants ? 'everybody' : 'operators';
  const bubblewrap = await open(user).catch((err: unknown) => {
    log.debug({ err }, 'bubblewrap is not there, or cannot work');
  });
  if (bubblewrap) return { confinement: { user, bubblewrap }, trusted };
  if (!user) {
    log.warn('games run as the user of the service and could read its files: install bubblewrap to shut them in');
    return { confinement: {}, trusted };
  }
  await letPass(dataDir);
  const closed = await firstClosed([...programs, join(dataDir, 'servers')]);
  if (closed === undefined) {
    log.warn({ uid: user.uid }, 'all games run as one user and could read the files of each other: install bubblewrap');
    return { confinement: { user }, trusted };
  }
  log.warn(
    `games run as root, as no other user may pass ${closed}: install bubblewrap, or run the service as a user of its own`,
  );
  return { confinement: {}, trusted: trustTenants ? 'everybody' : 'nobody' };
}

/** Lets the user of games come as far as their folders, and no other. */
async function letPass(dataDir: string): Promise<void> {
  for (const name of [...PRIVATE, ...KEYS]) await setMode(join(dataDir, name), (mode) => mode & ~OTHERS);
  const servers = join(dataDir, 'servers');
  await mkdir(servers, { recursive: true, mode: 0o711 });
  await setMode(join(dataDir, 'cores'), (mode) => mode | 0o005);
  for (const path of [dataDir, servers]) await setMode(path, (mode) => (mode & ~OTHERS) | 0o001);
}

async function setMode(path: string, next: (mode: number) => number): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found && next(found.mode) !== found.mode) await chmod(path, next(found.mode & 0o7777));
}

async function firstClosed(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const closed = await closedAbove(path);
    if (closed !== undefined) return closed;
  }
  return undefined;
}
