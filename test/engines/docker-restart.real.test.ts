import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { pino } from 'pino';
import { createDockerEngine } from '../../src/engines/docker/docker.ts';
import type { EngineError, EngineEvent } from '../../src/engines/engine.ts';
import { IMAGE, busyboxImage } from '../conformance/busybox-image.ts';
import { behaviourEnv } from '../conformance/docker-bench.ts';
import { collect } from '../conformance/engine.ts';
import { isHere } from '../support/needs.ts';
import { privateEngine } from '../support/private-engine.ts';
import { until } from '../support/until.ts';

const never = new AbortController().signal;

test.runIf(isHere('dockerd'))('games are found again after the Docker Engine restarts or is killed', async (t) => {
  t.timeout(300_000);
  const own = await privateEngine(t);
  const { docker, socketPath } = own;
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-restart-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const log = pino({ level: 'silent' });
  const engine = createDockerEngine({ docker: { socketPath }, installation: 'i', logDir: join(dir, 'logs'), log });
  const dataDir = join(dir, 'data');
  await mkdir(dataDir);
  const env = behaviourEnv({ print: ['hello'], farewell: 'bye' });
  const spec = {
    serverId: 'alpha',
    core: 'sandbox',
    version: '',
    ramMb: 64,
    cpus: 1,
    ports: [],
    image: IMAGE,
    dataDir,
    env,
  };
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
  // Docker stops the game before itself. The follower reads its last line, or its connection breaks first.
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
  // Docker may keep or end the game. Either way the engine lists it and can boot it again.
  t.is((await engine.list()).length, 1);
  t.true((await engine.boot(spec, never)).up);
  await engine.halt('alpha', 20_000);
  t.deepEqual(await engine.list(), []);
  t.is((await texts()).at(-1), 'bye');
  await engine.erase('alpha');
});
