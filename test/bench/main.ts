/**
 * Prints the figures of this machine. `npm run bench` measures all of them, `npm run bench -- relay calls` some. All
 * traffic stays on the loopback. Each bench is a process of its own with a time limit. If one fails, the exit code is
 * 1.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, cpus, totalmem } from 'node:os';
import process from 'node:process';
import { type Bench, digits, type Row } from './figures.ts';

const BENCHES: Record<string, { what: string; load: () => Promise<{ run: Bench }>; limitMs?: number }> = {
  status: { what: 'server lists that ask a sleeping server', load: () => import('./status.ts') },
  relay: { what: 'players and their games joined', load: () => import('./relay.ts') },
  joins: { what: 'players who join a game that is up, and stay', load: () => import('./joins.ts') },
  link: { what: 'a proxy as a process of its own', load: () => import('./link.ts') },
  busy: { what: 'players while the service is busy', load: () => import('./busy.ts') },
  wake: { what: 'what is added to the start of a game', load: () => import('./wake.ts') },
  start: { what: 'a whole wake of the built-in game', load: () => import('./start.ts') },
  'wake-java': {
    what: 'a whole wake of a real Java game, against the same jar started by hand',
    load: () => import('./wake-java.ts'),
    limitMs: 1_800_000,
  },
  transitions: { what: 'starts and stops on disk', load: () => import('./transitions.ts') },
  calls: { what: 'the API and its keys', load: () => import('./calls.ts') },
  pages: { what: 'reading the pages of the panel, and acting on them', load: () => import('./pages.ts') },
  lists: { what: 'the list of ten thousand servers', load: () => import('./lists.ts') },
  files: { what: 'a directory and a large file', load: () => import('./files.ts') },
  sleeping: { what: 'memory of sleeping servers', load: () => import('./sleeping.ts') },
  boot: { what: 'the start of the service', load: () => import('./boot.ts') },
  disk: { what: 'the files of a large server', load: () => import('./disk.ts') },
  backups: { what: 'backups and restores', load: () => import('./backups.ts') },
  restic: {
    what: 'ten daily backups of a world in a restic repository, against tar and restic by hand',
    load: () => import('./restic.ts'),
    limitMs: 1_800_000,
  },
  sftp: { what: 'a large file over SFTP', load: () => import('./sftp.ts') },
  meter: { what: 'a minute of ten thousand awake servers', load: () => import('./meter.ts') },
  streams: { what: 'event streams that wait, and a log that pours', load: () => import('./streams.ts') },
  scale: {
    what: 'a thousand and ten thousand servers under load',
    load: () => import('./scale.ts'),
    limitMs: 3_600_000,
  },
  polling: { what: 'a minute of readings of running servers', load: () => import('./polling.ts') },
};
const LIMIT_MS = 180_000;
const KILL_AFTER_MS = 3_000;

type Said = { row: Row } | { progress: string };

async function main(names: readonly string[]): Promise<void> {
  const unknown = names.find((name) => !Object.hasOwn(BENCHES, name));
  if (unknown !== undefined) {
    process.stderr.write(`There is no bench ${unknown}; there are: ${Object.keys(BENCHES).join(', ')}.\n`);
    process.exit(1);
  }
  print(header());
  for (const name of names.length > 0 ? names : Object.keys(BENCHES)) {
    print(`\n${name}: ${BENCHES[name]?.what}`);
    if (await bench(name)) continue;
    print(`  ${name} failed.`);
    process.exitCode = 1;
  }
}

function header(): string {
  const { stdout, status } = spawnSync('haproxy', ['-v'], { encoding: 'utf8' });
  const haproxy = status === 0 ? (/version ([\d.]+\d)/.exec(stdout)?.[1] ?? 'there') : 'not installed';
  return [
    `${availableParallelism()} cores (${cpus()[0]?.model.trim()})`,
    `${Math.round(totalmem() / 2 ** 30)} GiB of RAM`,
    `Node ${process.version}`,
    `HAProxy ${haproxy}`,
  ].join(', ');
}

/**
 * Runs a bench, and returns whether it succeeded. Its processes are one group, so that none outlives its time limit or
 * this program.
 */
async function bench(name: string): Promise<boolean> {
  const child = spawn(process.execPath, [import.meta.filename, name], {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let stopped: string | undefined;
  const stop = (why: string): void => {
    stopped = why;
    signalGroup(child, 'SIGTERM');
    setTimeout(() => signalGroup(child, 'SIGKILL'), KILL_AFTER_MS);
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const limitMs = BENCHES[name]?.limitMs ?? LIMIT_MS;
  const limit = setTimeout(() => stop(`not done after ${limitMs / 1_000} s`), limitMs);
  child.on('message', (said: Said) => print(`  ${'row' in said ? line(said.row) : `… ${said.progress}`}`));
  const [code] = (await once(child, 'exit')) as [number | null];
  clearTimeout(limit);
  process.off('SIGINT', stop).off('SIGTERM', stop);
  if (stopped !== undefined) print(`  ${stopped}`);
  if (stopped?.startsWith('SIG')) process.exit(1);
  return code === 0;
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // The whole group has ended.
  }
}

function line({ figure, value, unit, note }: Row): string {
  return [figure.padEnd(52), digits(value).padStart(9), (unit === '1' ? '×' : unit).padEnd(6), note]
    .join(' ')
    .trimEnd();
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function runOne(name: string): Promise<void> {
  const say = (said: Said): void => void process.send?.(said);
  const { run } = await BENCHES[name]!.load();
  await run({ row: (row) => say({ row }), progress: (progress) => say({ progress }) });
  process.disconnect();
}

if (process.send === undefined) await main(process.argv.slice(2));
else await runOne(process.argv[2] ?? '');
