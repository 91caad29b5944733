import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import test from 'ava';
import Docker from 'dockerode';
import { DEFAULT_SANDBOX_IMAGE, buildSandboxImage } from '../../src/engines/docker/sandbox-image.ts';
import { openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { joinRaw, pingStatus } from '../support/bot.ts';
import { isHere, isThorough } from '../support/needs.ts';
import { privateEngine } from '../support/private-engine.ts';
import { runningGames } from '../support/running-games.ts';
import { type Service, startService } from '../support/service.ts';
import { chance } from '../support/random.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const SLOW = { SANDBOX_FAULTS: 'START_MS=2500' };

/** Returns the process ids of this installation's games. */
async function games(service: Service): Promise<number[]> {
  return (await runningGames(service)).map(({ pid }) => pid);
}

/** Returns the first log line of each run of the server `lobby`. */
async function startLines(service: Service): Promise<string[]> {
  const { lines } = await service.call<{ lines: string[] }>('GET', '/v1/servers/lobby/logs?tail=1000');
  return lines.filter((line) => line.includes('Starting minecraft server version'));
}

for (const engine of ['process', 'docker'] as const) {
  const env = { ...SLOW, ENGINE: engine };
  const title = (text: string) => `${engine}: ${text}`;
  const recovers = test.runIf(engine === 'process' || isHere('docker'));

  recovers(title('killed while a server starts: it runs after the next start, and was started once'), async (t) => {
    const service = await startService(t, env);
    await service.create('lobby', '1.20.4');
    await service.call('POST', '/v1/servers/lobby:start');
    await until('the game starts', async () => (await startLines(service)).length > 0);
    await service.kill();
    await service.start();
    await service.reach('lobby', 'running');
    await pingStatus({ port: service.playersPort, fakeHost: 'lobby.localhost' });
    if (engine === 'process') t.is((await games(service)).length, 1);
    t.is((await startLines(service)).length, 1);
  });

  recovers(title('killed while a server runs: the game goes on and is adopted'), async (t) => {
    const service = await startService(t, env);
    await service.create('lobby', '1.20.4');
    await service.call('POST', '/v1/servers/lobby:start');
    await service.reach('lobby', 'running');
    await service.kill();
    await service.start();
    t.is((await service.call('GET', '/v1/servers/lobby')).state, 'running');
    const { output } = await service.call<{ output: string }>('POST', '/v1/servers/lobby:command', { command: 'list' });
    t.regex(output, /^There are 0 of a max of 20 players online/);
    t.is((await startLines(service)).length, 1, 'the game was started once');
    const steve = await joinRaw({
      port: service.playersPort,
      version: '1.20.4',
      fakeHost: 'lobby.localhost',
      name: 'Steve',
    });
    await steve.end();
  });

  recovers(title('killed while a server stops, and while it is deleted: both are finished'), async (t) => {
    const service = await startService(t, { ...env, SANDBOX_FAULTS: '' });
    await service.create('stops', '1.20.4');
    await service.create('goes', '1.20.4');
    await Promise.all(['stops', 'goes'].map((id) => service.call('POST', `/v1/servers/${id}:start`)));
    await Promise.all(['stops', 'goes'].map((id) => service.reach(id, 'running')));
    await Promise.all([service.call('POST', '/v1/servers/stops:stop'), service.call('DELETE', '/v1/servers/goes')]);
    await service.kill();
    await service.start();
    await service.reach('stops', 'hibernated');
    await t.throwsAsync(service.call('GET', '/v1/servers/goes'), { message: /404/ });
    const folders = () => readdir(`${service.dataDir}/servers`);
    await until(async () => (await folders()).length <= 1);
    t.deepEqual(await folders(), ['stops']);
    if (engine === 'process') t.deepEqual(await games(service), []);
  });
}

test('a game that died while the service was down is started again', async (t) => {
  const service = await startService(t);
  await service.create('lobby', '1.20.4');
  await service.call('POST', '/v1/servers/lobby:start');
  await service.reach('lobby', 'running');
  await service.kill();
  for (const pid of await games(service)) process.kill(pid, 'SIGKILL');
  await service.start();
  await service.reach('lobby', 'running');
  t.is((await games(service)).length, 1);
});

test('each start gets its own console password, and a restarted service still reaches the running game', async (t) => {
  const service = await startService(t);
  const { id } = await service.create('castle', '1.21.4');
  const passwordOf = async () => {
    const text = await readFile(join(service.dataDir, 'servers', id, 'server.properties'), 'utf8');
    return /^rcon\.password=(\S{20,})$/m.exec(text)?.[1];
  };
  const say = async () =>
    (await service.call<{ output: string }>('POST', `/v1/servers/${id}:command`, { command: 'list' })).output;
  const run = async () => {
    await service.call('POST', `/v1/servers/${id}:start`);
    await service.reach(id, 'running');
    t.regex(await say(), /There are 0/);
    return await passwordOf();
  };
  const first = await run();
  await service.kill();
  await service.start();
  await service.reach(id, 'running');
  t.regex(await say(), /There are 0/);
  t.is(await passwordOf(), first);
  await service.call('POST', `/v1/servers/${id}:stop`);
  await service.reach(id, 'hibernated');
  const second = await run();
  t.truthy(first);
  t.truthy(second);
  t.not(second, first);
});

test.runIf(isThorough)('random kills lose no acknowledged start or stop and leave the database intact', async (t) => {
  const dice = chance(t);
  const service = await startService(t);
  const ids = ['a1', 'a2', 'a3'];
  for (const id of ids) await service.create(id, '1.20.4');
  for (let round = 0; round < 6; round++) {
    const wishes = new Map<string, string>();
    const busy = ids.map(async (id, n) => {
      const verb = (round + n) % 2 === 0 ? 'start' : 'stop';
      await service.call('POST', `/v1/servers/${id}:${verb}`);
      wishes.set(id, verb === 'start' ? 'running' : 'hibernated');
    });
    const settled = Promise.allSettled(busy);
    await delay(dice() * 400);
    await service.kill();
    await settled;
    await service.start();
    for (const [id, state] of wishes) await service.reach(id, state);
    t.is((await games(service)).length <= ids.length, true);
  }
  t.is(await service.stop(), 0);
  const store = await openStore(`sqlite:${service.dataDir}/dormouse.db`, TABLES);
  t.deepEqual(await store.query('PRAGMA integrity_check'), [{ integrity_check: 'ok' }]);
  await store.close();
});

test('a second service on the same data folder exits with a one-line message', async (t) => {
  const service = await startService(t);
  const second = run(process.execPath, ['src/start.js'], {
    env: { PATH: process.env['PATH'], DATA_DIR: service.dataDir, HTTP_PORT: '0', PROXY_PORT: '0', SFTP_PORT: '0' },
  });
  const error = await t.throwsAsync<Error & { stderr: string }>(second);
  t.regex(error?.stderr ?? '', /^Another Dormouse .*Stop it first\.\n$/);
});

test('a service frozen past its lease keeps running afterwards, and a second one on its ports is refused', async (t) => {
  const service = await startService(t);
  const store = await openStore(`sqlite:${service.dataDir}/dormouse.db`, TABLES);
  t.teardown(() => store.close());
  const [lease] = await store.query<{ pid: number }>('SELECT "pid" FROM "leases"');
  // Expire the lease. If the service is stopped during a write, other writes fail, so try again.
  const later = () => store.write((tx) => tx.run('UPDATE "leases" SET "expiresAt" = "expiresAt" - 40000'));
  await until({ despiteErrors: true }, async () => {
    process.kill(lease!.pid, 'SIGSTOP');
    await later().catch((error: unknown) => {
      process.kill(lease!.pid, 'SIGCONT');
      throw error;
    });
    return true;
  });
  const ports = { HTTP_PORT: new URL(service.baseUrl).port, PROXY_PORT: String(service.playersPort), SFTP_PORT: '0' };
  const env = { PATH: process.env['PATH'], DATA_DIR: service.dataDir, PROXY_HOST: '127.0.0.1', ...ports };
  const error = await t.throwsAsync<Error & { stderr: string }>(run(process.execPath, ['src/start.js'], { env }));
  t.regex(error?.stderr ?? '', /^Another Dormouse .*Stop it first\.\n$/);
  process.kill(lease!.pid, 'SIGCONT');
  await service.create('still', '1.21.4');
  await service.kill();
  const stranger = createServer().listen(Number(ports.HTTP_PORT), '127.0.0.1');
  t.teardown(() => stranger.close());
  await once(stranger, 'listening');
  const taken = await t.throwsAsync<Error & { stderr: string }>(run(process.execPath, ['src/start.js'], { env }));
  t.regex(taken?.stderr ?? '', /^Port \d+ for .* is already in use/);
  t.like(await store.query('SELECT "pid" FROM "leases"'), [{ pid: lease!.pid }]);
  stranger.close();
});

test.runIf(isHere('dockerd'))(
  'servers return to their intended state after the Docker engine ends or is killed',
  async (t) => {
    const own = await privateEngine(t);
    await own.start();
    // Copy the image, because building it again would take twice as long.
    const machines = new Docker();
    await buildSandboxImage(machines, DEFAULT_SANDBOX_IMAGE, () => {});
    const loading = await own.docker.loadImage(await machines.getImage(DEFAULT_SANDBOX_IMAGE).get());
    for await (const _ of loading) continue;
    const service = await startService(t, { ENGINE: 'docker', DOCKER_HOST: `unix://${own.socketPath}` });
    for (const id of ['awake', 'stops', 'sleeps']) await service.create(id, '1.20.4');
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      for (const id of ['awake', 'stops']) await service.call('POST', `/v1/servers/${id}:start`);
      for (const id of ['awake', 'stops']) await service.reach(id, 'running');

      await own.end(signal);
      // If the service saw the game end, it is starting it again. It does not see a kill of the engine.
      t.regex((await service.call('GET', '/v1/servers/awake')).state, /running|starting/);
      t.is((await service.call('POST', '/v1/servers/stops:stop')).state, 'stopping');
      await own.start();
      await service.reach('stops', 'hibernated');
      // The service reports the game as running until it queries the engine, so wait for the container first.
      await until(async () => (await own.docker.listContainers()).length === 1);
      await service.reach('awake', 'running');
      t.is((await service.call('GET', '/v1/servers/sleeps')).state, 'hibernated');
    }
    // Delete the games through the service while its engine is still there.
    await service.call('DELETE', '/v1/servers/awake');
    await until(async () => (await own.docker.listContainers({ all: true })).length === 0);
  },
);
