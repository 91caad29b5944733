import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';

/** A process, told apart from all others that ever ran. */
export interface ProcessIdentity {
  hostname: string;
  /** The boot and the PID namespace in which `pid` means this process; '' where the system does not tell. */
  scope: string;
  pid: number;
  /** Clock ticks from boot to start, as text: pids come again, this pair does not. '' where the system does not tell. */
  startedAt: string;
}

/** The identity of this process. Linux reports everything (proc(5)); elsewhere host name and pid must do. */
export function thisProcess(): Promise<ProcessIdentity> {
  return processOf(process.pid);
}

/** The process that has this pid now, as this process sees it. */
export async function processOf(pid: number): Promise<ProcessIdentity> {
  const [boot, namespace] = await Promise.all([bootId(), readlink('/proc/self/ns/pid').catch(() => '')]);
  const scope = boot && namespace && `${boot} ${namespace}`;
  const { startedAt } = await stat(pid);
  return { hostname: hostname(), scope, pid, startedAt };
}

/** Names this boot of the machine, the same in every container on it; '' where the system does not tell. */
export async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim();
}

/** Whether a process still runs; undefined for one that cannot be seen from here. */
export async function isAlive(other: ProcessIdentity, here: ProcessIdentity): Promise<boolean | undefined> {
  if (other.hostname !== here.hostname || other.scope !== here.scope) return undefined;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    // EPERM: there is one, of another user.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const { state, startedAt } = await stat(other.pid);
  // A zombie has ended; only its parent has not asked for the exit code yet.
  return state !== 'Z' && (startedAt === '' || startedAt === other.startedAt);
}

async function stat(pid: number): Promise<{ state: string; startedAt: string }> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The second field, the program's name in parentheses, may hold anything; the third and the 22nd are wanted.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', startedAt: fields[19] ?? '' };
}

/**
 * Whether this process is a container's own: the first one there, or what its small init was started for. All others end with
 * it, and what it says is the container's log.
 */
export async function isContainer(): Promise<boolean> {
  if (process.pid === 1) return true;
  if (process.ppid !== 1) return false;
  const init = await readFile('/proc/1/comm', 'utf8').catch(() => '');
  return INITS.has(init.trim());
}

/** Those that end with their only child: https://github.com/krallin/tini and its like. */
const INITS: ReadonlySet<string> = new Set(['docker-init', 'tini', 'dumb-init', 'catatonit']);
