import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import Docker, { type ContainerStats } from 'dockerode';
import { array, assert, asyncProperty, constantFrom, integer, record, string } from '../support/property.ts';
import { pino } from 'pino';
import { logArchive } from '../../src/engines/docker/archive.ts';
import { containerName } from '../../src/engines/docker/container.ts';
import { refuseMappedUsers } from '../../src/engines/docker/containers.ts';
import { createDockerEngine } from '../../src/engines/docker/docker.ts';
import { linesAfter, logLines } from '../../src/engines/docker/log-lines.ts';
import { cpuReading, gameStats } from '../../src/engines/docker/stats.ts';
import type { EngineEvent, LogLine } from '../../src/engines/engine.ts';
import { packOfImage } from '../../src/game/image-pack.ts';
import { IMAGE } from '../conformance/busybox-image.ts';
import { type DockerBench, dockerBench } from '../conformance/docker-bench.ts';
import { answers, collect } from '../conformance/engine.ts';
import { isHere } from '../support/needs.ts';
import { paused } from '../support/paused.ts';
import { until } from '../support/until.ts';

const never = new AbortController().signal;
const log = pino({ level: 'silent' });

function holds(title: string, body: (t: ExecutionContext, bench: DockerBench) => Promise<void>): void {
  test.serial.runIf(isHere('docker'))(title, async (t) => {
    t.timeout(300_000);
    await body(t, await dockerBench(t));
  });
}

holds('a container has only the rights it needs', async (t, { engine, docker, installation, spec }) => {
  const alpha = spec('alpha');
  await engine.boot(alpha, never);
  const info = await docker.getContainer(containerName(installation, 'alpha')).inspect();
  const { HostConfig: host, Config: config } = info;
  t.like(config, {
    User: process.getuid?.() === 0 ? '1000:1000' : `${process.getuid?.()}:${process.getuid?.()}`,
    Tty: false,
  });
  t.deepEqual(host.CapDrop, ['ALL']);
  t.deepEqual(host.SecurityOpt, ['no-new-privileges']);
  t.like(host, {
    Memory: 64 * 1024 * 1024,
    MemorySwap: 64 * 1024 * 1024,
    PidsLimit: 1024,
    CpuPeriod: 100_000,
    CpuQuota: 100_000,
    Init: true,
    Privileged: false,
    ReadonlyRootfs: true,
    PublishAllPorts: false,
    RestartPolicy: { Name: 'no', MaximumRetryCount: 0 },
    LogConfig: { Type: 'json-file', Config: { 'max-file': '3', 'max-size': '10m' } },
  });
  t.deepEqual(host.PortBindings ?? {}, {});
  t.deepEqual(Object.values(info.NetworkSettings.Ports).filter(Boolean), []);
  t.deepEqual(Object.keys(info.NetworkSettings.Networks), [`dormouse-${installation}`]);
  t.deepEqual(
    info.Mounts.map((mount) => [mount.Source, mount.Destination]),
    [[alpha.dataDir, '/data']],
  );
  if (process.getuid?.() === 0) t.is((await stat(alpha.dataDir)).uid, 1000);
  const java = await engine.boot({ ...spec('beta'), core: 'paper', cpus: 1.5, ports: [] }, never);
  t.true(java.up);
  const other = await docker.getContainer(containerName(installation, 'beta')).inspect();
  t.like(other.HostConfig, { ReadonlyRootfs: true, CpuQuota: 150_000 });
});

holds(
  'games cannot reach one another, and this machine can reach each of them',
  async (t, { engine, docker, installation, spec }) => {
    const alpha = await engine.boot(spec('alpha'), never);
    const beta = await engine.boot(spec('beta'), never);
    await answers(alpha.game!);
    await answers(beta.game!);
    const dial = async (from: string, host: string) => {
      const exec = await docker.getContainer(containerName(installation, from)).exec({
        Cmd: ['/bin/busybox', 'nc', '-w', '2', host, '25565', '-e', '/bin/busybox', 'true'],
      });
      const stream = await exec.start({});
      stream.resume();
      await once(stream, 'end');
      // The stream may end shortly before Docker records the exit code.
      return await until(async () => (await exec.inspect()).ExitCode ?? undefined);
    };
    // A game reaches its own port, so the dialling program works.
    await until(async () => (await dial('alpha', alpha.game!.host)) === 0);
    t.not(await dial('alpha', beta.game!.host), 0);
    t.not(await dial('beta', alpha.game!.host), 0);
  },
);

