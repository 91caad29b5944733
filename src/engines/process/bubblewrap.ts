import { execFile } from 'node:child_process';
import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { FileOwner } from '../../kernel/atomic-file.ts';
import { MIB } from '../../kernel/units.ts';
import type { Command } from './command.ts';

/** The files a program may see besides the system's programs and libraries. */
export interface View {
  /** Its own directory: it starts there, and may write there. */
  home: string;
  /** Further paths that it may read. What is not there is left out. */
  readable: readonly string[];
  /** Further paths that it may write. */
  writable: readonly string[];
}

/**
 * Runs a program in namespaces of its own, by bubblewrap (man 1 bwrap): it sees the system's programs, its view, and no
 * process but its own. It shares the machine's network. The first process is bubblewrap's; it lives as long as the
 * program, and exits with its code.
 */
export interface Bubblewrap {
  wrap(command: Command, view: View): Promise<Command>;
}

/** Folders of programs and libraries; on most systems links into /usr. */
const SYSTEM = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** The parts of /etc that names, certificates, fonts and Java need. */
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
/** Capabilities to enter another user's folder and to become that user, which drops them. */
const CAPABILITIES = ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP', 'CAP_DAC_READ_SEARCH'];
/** Within its own namespace of users a program makes no further one, in which it would be root: since bubblewrap 0.8. */
const NO_ROOT = ['--unshare-user', '--disable-userns'];
const TMP_BYTES = 256 * MIB;
const NAMESPACES = ['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'];
/** Each program has a /proc, /dev and /tmp of its own. */
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

/** Bubblewrap, for programs of `user` (undefined: of this process's own user). Rejects where it is not there or cannot work. */
export async function openBubblewrap(user: FileOwner | undefined): Promise<Bubblewrap> {
  const system = await systemArgs();
  const capabilities = user
    ? ['--cap-drop', 'ALL', ...CAPABILITIES.flatMap((capability) => ['--cap-add', capability])]
    : [];
  const become = user ? asUser(user) : [];
  const within = (users: readonly string[]): Bubblewrap => ({
    wrap: async ({ file, args }, view) => ({
      file: 'bwrap',
      args: [
        ...users,
        ...NAMESPACES,
        ...system,
        ...PRIVATE_MOUNTS,
        ...viewArgs(view),
        ...capabilities,
        '--',
        ...become,
        file,
        ...args,
      ],
    }),
  });
  // Root cannot become another user in a namespace that has none.
  if (user) return working(within([]));
  return working(within(NO_ROOT)).catch(() => working(within([])));
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
 * Shows a path under its own name. The directories above it are made explicitly: bubblewrap would make them passable
 * for root alone.
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

/** The real path of a program, or the home of the Java it belongs to; none under /usr, which is shown anyway. */
export async function pathsOf(program: string): Promise<string[]> {
  const real = await realpath(program).catch(() => undefined);
  if (real === undefined || real.startsWith('/usr/')) return [];
  const [, home] = /^(.+)\/bin\/java$/.exec(real) ?? [];
  return [home ?? real];
}
