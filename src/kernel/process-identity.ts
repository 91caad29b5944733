import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';

/** Identifies a process uniquely among all that ever ran. */
export interface ProcessIdentity {
  hostname: string;
  /** The boot and the PID namespace in which `pid` is valid; '' if the system does not report them. */
  scope: string;
  pid: number;
  /**
   * Clock ticks from boot to start, as text. Pids are reused, but not with the same start. '' if the system does not
   * report it.
   */
  startedAt: string;
}

/**
 * Returns the identity of this process. Only Linux reports all fields (proc(5)); other systems report host name and
 * pid.
 */
export function thisProcess(): Promise<ProcessIdentity> {
  return processOf(process.pid);
}

/** Returns the identity of the process that has this pid now, in this process's PID namespace. */
export async function processOf(pid: number): Promise<ProcessIdentity> {
  const [boot, namespace] = await Promise.all([bootId(), readlink('/proc/self/ns/pid').catch(() => '')]);
  const scope = boot && namespace && `${boot} ${namespace}`;
  const { startedAt } = await stat(pid);
  return { hostname: hostname(), scope, pid, startedAt };
}

/** Returns the id of this boot of the machine, the same in all its containers; '' if the system does not report it. */
export async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim();
}

/** Reports whether a process still runs; undefined if it is on another machine or in another PID namespace. */
export async function isAlive(other: ProcessIdentity, here: ProcessIdentity): Promise<boolean | undefined> {
  if (other.hostname !== here.hostname || other.scope !== here.scope) return undefined;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const { state, startedAt } = await stat(other.pid);
  // A zombie has ended, but its parent has not read its exit code yet.
  return state !== 'Z' && (startedAt === '' || startedAt === other.startedAt);
}

async function stat(pid: number): Promise<{ state: string; startedAt: string }> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // Skips the second field, the program's name in parentheses, which may contain any character. Reads the third and the 22nd.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', startedAt: fields[19] ?? '' };
}

/**
 * Reports whether this process is a container's main process: its first one, or the child of a small init. The
 * container ends with it, and its output is the container's log.
 */
export async function isContainer(): Promise<boolean> {
  if (process.pid === 1) return true;
  if (process.ppid !== 1) return false;
  const init = await readFile('/proc/1/comm', 'utf8').catch(() => '');
  return INITS.has(init.trim());
}

/** Small init programs that end with their only child, such as https://github.com/krallin/tini. */
const INITS: ReadonlySet<string> = new Set(['docker-init', 'tini', 'dumb-init', 'catatonit']);