test('a Docker that maps users is refused with a reason, and one that maps none or does not say is accepted', async (t) => {
  const refused = async (options: unknown) => {
    const error = await refuseMappedUsers(async () => ({ SecurityOptions: options })).catch((thrown: Error) => thrown);
    return error?.message ?? '';
  };
  t.regex(await refused(['name=seccomp,profile=builtin', 'name=rootless', 'name=cgroupns']), /^Docker runs rootless, /);
  t.regex(await refused(['name=apparmor', 'name=userns']), /^Docker maps the users of containers \(userns-remap\), /);
  for (const options of [['name=seccomp,profile=builtin', 'name=cgroupns'], [], undefined, 'x'])
    t.is(await refused(options), '');
  await t.notThrowsAsync(refuseMappedUsers(() => Promise.reject(new Error('no answer'))));
});

/** Runs a line of shell in a server's container. Returns its output. */
async function shell({ docker, installation }: DockerBench, id: string, line: string): Promise<string> {
  const exec = await docker.getContainer(containerName(installation, id)).exec({
    Cmd: ['/bin/busybox', 'sh', '-c', `export PATH=/bin; ${line}`],
    AttachStdout: true,
    Tty: true,
  });
  const stream = await exec.start({ Tty: true });
  return (await text(stream)).replaceAll('\r', '').trim();
}

for (const core of ['sandbox', 'paper', 'forge']) {
  holds(`a plugin of ${core} can write only to its server's folder and to bounded memory`, async (t, bench) => {
    await bench.engine.boot({ ...bench.spec('alpha'), core, ramMb: 256 }, never);
    const run = (line: string) => shell(bench, 'alpha', line);
    for (const dir of ['/', '/bin', '/etc', '/opt', '/srv', '/var', '/home', '/usr', '/root', '/sys', '/proc']) {
      t.regex(
        await run(`(busybox dd if=/dev/zero of=${dir}/fill bs=1k count=1 && echo written) 2>&1`),
        /Read-only|denied|nonexistent|No such|not permitted/,
        dir,
      );
    }
    t.is(await run('echo x > /data/level.dat && busybox cat /data/level.dat'), 'x');
    // Every writable mount is the server's folder or memory of limited size.
    const mounts = await run('while read -r mount; do set -- $mount; test -w $2 && echo $mount; done < /proc/mounts');
    for (const [, path = '', kind = '', options = ''] of mounts.split('\n').map((each) => each.split(' '))) {
      if (
        path === '/data' ||
        options.startsWith('ro') ||
        ['mqueue', 'devtmpfs'].includes(kind) ||
        path.startsWith('/proc/')
      )
        continue;
      t.is(kind, 'tmpfs', path);
      t.regex(options, /size=\d+k/, path);
    }
    t.regex(
      await run('busybox dd if=/dev/zero of=/tmp/fill bs=1M count=100 2>&1; busybox rm /tmp/fill'),
      /No space left/,
    );
    if (core === 'sandbox') return;
    // Plugins unpack their native libraries to /tmp, so programs must run there.
    t.is(await run('busybox cp /bin/busybox /tmp/busybox && /tmp/busybox echo loaded'), 'loaded');
    t.is(await run('echo x > /home/minecraft/x && echo x > /run/x && echo x > /var/tmp/x && echo ok'), 'ok');
  });
}

holds('a paused game still ends by itself', async (t, { engine, docker, installation, spec }) => {
  const container = () => docker.getContainer(containerName(installation, 'alpha'));
  for (const end of ['halt', 'kill', 'erase'] as const) {
    await engine.boot(spec('alpha', { farewell: 'saved', print: [end] }), never);
    await until(async () => (await collect(engine.logs('alpha'))).at(-1)?.text === end);
    await paused(container());
    const began = Date.now();
    await (end === 'halt' ? engine.halt('alpha', 240_000) : engine[end]('alpha'));
    t.true(Date.now() - began < 200_000, end);
    t.is(await engine.inspect('alpha'), undefined, end);
    if (end === 'halt') t.is((await collect(engine.logs('alpha'))).at(-1)?.text, 'saved');
  }
});

