import { chmod, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../kernel/log.ts';
import { openBubblewrap } from './bubblewrap.ts';
import type { Confinement } from './confinement.ts';
import { closedAbove, gameUser } from './game-user.ts';

/**
 * The users whose servers may run uploaded code. `refusal`: no server may, because the code would run as root. It
 * contains the reason and the fix, for operators.
 */
export type TrustedWithCode = 'everybody' | 'operators' | { refusal: string };

/** How game processes are confined, and the users whose code they may run as a result. */
export interface Confined {
  confinement: Confinement;
  trusted: TrustedWithCode;
}

/** Parts of the data directory that no game may read. They are closed to other users. */
const PRIVATE = ['backups', 'dormouse.db', 'dormouse.db-shm', 'dormouse.db-wal', 'first-run.json', 'logs', 'run'];
const KEYS = ['secret.key', 'ssh_host_ed25519_key'];
const OTHERS = 0o007;

export interface ConfinementOptions {
  dataDir: string;
  /** Whether to run uploaded code of tenants as well as that of operators. */
  trustTenants: boolean;
  /** A number that distinguishes this installation from others on the machine. */
  installation: number;
  /** The programs that run games. */
  programs: readonly string[];
  log: Log;
}

/**
 * Confines games as well as this machine allows. If the service runs as root, games get a separate user that cannot
 * read the service's files. If bubblewrap is installed and works, each game sees only its own folder.
 */
export async function openConfinement(
  { dataDir, trustTenants, installation, programs, log }: ConfinementOptions,
  open = openBubblewrap,
  findUser = gameUser,
): Promise<Confined> {
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? await findUser(installation) : undefined;
  const trusted = trustTenants ? 'everybody' : 'operators';
  const asRoot = (why: string, fix: string): Confined => {
    const scope = trustTenants ? '' : ', so only sandbox servers are offered';
    const sentence = `Games run as root here, because ${why}${scope}. ${fix}, then restart Dormouse.`;
    log.warn(sentence);
    return { confinement: {}, trusted: trustTenants ? 'everybody' : { refusal: sentence } };
  };
  if (isRoot && !user) {
    const why = 'the user namespace of this process maps no other user';
    return asRoot(why, 'Start Dormouse as an ordinary user, or map more user ids');
  }
  const bubblewrap = await open(user, log).catch((err: unknown) => {
    log.debug({ err }, 'bubblewrap is not installed or does not work');
  });
  if (bubblewrap) return { confinement: { user, bubblewrap }, trusted };
  if (!user) {
    log.warn("games run as the service's own user and can read its files: install bubblewrap to confine them");
    return { confinement: {}, trusted };
  }
  await letPass(dataDir);
  const closed = await firstClosed([...programs, join(dataDir, 'servers')]);
  if (closed === undefined) {
    log.warn({ uid: user.uid }, "all games run as one user and can read each other's files: install bubblewrap");
    return { confinement: { user }, trusted };
  }
  return asRoot(`their own user cannot enter ${closed}`, `Install bubblewrap, or run "chmod o+x ${closed}"`);
}

/** Lets the games' user reach the folders of servers and cores, and closes the private parts of the data directory. */
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
