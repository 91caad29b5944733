import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { isKnown, pingStatus } from '../support/bot.ts';
import { EchoPlayer } from '../support/echo-player.ts';
import { otherRelease } from '../support/other-release.ts';
import { runningProxies } from '../support/running-proxies.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const CORE = 'test/fixtures/echo-core/replace.ts';
const ROOT = join(import.meta.dirname, '../..');
const CHILD = { PROXY: 'child' };
const HOST = 'echo.localhost';
/** `npm run test:crash` sets higher numbers. */
const KILLS = Number(process.env['PROXY_KILLS'] ?? 2);
const PLAYERS = Number(process.env['PROXY_PLAYERS'] ?? 30);
const HELD = Number(process.env['PROXY_HELD'] ?? 20);
/** The longest allowed round trip of a packet. Only an otherwise idle machine can meet a limit. */
const MOST_MS = Number(process.env['PROXY_MOST_MS'] ?? Infinity);
const PATIENCE_MS = 120_000;

/** The program of the service in `folder`, with a game that echoes every byte. */
const programIn = (folder: string) => ['--import', join(folder, CORE), join(folder, 'src/main.ts')];

async function startEcho(t: ExecutionContext): Promise<Service> {
  const service = await startService(t, CHILD, programIn(ROOT));
  await create(service, 'echo');
  return service;
}

/** Creates a server and waits until the proxy knows it, which is shortly after the reply. */
async function create(service: Service, name: string): Promise<void> {
  await service.create(name, '1.20.4');
  const ping = { port: service.playersPort, fakeHost: `${name}.localhost`, timeoutMs: PATIENCE_MS };
  await until({ what: 'it is known', despiteErrors: true }, async () => isKnown(await pingStatus(ping)));
}

async function enter(t: ExecutionContext, service: Service, names: string[]): Promise<EchoPlayer[]> {
  const players: EchoPlayer[] = [];
  t.teardown(() => players.forEach((player) => player.leave()));
  const come = (name: string): Promise<void> => {
    const player = new EchoPlayer(service.playersPort, HOST, name);
    players.push(player);
    return player.joined();
  };
  // The first player wakes the game. The number of waiting players is limited, but a running game admits all.
  const [first = '', ...others] = names;
  await come(first);
  await Promise.all(others.map(come));
  return players;
}

const named = (count: number, prefix = 'Player') => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

/** Waits until the service lists exactly these players. Proxies report changes with a short delay. */
async function plays(service: Service, names: string[]): Promise<void> {
  await until(`it knows of ${names.length} players`, async () => {
    const { online } = await service.call<{ online: string[] }>('GET', '/v1/servers/echo/players');
    return isDeepStrictEqual(online.toSorted(), names.toSorted());
  });
}

/** Asserts that no player was disconnected and that every byte came back in order. */
async function unharmed(t: ExecutionContext, players: EchoPlayer[]): Promise<void> {
  await Promise.all(players.map((player) => player.pause()));
  t.deepEqual(
    players.flatMap(({ failure }) => failure ?? []),
    [],
  );
  for (const { sent, received } of players) t.true(sent > 0 && received === sent);
  const worstMs = Math.max(...players.map((player) => player.worstMs));
  t.log({ players: players.length, worstMs: Math.round(worstMs) });
  t.true(worstMs <= MOST_MS, `a packet came back after ${worstMs} ms`);
}

test.serial('players stay connected and lose no bytes while the service is killed repeatedly', async (t) => {
  t.timeout(120_000 + KILLS * 60_000);
  const service = await startEcho(t);
  const players = await enter(t, service, named(PLAYERS));
  for (const player of players) player.play();
  for (let kill = 0; kill < KILLS; kill++) {
    await service.kill();
    await service.start();
    // The first kill may precede the write that the game is ready.
    await service.reach('echo', 'running');
    await plays(service, named(PLAYERS));
  }
  t.is((await runningProxies(service)).length, 1);
  await unharmed(t, players);
});