holds('an interrupted boot is finished, and one with other settings is replaced', async (t, bench) => {
  const { engine, docker, installation, spec } = bench;
  const alpha = spec('alpha', { print: ['hello'] });
  await engine.boot(alpha, never);
  const name = containerName(installation, 'alpha');
  const made = await docker.getContainer(name).inspect();
  await engine.kill('alpha');
  // The state after a service died between creating and starting the container.
  const { Config, HostConfig } = made;
  const half = { name, Image: IMAGE, Labels: Config.Labels, Env: Config.Env, User: Config.User, HostConfig };
  const created = await docker.createContainer(half);
  t.like(await engine.inspect('alpha'), { up: false, exit: { code: null, oomKilled: false, at: null } });
  t.true((await engine.boot(alpha, never)).up);
  t.is((await docker.getContainer(name).inspect()).Id, created.id);
  await engine.kill('alpha');
  const outdated = await docker.createContainer({ ...half, Labels: { ...Config.Labels, 'dormouse.spec': 'old' } });
  t.true((await engine.boot(alpha, never)).up);
  t.not((await docker.getContainer(name).inspect()).Id, outdated.id);
  await engine.kill('alpha');
  // The network was pruned while no game was running.
  await docker.createContainer(half);
  await docker.getNetwork(`dormouse-${installation}`).remove();
  t.true((await engine.boot(alpha, never)).up);
});

holds(
  'an existing network that lets games talk to each other is refused',
  async (t, { engine, docker, installation, spec }) => {
    await docker.createNetwork({ Name: `dormouse-${installation}`, Driver: 'bridge' });
    await t.throwsAsync(engine.boot(spec('alpha'), never), { name: 'EngineError', message: /reach one another/ });
    t.deepEqual(await engine.list(), []);
  },
);

holds('a missing image is first requested from its provider, then reported by name', async (t, bench) => {
  const { engine, installation, logDir, spec } = bench;
  const missing = { ...spec('alpha'), image: 'localhost:1/dormouse/missing:1' };
  const error = await t.throwsAsync(engine.boot(missing, never), { name: 'EngineError', message: /localhost:1/ });
  t.like(error, { code: 'image_pull_failed' });
  const asked: string[] = [];
  const provided = createDockerEngine({
    installation,
    logDir,
    log,
    async provideImage(docker, image) {
      asked.push(image);
      await docker.getImage(IMAGE).tag({ repo: 'dormouse/conformance', tag: installation });
      return true;
    },
  });
  const image = `dormouse/conformance:${installation}`;
  t.teardown(() => new Docker().getImage(image).remove());
  t.true((await provided.boot({ ...spec('alpha'), image }, never)).up);
  t.deepEqual(asked, [image]);
});

holds("the installer's result file names the installed version and core", async (t, { engine, spec }) => {
  const installer = spec('alpha', { exitCode: 0 });
  const env = { ...installer.env, GAME_LEAVE: 'VERSION="1.20.1"\nTYPE="NEOFORGE"' };
  await engine.install({ ...installer, env }, never);
  const made = await packOfImage(installer.dataDir, 'curseforge', { modpackRef: 'pack' }, { tenant: 'acc_test' });
  t.deepEqual(made, { type: 'neoforge', version: '1.20.1' });
});

holds('log archives written twice, and long logs, neither lose nor repeat lines', async (t, bench) => {
  const { engine, docker, installation, logDir, spec } = bench;
  const lines = Array.from({ length: 5_000 }, (_, n) => `line ${n}`);
  await engine.boot(spec('alpha', { print: lines, farewell: 'bye' }), never);
  const all = await until(async () => {
    const now = await collect(engine.logs('alpha'));
    return now.length === 5_000 && now;
  });
  // The state after a crash between writing the archive and removing the container.
  const { Id } = await docker.getContainer(containerName(installation, 'alpha')).inspect();
  await logArchive(logDir).append('alpha', Id, all.slice(-2_000));
  const positions = async (after?: string) =>
    (await collect(engine.logs('alpha', { after }))).map((line) => line.position);
  t.deepEqual(
    await positions(),
    all.slice(-2_000).map((line) => line.position),
  );
  t.deepEqual(
    await positions(all[4_990]!.position),
    all.slice(4_991).map((line) => line.position),
  );
  await engine.halt('alpha', 20_000);
  const kept = await collect(engine.logs('alpha'));
  t.deepEqual(
    kept.map((line) => line.text),
    [...lines.slice(-1_999), 'bye'],
  );
  t.deepEqual(await collect(engine.logs('alpha', { after: all[10]!.position })), kept);
});

