import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import Docker from 'dockerode';
import { pino } from 'pino';
import { createDockerEngine } from '../../src/adapters/docker.ts';
import type { EngineError, EngineEvent } from '../../src/ports.ts';
import { IMAGE, busyboxImage } from '../conformance/busybox-image.ts';
import { behaviourEnv } from '../conformance/docker-bench.ts';
import { collect, until } from '../conformance/engine.ts';
import { needs } from '../support/needs.ts';

const never = new AbortController().signal;
const run = promisify(execFile);

/** A Docker Engine of the test's own: its directories, its socket, its network name space, its control group. */
interface PrivateEngine {
  docker: Docker;
  socketPath: string;
  start(): Promise<void>;
  end(signal: NodeJS.Signals): Promise<void>;
}

async function privateEngine(t: ExecutionContext): Promise<PrivateEngine | undefined> {
  if (!(await needs(t, 'docker'))) return undefined;
  const ours = process.getuid?.() === 0 && (await run('dockerd', ['--version']).catch(() => undefined));
  if (!ours) {
    t.log('SKIPPED: an engine of its own needs root and dockerd');
    t.pass();
    return undefined;
  }
  // Socket paths end at 107 characters.
  const dir = await mkdtemp(join(tmpdir(), 'dm-'));
  const socketPath = join(dir, 's');
  const docker = new Docker({ socketPath });
  const cgroup = `/${basename(dir)}`;
  const config = join(dir, 'daemon.json');
  await writeFile(config, JSON.stringify({ 'deprecated-key-path': join(dir, 'key.json') }));
  const logFile = await open(join(dir, 'log'), 'a');
  // Holds a network for all runs of the engine; in this machine's own it would take docker0 from the engine that is there.
  const network = spawn('unshare', ['--net', 'sleep', 'infinity'], { stdio: 'ignore' });
  let daemon: ChildProcess | undefined;
  const end = async (signal: NodeJS.Signals) => {
    if (daemon?.exitCode !== null || daemon.signalCode !== null) return;
    daemon.kill(signal);
    await once(daemon, 'exit');
    // A killed engine's containerd ends with it; where nobody collects orphans its number looks alive for ever.
    if (signal === 'SIGKILL') await rm(join(dir, 'exec/containerd/containerd.pid'), { force: true });
  };
  const start = async () => {
    const paths = { 'data-root': 'data', 'exec-root': 'exec', pidfile: 'pid' };
    const flags = Object.entries(paths).map(([flag, name]) => `--${flag}=${join(dir, name)}`);
    const args = [
      `--net=/proc/${network.pid}/ns/net`,
      'dockerd',
      '-H',
      `unix://${socketPath}`,
      '--config-file',
      config,
    ];
    daemon = spawn('nsenter', [...args, ...flags, '--cgroup-parent', cgroup], {
      stdio: ['ignore', logFile.fd, logFile.fd],
    });
    await until(() => docker.ping().catch(() => undefined));
  };
  t.teardown(async () => {
    if (!t.passed) t.log((await readFile(join(dir, 'log'), 'utf8')).slice(-4_000));
    await end('SIGTERM');
    network.kill('SIGKILL');
    await logFile.close();
    for (const pid of await leftBehind(dir, cgroup)) process.kill(pid, 'SIGKILL');
    // Network name spaces of containers stay mounted when the engine was killed.
    const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
    for (const mount of mounts.filter((path) => path.startsWith(`${dir}/`)).toReversed()) {
      await run('umount', ['-l', mount]).catch(() => undefined);
    }
    await run('sh', ['-c', `find /sys/fs/cgroup -depth -type d -path '*${cgroup}*' -exec rmdir {} \\;`]).catch(
      () => undefined,
    );
    await rm(dir, { recursive: true });
  });
  return { docker, socketPath, start, end };
}

/** Games in the control group of a killed engine, and the shims that hold them. */
async function leftBehind(dir: string, cgroup: string): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const found = pids.map(async (pid) => {
    const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
    const ours = (await read('cgroup')).includes(`:${cgroup}/`) || (await read('cmdline')).includes(`${dir}/exec`);
    return ours ? [pid] : [];
  });
  return (await Promise.all(found)).flat();
}

test('games are found again after the Docker Engine was restarted, or killed', async (t) => {
  t.timeout(120_000);
  const own = await privateEngine(t);
  if (!own) return;
  const { docker, socketPath } = own;
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-restart-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const log = pino({ level: 'silent' });
  const engine = createDockerEngine({ docker: { socketPath }, installation: 'i', logDir: join(dir, 'logs'), log });
  const dataDir = join(dir, 'data');
  await mkdir(dataDir);
  const env = behaviourEnv({ print: ['hello'], farewell: 'bye' });
  const spec = { serverId: 'alpha', core: 'sandbox', version: '', ramMb: 64, image: IMAGE, dataDir, env };
  const events: EngineEvent[] = [];
  t.teardown(engine.watch((event) => events.push(event)));
  const resyncs = () => events.filter((event) => event.type === 'resync').length;
  const texts = async () => (await collect(engine.logs('alpha'))).map((line) => line.text);

  await own.start();
  await until(async () => resyncs() === 1);
  await busyboxImage(docker);
  t.true((await engine.boot(spec, never)).up);
  await until(async () => (await texts()).length === 1);
  const follower = collect(engine.logs('alpha', { follow: true })).catch((error: unknown) => error);

  await own.end('SIGTERM');
  t.like(await t.throwsAsync(engine.list()), { name: 'EngineError', code: 'engine_unavailable' });
  // Docker ends the game before itself: the follower saw that, or the connection broke off first.
  const followed = await follower;
  t.true(
    Array.isArray(followed) ? followed.at(-1)?.text === 'bye' : (followed as EngineError).code === 'engine_unavailable',
  );
  await own.start();
  await until(async () => resyncs() === 2);
  t.like(await engine.inspect('alpha'), { up: false, exit: { oomKilled: false } });
  t.deepEqual(await texts(), ['hello', 'bye']);
  t.true((await engine.boot(spec, never)).up);
  await until(async () => (await texts()).length === 3);

  await own.end('SIGKILL');
  t.like(await t.throwsAsync(engine.boot(spec, never)), { code: 'engine_unavailable' });
  await own.start();
  await until(async () => resyncs() === 3);
  // Whether Docker keeps it or ends it is Docker's affair; here it must be known, and can be made to run.
  t.is((await engine.list()).length, 1);
  t.true((await engine.boot(spec, never)).up);
  await engine.halt('alpha', 20_000);
  t.deepEqual(await engine.list(), []);
  t.is((await texts()).at(-1), 'bye');
  await engine.erase('alpha');
});
