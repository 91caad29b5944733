import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { containerName } from '../../src/engines/docker/container.ts';
import { createDockerEngine } from '../../src/engines/docker/docker.ts';
import { IMAGE, busyboxImage } from '../conformance/busybox-image.ts';
import { behaviourEnv } from '../conformance/docker-bench.ts';
import { collect } from '../conformance/engine.ts';
import { gameSpec } from '../conformance/game-spec.ts';
import { isHere } from '../support/needs.ts';
import { type PrivateEngine, privateEngine } from '../support/private-engine.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const never = new AbortController().signal;
const log = pino({ level: 'silent' });

/** The addresses of the other machine: on the internet (RFC 5737), in a private network, and of cloud metadata. */
const OUTSIDE = ['203.0.113.2', '10.99.0.2', '169.254.169.254'];
const MACHINE = '203.0.113.1';
const DATABASE = { host: '10.99.0.2', port: 3_306 };

/** Links the engine's machine to another one, which listens at `OUTSIDE`. The machine itself listens on port 80. */
async function link(t: ExecutionContext, { networkPid }: PrivateEngine): Promise<void> {
  const other = spawn('unshare', ['--net', 'sh', '-c', 'echo; exec sleep infinity'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.teardown(() => other.kill('SIGKILL'));
  await once(other.stdout, 'data');
  const on = (pid: number, line: string) => run('nsenter', ['-t', String(pid), '-n', 'sh', '-ec', line]);
  await on(networkPid, `ip link set lo up; ip link add outward type veth peer name inward netns ${other.pid}`);
  await on(
    networkPid,
    `ip addr add ${MACHINE}/24 dev outward; ip addr add 10.99.0.1/24 dev outward; ip addr add 169.254.169.1/24 dev outward
     ip link set outward up`,
  );
  const addresses = OUTSIDE.map((address) => `ip addr add ${address}/24 dev inward`).join('; ');
  await on(other.pid!, `ip link set lo up; ${addresses}; ip link set inward up; ip route add default via ${MACHINE}`);
  for (const [pid, port] of [
    [networkPid, 80],
    [other.pid!, 80],
    [other.pid!, DATABASE.port],
  ] as const) {
    const args = ['-t', String(pid), '-n', 'busybox', 'nc', '-ll', '-p', String(port), '-e', '/bin/busybox', 'true'];
    const listener = spawn('nsenter', args, { stdio: 'ignore' });
    t.teardown(() => listener.kill('SIGKILL'));
    await until(
      async () => (await on(pid, `busybox nc -w 2 127.0.0.1 ${port} </dev/null`).catch(() => undefined)) !== undefined,
    );
  }
}

async function games(t: ExecutionContext, settings: object = {}) {
  t.timeout(300_000);
  const own = await privateEngine(t);
  await writeFile(
    join(own.dir, 'daemon.json'),
    JSON.stringify({ 'deprecated-key-path': join(own.dir, 'key.json'), ...settings }),
  );
  await own.start();
  await busyboxImage(own.docker);
  const options = { docker: { socketPath: own.socketPath }, installation: 'i', logDir: join(own.dir, 'logs'), log };
  const spec = async (serverId: string, behaviour = {}, core = 'paper') => {
    const dataDir = join(own.dir, 'servers', serverId);
    await mkdir(dataDir, { recursive: true });
    await chmod(own.dir, 0o755);
    return gameSpec(serverId, { core, image: IMAGE, dataDir, env: behaviourEnv(behaviour) });
  };
  return { own, options, spec };
}

test.runIf(isHere('dockerd'))(
  'a game reaches the internet and its database, but not its machine, private networks or cloud metadata',
  async (t) => {
    const { own, options, spec } = await games(t);
    await link(t, own);
    const dials = [
      ...OUTSIDE.map((host) => ({ host, port: 80 })),
      DATABASE,
      { host: MACHINE, port: 80 },
      { host: '10.99.0.1', port: 80 },
    ];
    const heard = async (serverId: string, engine: ReturnType<typeof createDockerEngine>) => {
      await engine.boot(await spec(serverId, { dials }), never);
      return until(async () => {
        const lines = (await collect(engine.logs(serverId))).map(({ text }) => text);
        return lines.length === dials.length && lines;
      });
    };
    const everything = createDockerEngine({ ...options, installation: 'open' });
    t.deepEqual(
      await heard('open', everything),
      dials.map(({ host, port }) => `reached ${host} ${port}`),
    );
    const internet = createDockerEngine({ ...options, reach: 'internet', database: DATABASE });
    const expected = [
      'reached 203.0.113.2 80',
      'apart from 10.99.0.2 80',
      'apart from 169.254.169.254 80',
      'reached 10.99.0.2 3306',
      'apart from 203.0.113.1 80',
      'apart from 10.99.0.1 80',
    ];
    t.deepEqual(await heard('one', internet), expected);
    const game = await internet.inspect('one');
    const dialled = run('nsenter', [
      '-t',
      String(own.networkPid),
      '-n',
      'busybox',
      'nc',
      '-w',
      '2',
      game!.game!.host,
      '25565',
    ]);
    await t.notThrowsAsync(dialled, 'the machine reaches the game');

    // The network is removed with its last server. The next server gets new rules, and no old ones are left.
    await internet.erase('one');
    t.deepEqual(await heard('two', internet), expected);
    const { stdout } = await run('nsenter', ['-t', String(own.networkPid), '-n', 'iptables', '-S', 'INPUT']);
    t.is(stdout.split('\n').filter((line) => line.endsWith('DORMOUSE-i')).length, 1, stdout);

    const exec = await own.docker.getContainer(containerName('i', 'two')).exec({
      Cmd: ['/bin/busybox', 'timeout', '1', '/bin/busybox', 'nc', '-l', '-p', '111'],
      AttachStderr: true,
    });
    const said = await exec.start({});
    const chunks: Buffer[] = [];
    for await (const chunk of said) chunks.push(chunk as Buffer);
    t.regex(
      Buffer.concat(chunks).toString(),
      /Permission denied/,
      'a game cannot use a privileged port to look trusted',
    );
    const helpers = { all: true, filters: { label: ['dormouse.isolates'] } };
    await until(async () => (await own.docker.listContainers(helpers)).length === 0);
    for (const id of ['open', 'two']) await (id === 'open' ? everything : internet).erase(id);
  },
);

test.runIf(isHere('dockerd'))('our own rules keep games apart if Docker may not use iptables', async (t) => {
  const { own, options, spec } = await games(t, { iptables: false, ip6tables: false });
  const engine = createDockerEngine({ ...options, reach: 'internet' });
  const { game: alpha } = await engine.boot(await spec('alpha'), never);
  const { networkPid } = own;
  const open = async () =>
    run('nsenter', ['-t', String(networkPid), '-n', 'busybox', 'nc', '-w', '2', alpha!.host, '25565']);
  await until({ what: 'alpha answers', despiteErrors: true }, open);
  await engine.boot(await spec('beta', { dials: [{ host: alpha!.host, port: 25_565 }] }), never);
  const said = await until(async () => (await collect(engine.logs('beta')))[0]?.text);
  t.is(said, `apart from ${alpha!.host} 25565`);
  for (const id of ['alpha', 'beta']) await engine.erase(id);
});

test.runIf(isHere('dockerd'))(
  'uploaded code is refused if games cannot be kept apart, unless they may reach everything',
  async (t) => {
    const { own, options, spec } = await games(t);
    const engine = createDockerEngine({ ...options, reach: 'internet' });
    t.true((await engine.boot(await spec('beta', {}, 'sandbox'), never)).up);
    await run('nsenter', [
      '-t',
      String(own.networkPid),
      '-n',
      'sh',
      '-c',
      'echo 0 > /proc/sys/net/bridge/bridge-nf-call-iptables',
    ]);
    const strict = createDockerEngine({ ...options, reach: 'internet' });
    const error = await t.throwsAsync(strict.boot(await spec('alpha'), never), { name: 'EngineError' });
    const sentence = 'Games could not be blocked from the networks of this machine:';
    t.is(error.message, `${sentence} packets between games do not pass iptables (net.bridge.bridge-nf-call-iptables).`);
    t.true((await createDockerEngine(options).boot(await spec('alpha'), never)).up, 'GAMES_REACH=everything');
    for (const id of ['alpha', 'beta']) await engine.erase(id);
  },
);