test.serial(
  'while the service is down, players join running games, and held players join once it is back',
  async (t) => {
    t.timeout(300_000);
    const service = await startEcho(t);
    await create(service, 'other');
    const [first] = await enter(t, service, ['Steve']);
    first?.play();
    await service.kill();
    const [second] = await enter(t, service, ['Alex']);
    second?.play();

    const waiting = named(HELD, 'Waits').map((name) => new EchoPlayer(service.playersPort, 'other.localhost', name));
    t.teardown(() => waiting.forEach((player) => player.leave()));
    for (let restart = 0; restart < 2; restart++) {
      await service.start();
      if (restart < 1) await service.kill();
    }
    await Promise.all(waiting.map((player) => player.joined()));
    for (const player of waiting) player.play();
    await unharmed(t, [first!, second!, ...waiting]);
  },
);

test.serial('a newer release takes over without disconnecting players, and newcomers use its proxy', async (t) => {
  t.timeout(300_000);
  const service = await startEcho(t);
  const before = await enter(t, service, named(PLAYERS));
  for (const player of before) player.play();
  const [old] = await runningProxies(service);

  const release = await otherRelease(t);
  await service.kill();
  await service.start(CHILD, programIn(release));
  const noted = JSON.parse(await readFile(join(service.dataDir, 'proxy/proxy.json'), 'utf8')) as { pid: number };
  t.not(noted.pid, old, 'players connect to the new proxy');
  // When the old proxy stops listening, the kernel resets connections that it has not accepted. Wait until it has stopped.
  await until('the old one accepts no more players', async () => {
    const { proxies } = await service.call<{ proxies: { draining: boolean }[] }>('GET', '/v1/operator/proxies');
    return proxies.some(({ draining }) => draining);
  });
  const after = await enter(t, service, named(PLAYERS, 'Newcomer'));
  for (const player of after) player.play();
  await plays(service, [...named(PLAYERS), ...named(PLAYERS, 'Newcomer')]);
  await unharmed(t, [...before, ...after]);

  for (const player of before) player.leave();
  await until('the old one ends with its last player', async () => (await runningProxies(service)).length === 1);
  t.deepEqual(await runningProxies(service), [noted.pid]);
  await plays(service, named(PLAYERS, 'Newcomer'));
  await unharmed(t, after);
});

test.serial('a killed proxy loses only its own players and is restarted', async (t) => {
  t.timeout(300_000);
  const service = await startEcho(t);
  const players = await enter(t, service, named(5));
  await plays(service, named(5));
  const [pid] = await runningProxies(service);
  process.kill(pid!, 'SIGKILL');
  const killedAt = performance.now();
  await until('it listens again', async () => {
    const player = new EchoPlayer(service.playersPort, HOST, 'Again');
    return player.joined().then(
      () => (player.leave(), true),
      () => false,
    );
  });
  t.log({ backAfterMs: Math.round(performance.now() - killedAt) });
  await until('all are cut off', () => players.every(({ failure }) => failure !== undefined));
  await plays(service, []);
  t.is((await service.call('GET', '/v1/servers/echo')).state, 'running', 'the game keeps running');
});

test.serial(
  'the proxy survives SIGTERM for the next service, and ends with its last player after Ctrl-C',
  async (t) => {
    t.timeout(300_000);
    const service = await startEcho(t);
    const [pid] = await runningProxies(service);
    t.is(await service.stop('SIGTERM'), 0);
    t.deepEqual(await runningProxies(service), [pid], 'the proxy outlives the service');
    await service.start();
    t.deepEqual(await runningProxies(service), [pid], 'the next service finds the proxy');

    const players = await enter(t, service, ['Steve']);
    for (const player of players) player.play();
    t.is(await service.stop('SIGINT'), 0);
    await unharmed(t, players);
    t.deepEqual(await runningProxies(service), [pid], 'Steve keeps playing');
    for (const player of players) player.leave();
    await until('it ends', async () => (await runningProxies(service)).length === 0);
  },
);

test.serial('a proxy ends once its service and data folder are gone', async (t) => {
  t.timeout(300_000);
  const service = await startService(t, CHILD, programIn(ROOT));
  t.is((await runningProxies(service)).length, 1);
  await service.kill();
  await rm(service.dataDir, { recursive: true, maxRetries: 5 });
  await until('it ends', async () => (await runningProxies(service)).length === 0);
});
