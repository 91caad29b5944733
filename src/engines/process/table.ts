import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { MIB } from '../../kernel/units.ts';

const run = promisify(execFile);

/** Errors of reading a process that has ended, or one of another user. Any other error says nothing about it. */
const HIDDEN = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM']);
/** Number of processes read at once. Each open file counts against the limit of this process. */
const AT_ONCE = 16;

/** This machine's information about processes. */
export interface ProcessTable {
  /**
   * Returns a text that distinguishes a process from any later one of the same pid: the instant it started, in the
   * system's own format. Undefined for an ended one, even before it is reaped. Rejects if the system has no file
   * descriptor left: the process may still run.
   */
  startOf(pid: number): Promise<string | undefined>;
  /** Returns the processes whose environment at their start contained `NAME=value`. Rejects as `startOf` does. */
  withEnvironment(entry: string): Promise<number[]>;
  /**
   * Returns a variable of the environment with which a process started; undefined if it has no such variable or has
   * ended.
   */
  variable(pid: number, name: string): Promise<string | undefined>;
  /** Returns whether a process is stopped by a signal. */
  isStopped(pid: number): boolean;
  usage(pid: number): Promise<ProcessUsage | undefined>;
}

export interface ProcessUsage {
  rssMb: number;
  /** Processor time used since its start. */
  cpuMs: number;
}

/** The table of this system: `/proc` on Linux (man 5 proc), otherwise `ps`. */
export const processTable: ProcessTable = process.platform === 'linux' ? procTable() : psTable();

function procTable(): ProcessTable {
  // The kernel counts in USER_HZ, which is 100 on every architecture Node runs on.
  const TICK_MS = 10;
  return {
    async startOf(pid) {
      const fields = statFields(pid);
      return fields === undefined || 'ZX'.includes(fields[0]!) ? undefined : fields[19];
    },
    async withEnvironment(entry) {
      const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
      const found: number[] = [];
      for (let at = 0; at < pids.length; at += AT_ONCE) {
        const some = pids.slice(at, at + AT_ONCE);
        const environments = await Promise.all(some.map(environmentOf));
        found.push(...some.filter((_, index) => environments[index]?.includes(entry)));
      }
      return found;
    },
    variable: async (pid, name) => valueIn(await environmentOf(pid), name),
    isStopped: (pid) => statFields(pid)?.[0] === 'T',
    async usage(pid) {
      const fields = statFields(pid);
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
      const rss = /^VmRSS:\s+(\d+) kB/m.exec(status)?.[1];
      if (!fields || rss === undefined) return undefined;
      return { rssMb: Number(rss) / 1024, cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS };
    },
  };
}

async function environmentOf(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/environ`, 'utf8').catch(ifHidden(''));
  return text.split('\0');
}

/** Returns a handler of errors: `value` for a process that has ended or is another user's. */
function ifHidden<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (HIDDEN.has((error as NodeJS.ErrnoException).code ?? '')) return value;
    throw error;
  };
}

/**
 * Returns the fields of /proc/<pid>/stat from the third on. The second is the name, which may itself contain blanks and
 * brackets.
 */
export function statFields(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch (error) {
    return ifHidden(undefined)(error);
  }
}

function valueIn(entries: string[], name: string): string | undefined {
  return entries.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1);
}

function psTable(): ProcessTable {
  const ps = (args: string[]) => run('ps', args, { maxBuffer: 64 * MIB, env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } });
  const column = async (name: string, pid: number) =>
    await ps(['-o', `${name}=`, '-p', String(pid)]).then(
      ({ stdout }) => stdout.trim(),
      () => '',
    );
  return {
    async startOf(pid) {
      const state = await column('stat', pid);
      return state === '' || state.startsWith('Z') ? undefined : await column('lstart', pid);
    },
    async withEnvironment(entry) {
      const { stdout } = await ps(['axeww', '-o', 'pid=,command=']);
      return stdout.split('\n').flatMap((line) => {
        const [pid, ...words] = line.trim().split(/\s+/);
        return words.includes(entry) ? [Number(pid)] : [];
      });
    },
    async variable(pid, name) {
      const { stdout } = await ps(['eww', '-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
      return valueIn(stdout.trim().split(/\s+/), name);
    },
    isStopped: () => true,
    async usage(pid) {
      const [rss, time] = [await column('rss', pid), await column('time', pid)];
      if (rss === '' || time === '') return undefined;
      const seconds = time.split(/[-:]/).reduce((sum, part) => sum * 60 + Number(part), 0);
      return { rssMb: Number(rss) / 1024, cpuMs: seconds * 1000 };
    },
  };
}