holds('an invalid server id is refused', async (t, { engine, spec }) => {
  for (const id of ['', '../x', 'A', 'a/b', 'a b', '-a', 'a'.repeat(64)]) {
    await t.throwsAsync(engine.boot({ ...spec('alpha'), serverId: id }, never), { instanceOf: TypeError });
    await t.throwsAsync(engine.erase(id), { instanceOf: TypeError });
    await t.throwsAsync(collect(engine.logs(id)), { instanceOf: TypeError });
  }
});

test('every method reports an unavailable Docker Engine', async (t) => {
  const logDir = await mkdtemp(join(tmpdir(), 'dormouse-away-'));
  t.teardown(() => rm(logDir, { recursive: true }));
  const engine = createDockerEngine({
    docker: { socketPath: join(logDir, 'none.sock') },
    installation: 'away',
    logDir,
    log,
  });
  const spec = {
    serverId: 'alpha',
    core: 'sandbox',
    version: '',
    ramMb: 64,
    cpus: 1,
    ports: [],
    image: IMAGE,
    dataDir: logDir,
    env: {},
  };
  const away = { name: 'EngineError', message: /does not respond/ };
  for (const call of [
    () => engine.boot(spec, never),
    () => engine.install(spec, never),
    () => engine.halt('alpha', 1_000),
    () => engine.kill('alpha'),
    () => engine.erase('alpha'),
    () => engine.list(),
    () => engine.inspect('alpha'),
    () => engine.stats('alpha'),
    () => collect(engine.logs('alpha', { follow: true })),
  ]) {
    t.like(await t.throwsAsync(call(), away), { code: 'engine_unavailable' });
  }
});

test('a watcher reconnects to a Docker Engine that breaks off, and emits resync each time', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-watch-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const socketPath = join(dir, 'docker.sock');
  const engine = createDockerEngine({ docker: { socketPath }, installation: 'i', logDir: dir, log });
  const events: EngineEvent[] = [];
  const stop = engine.watch((event) => {
    events.push(event);
    throw new Error('a listener that fails hurts nobody');
  });
  t.teardown(stop);
  let served = 0;
  const labels = { 'dormouse.server': 'alpha', 'dormouse.installer': 'false', exitCode: '3' };
  const die = { Action: 'die', Actor: { ID: 'c1', Attributes: labels }, timeNano: 1_700_000_000_123_000_000 };
  const fake = createServer((request, response) => {
    if (!request.url?.includes('/events')) {
      response.writeHead(404).end('{"message":"No such container: c1"}');
      return;
    }
    served += 1;
    response.writeHead(200, { 'content-type': 'application/json' });
    const text = `${JSON.stringify(die)}\n`;
    if (served === 1) response.write(text.slice(0, 20), () => response.write(text.slice(20), () => response.end()));
    else if (served === 2) response.write('{"nonsense', () => response.destroy());
    else response.flushHeaders();
  });
  fake.listen(socketPath);
  t.teardown(() => {
    fake.closeAllConnections();
    fake.close();
  });
  await until(async () => events.filter((event) => event.type === 'resync').length === 3);
  t.deepEqual(
    events.map(({ type }) => type),
    ['resync', 'down', 'away', 'resync', 'away', 'resync'],
  );
  t.deepEqual(events[1], {
    type: 'down',
    game: {
      serverId: 'alpha',
      up: false,
      installer: false,
      game: null,
      rcon: null,
      management: null,
      startedAt: null,
      exit: { code: 3, oomKilled: false, at: 1_700_000_000_123 },
    },
  });
  stop();
  await until(() => new Promise<boolean>((resolve) => fake.getConnections((_, count) => resolve(count === 0))));
});

const stamp = (n: number) => `2026-11-20T10:00:00.${String(n).padStart(9, '0')}Z`;

function frame(source: number, payload: string): Buffer {
  const header = Buffer.alloc(8);
  header[0] = source;
  header.writeUInt32BE(Buffer.byteLength(payload), 4);
  return Buffer.concat([header, Buffer.from(payload)]);
}

