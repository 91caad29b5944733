import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import Docker from 'dockerode';
import type { Belongings } from './belongings.ts';
import { endProcess } from './end-process.ts';
import { ROOM_FOR_ENGINES, fastDir } from './fast-dir.ts';
import { until } from './until.ts';

const run = promisify(execFile);

/** A Docker Engine for one test, with its own directories, socket, network namespace and control group. */
export interface PrivateEngine {
  docker: Docker;
  /** The folder of all its files. The socket is `s` in it. */
  dir: string;
  socketPath: string;
  /** The id of a process in its network namespace. */
  networkPid: number;
  start(): Promise<void>;
  end(signal: NodeJS.Signals): Promise<void>;
  /** Kills the engine and everything that runs on it at once, as a power cut does. */
  powerOff(): Promise<void>;
}

/**
 * Prepares a Docker engine that ends with the test. Needs `dockerd`. `hostname` names the engine and its folder below
 * `within`, by which other engines find it.
 */
export async function privateEngine(
  t: Pick<Belongings, 'teardown' | 'passed' | 'log'>,
  { hostname, within }: { hostname?: string; within?: string } = {},
): Promise<PrivateEngine> {
  // A socket path has at most 107 characters.
  const above = within ?? (await fastDir(ROOM_FOR_ENGINES));
  const dir = hostname === undefined ? await mkdtemp(join(above, 'dm-')) : join(above, hostname);
  await mkdir(dir, { recursive: true });
  const socketPath = join(dir, 's');
  const docker = new Docker({ socketPath });
  const cgroup = `/${hostname === undefined ? '' : basename(above)}${basename(dir)}`;
  const config = join(dir, 'daemon.json');
  await writeFile(config, JSON.stringify({ 'deprecated-key-path': join(dir, 'key.json') }));
  const logFile = await open(join(dir, 'log'), 'a');
  // This process holds a network namespace for all runs of the engine. In the machine's own namespace, the engine would
  // take docker0 from the existing engine.
  const naming = hostname === undefined ? '' : `hostname ${hostname}; `;
  // An engine among several has its own view of the file system, so that a test can change it.
  const apart = hostname === undefined ? [] : ['--mount'];
  const network = spawn('unshare', ['--net', '--uts', ...apart, 'sh', '-c', `${naming}echo; exec sleep infinity`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(network.stdout, 'data');
  let daemon: ChildProcess | undefined;
  const end = async (signal: NodeJS.Signals) => {
    if (daemon?.exitCode !== null || daemon.signalCode !== null) return;
    daemon.kill(signal);
    await once(daemon, 'exit');
    // A killed engine's containerd ends with it. Where orphans are not reaped, its process id looks alive forever.
    if (signal === 'SIGKILL') await rm(join(dir, 'exec/containerd/containerd.pid'), { force: true });
  };
  const start = async () => {
    const paths = { 'data-root': 'data', 'exec-root': 'exec', pidfile: 'pid' };
    const flags = Object.entries(paths).map(([flag, name]) => `--${flag}=${join(dir, name)}`);
    const args = [
      `--net=/proc/${network.pid}/ns/net`,
      `--uts=/proc/${network.pid}/ns/uts`,
      ...(hostname === undefined ? [] : [`--mount=/proc/${network.pid}/ns/mnt`]),
      'dockerd',
      '-H',
      `unix://${socketPath}`,
      '--config-file',
      config,
    ];
    daemon = spawn('nsenter', [...args, ...flags, '--cgroup-parent', cgroup], {
      stdio: ['ignore', logFile.fd, logFile.fd],
    });
    await until({ despiteErrors: true }, () => docker.ping());
  };
  const powerOff = async () => {
    await end('SIGKILL');
    for (const pid of await leftBehind(dir, cgroup)) endProcess(pid);
  };
  t.teardown(async () => {
    if (!t.passed) t.log((await readFile(join(dir, 'log'), 'utf8')).slice(-4_000));
    await end('SIGTERM');
    network.kill('SIGKILL');
    await logFile.close();
    for (const pid of await leftBehind(dir, cgroup)) endProcess(pid);
    // A killed engine leaves the network namespaces of its containers mounted.
    const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
    for (const mount of mounts.filter((path) => path.startsWith(`${dir}/`)).toReversed()) {
      await run('umount', ['-l', mount]).catch(() => undefined);
    }
    await run('sh', ['-c', `find /sys/fs/cgroup -depth -type d -path '*${cgroup}*' -exec rmdir {} \\;`]).catch(
      () => undefined,
    );
    await rm(dir, { recursive: true, maxRetries: 5 });
  });
  return { docker, dir, socketPath, networkPid: network.pid!, start, end, powerOff };
}

/** Returns the games in the control group of a killed engine, and the shims that hold them. */
async function leftBehind(dir: string, cgroup: string): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const found = pids.map(async (pid) => {
    const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
    const ours = (await read('cgroup')).includes(`:${cgroup}/`) || (await read('cmdline')).includes(`${dir}/exec`);
    return ours ? [pid] : [];
  });
  return (await Promise.all(found)).flat();
}
