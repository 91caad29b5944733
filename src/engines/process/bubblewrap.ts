import { execFile } from 'node:child_process';
import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { FileOwner } from '../../kernel/atomic-file.ts';
import type { Log } from '../../kernel/log.ts';
import { MIB } from '../../kernel/units.ts';
import type { Command } from './spawn-game.ts';

/** The files a program may see besides the system's programs and libraries. */
export interface View {
  /** The program's own directory, in which it starts and may write. */
  home: string;
  /** Further paths that it may read. Missing ones are ignored. */
  readable: readonly string[];
  /** Further paths that it may write. */
  writable: readonly string[];
}

/**
 * Runs programs in separate namespaces with bubblewrap (man 1 bwrap). A program sees the system's programs, its view,
 * and no other processes. It shares the machine's network. The first process is bubblewrap's, which lives as long as
 * the program and exits with its code.
 */
export interface Bubblewrap {
  wrap(command: Command, view: View): Promise<Command>;
}

/** Folders of programs and libraries; on most systems links into /usr. */
const SYSTEM = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** The parts of /etc needed for names, certificates, fonts and Java. */
const ETC = [
  'alternatives',
  'ca-certificates',
  'crypto-policies',
  'fonts',
  'gai.conf',
  'host.conf',
  'hosts',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'nsswitch.conf',
  'os-release',
  'pki',
  'protocols',
  'resolv.conf',
  'services',
  'ssl',
  'timezone',
];
/** Capabilities to enter another user's folder and to become that user. Becoming the user drops them. */
const CAPABILITIES = ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP', 'CAP_DAC_READ_SEARCH'];
/**
 * A user namespace in which the program cannot create a further one, where it would be root. Requires bubblewrap 0.8.
 */
const NO_ROOT = ['--unshare-user', '--disable-userns'];
const TMP_BYTES = 256 * MIB;
const NAMESPACES = ['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'];
/** Each program has its own /proc, /dev and /tmp. */
const PRIVATE_MOUNTS = [
  '--proc',
  '/proc',
  '--dev',
  '/dev',
  '--size',
  String(TMP_BYTES),
  '--perms',
  '1777',
  '--tmpfs',
  '/tmp',
];
const PROBE_MS = 10_000;

/**
 * Opens bubblewrap for programs of `user` (undefined: this process's own user). If it is older than 0.8 or the kernel
 * allows no nested user namespaces, programs can create user namespaces of their own, which is logged. Rejects if
 * bubblewrap is missing or does not work.
 */
export async function openBubblewrap(user: FileOwner | undefined, log: Log): Promise<Bubblewrap> {
  const system = await systemArgs();
  const capabilities = user
    ? ['--cap-drop', 'ALL', ...CAPABILITIES.flatMap((capability) => ['--cap-add', capability])]
    : [];
  const within = (isolated: boolean): Bubblewrap => {
    const noRoot = isolated ? NO_ROOT : [];
    // A user namespace has no other users, so root becomes the user first and then enters one.
    const nested = isolated ? ['bwrap', ...NO_ROOT, '--dev-bind', '/', '/', '--'] : [];
    const [outside, inside] = user ? [[], [...asUser(user), ...nested]] : [noRoot, []];
    return {
      wrap: async ({ file, args }, view) => ({
        file: 'bwrap',
        args: [
          ...outside,
          ...NAMESPACES,
          ...system,
          ...PRIVATE_MOUNTS,
          ...viewArgs(view),
          ...capabilities,
          '--',
          ...inside,
          file,
          ...args,
        ],
      }),
    };
  };
  return working(within(true)).catch(async (err: unknown) => {
    const bubblewrap = await working(within(false));
    log.warn({ err }, 'games can create user namespaces of their own: install bubblewrap 0.8 or newer to prevent it');
    return bubblewrap;
  });
}

async function working(bubblewrap: Bubblewrap): Promise<Bubblewrap> {
  const view = { home: '/usr', readable: [], writable: [] };
  const { file, args } = await bubblewrap.wrap({ file: '/usr/bin/env', args: ['true'] }, view);
  await promisify(execFile)(file, args, { timeout: PROBE_MS });
  return bubblewrap;
}

function viewArgs({ home, readable, writable }: View): string[] {
  const shownOnly = ['/sys/devices/system/cpu', ...readable].flatMap((path) => shown('--ro-bind-try', path));
  const itsOwn = writable.flatMap((path) => shown('--bind-try', path));
  return [...shownOnly, ...itsOwn, ...shown('--bind', home), '--remount-ro', '/', '--chdir', home];
}

/**
 * Returns the arguments that show a path under its own name. They create the directories above it explicitly, because
 * bubblewrap would make those passable for root alone.
 */
function shown(how: string, path: string): string[] {
  const above: string[] = [];
  for (let dir = dirname(path); dir !== dirname(dir); dir = dirname(dir)) above.unshift('--dir', dir);
  return [...above, how, path, path];
}

function asUser({ uid, gid }: FileOwner): string[] {
  const none = ['--inh-caps', '-all', '--bounding-set', '-all'];
  return ['setpriv', '--reuid', String(uid), '--regid', String(gid), '--clear-groups', ...none, '--'];
}

async function systemArgs(): Promise<string[]> {
  const args = ['--ro-bind', '/usr', '/usr', '--dir', '/etc'];
  for (const path of SYSTEM) {
    const stat = await lstat(path).catch(() => undefined);
    if (stat?.isSymbolicLink()) args.push('--symlink', await readlink(path), path);
    else if (stat) args.push('--ro-bind', path, path);
  }
  const java = (await readdir('/etc').catch(() => [])).filter((name) => name.startsWith('java'));
  for (const name of [...ETC, ...java]) args.push('--ro-bind-try', join('/etc', name), join('/etc', name));
  return args;
}

/** Returns the real path of a program, or the home of its Java. Returns no path below /usr, which is always shown. */
export async function pathsOf(program: string): Promise<string[]> {
  const real = await realpath(program).catch(() => undefined);
  if (real === undefined || real.startsWith('/usr/')) return [];
  const [, home] = /^(.+)\/bin\/java$/.exec(real) ?? [];
  return [home ?? real];
}