async function* pieces(whole: Buffer, cuts: number[]): AsyncGenerator<Buffer> {
  let from = 0;
  for (const cut of cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b)) {
    yield whole.subarray(from, cut);
    from = cut;
  }
  yield whole.subarray(from);
}

test('Docker output is parsed the same however it is split, with unique positions and joined line fragments', async (t) => {
  const line = record({
    source: constantFrom(1, 2),
    text: string({ unit: 'grapheme', maxLength: 20 }),
    step: integer({ min: 0, max: 1 }),
  });
  await assert(
    asyncProperty(array(line, { maxLength: 20 }), array(integer({ min: 0, max: 5_000 })), async (lines, cuts) => {
      let now = 0;
      const clean = lines.map(({ source, text, step }) => ({
        source,
        text: text.replaceAll(/[\n\r]/g, ' '),
        stamp: stamp((now += step)),
      }));
      const whole = Buffer.concat(clean.map(({ source, text, stamp }) => frame(source, `${stamp} ${text}\n`)));
      const read = await collect(logLines(pieces(whole, cuts)));
      t.deepEqual(
        read.map((each) => each.text),
        clean.map((each) => each.text),
      );
      t.is(new Set(read.map((each) => each.position)).size, read.length);
      for (const [index, { position }] of read.entries()) {
        t.deepEqual(await collect(linesAfter(logLines(pieces(whole, cuts)), position)), read.slice(index + 1));
      }
    }),
    { numRuns: 200 },
  );
  const parts = [
    frame(1, `${stamp(1)} be`),
    frame(2, `${stamp(2)} other\n`),
    frame(1, `${stamp(1)} gin\r\n`),
    frame(1, `${stamp(3)} cut`),
  ];
  const texts = (await collect(logLines(pieces(Buffer.concat(parts), [])))).map((each) => each.text);
  t.deepEqual(texts, ['other', 'begin', 'cut']);
  await t.throwsAsync(collect(logLines(pieces(Buffer.from('plain text of a terminal'), []))), {
    message: /not framed/,
  });
});

test('lines after a position follow the stream order, or their timestamps if the position is lost', async (t) => {
  async function* lines(...numbers: number[]): AsyncGenerator<LogLine> {
    for (const n of numbers) yield { position: stamp(n), text: String(n) };
  }
  const texts = async (from: AsyncIterable<LogLine>) => (await collect(from)).map((each) => each.text);
  t.deepEqual(await texts(linesAfter(lines(1, 4, 3, 2, 5), stamp(4))), ['3', '2', '5']);
  t.deepEqual(await texts(linesAfter(lines(1, 5, 3, 6), stamp(4))), ['5', '6']);
  t.deepEqual(await texts(linesAfter(lines(1, 2), undefined)), ['1', '2']);
});

test('game stats match docker stats for both cgroup versions', (t) => {
  const MIB = 1024 * 1024;
  const raw = (stats: Record<string, number>) =>
    ({
      memory_stats: { usage: 300 * MIB, limit: 512 * MIB, stats },
      read: '2026-01-01T00:01:00.5Z',
      cpu_stats: { cpu_usage: { total_usage: 90_500_000_000 } },
    }) as unknown as ContainerStats;
  const minuteAgo = { at: Date.parse('2026-01-01T00:00:00.5Z'), usedMs: 500 };
  const expected = { cpuPercent: 150, memUsedMb: 200, memLimitMb: 512 };
  t.deepEqual(gameStats(raw({ total_inactive_file: 100 * MIB, inactive_file: 1 }), minuteAgo), expected);
  t.deepEqual(gameStats(raw({ inactive_file: 100 * MIB }), minuteAgo), expected);
  const now = cpuReading(raw({}));
  t.deepEqual(now, { at: minuteAgo.at + 60_000, usedMs: 90_500 });
  t.is(gameStats(raw({}), now)?.cpuPercent, 0);
  t.is(gameStats(raw({}), { ...minuteAgo, usedMs: 100_000 })?.cpuPercent, 0, 'a restart resets the counter');
  t.is(gameStats({ ...raw({}), memory_stats: {} } as unknown as ContainerStats, minuteAgo), undefined);
});
