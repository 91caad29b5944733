import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { postgresUrl } from '../store/postgres.ts';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { EchoPlayer } from '../support/echo-player.ts';
import { chance } from '../support/random.ts';
import { runningGames } from '../support/running-games.ts';
import { runningProxies } from '../support/running-proxies.ts';
import { silentStore } from '../support/s3.ts';
import { CONTAINER, type Instance, type Pair, standbyPair } from '../support/standby-pair.ts';
import { until } from '../support/until.ts';
import { isHere } from '../support/needs.ts';
import { SERVERS, customers, emptyBooks } from './customers.ts';
import { examineBooks } from './examine-books.ts';

/** `npm run test:crash` sets higher numbers. */
const KILLS = Number(process.env['STANDBY_KILLS'] ?? 3);
const PLAYERS = Number(process.env['STANDBY_PLAYERS'] ?? 10);
/** The longest allowed takeover. Only an otherwise idle machine can meet a limit. */
const MOST_MS = Number(process.env['STANDBY_MOST_MS'] ?? Infinity);
const ROOT = join(import.meta.dirname, '../..');
const CORE = join(ROOT, 'test/fixtures/echo-core/replace.ts');
const PROGRAM = ['--import', CORE, join(ROOT, 'src/main.ts')];
const PRICE = 9_973;

/** A second of the machine is a minute of the service, so that the test charges minutes. */
const hurried = () => ['--import', CORE, join(ROOT, 'test/flows/hurried-main.ts'), String(Date.now()), '60'];
const HURRIED = {
  LOG_LEVEL: 'info',
  PRICE_PER_GB_HOUR_MICROS: String(PRICE),
  SIGNUP_CREDIT_MICROS: '1000000',
  IDLE_TIMEOUT_MINUTES: '1440',
  START_TIMEOUT_SECONDS: '7200',
  HUNG_AFTER_SECONDS: '0',
  MAX_SERVERS_PER_ACCOUNT: '0',
};

/** Starts a separate proxy that knows both services. */
async function startProxy(t: ExecutionContext, pair: Pair): Promise<void> {
  const child = spawn(process.execPath, ['proxy/main.ts'], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'],
      ...COMPILE_CACHE,
      CONTROL_URL: pair.urls.map((url) => url.replace('http:', 'ws:')).join(','),
      PROXY_TOKEN: (await readFile(join(pair.dataDir, 'proxy.token'), 'utf8')).trim(),
      PROXY_HOST: '127.0.0.1',
      PROXY_PORT: String(pair.playersPort),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
}

function comeIn(t: ExecutionContext, pair: Pair, host: string, name: string): EchoPlayer {
  const player = new EchoPlayer(pair.playersPort, `${host}.localhost`, name);
  t.teardown(() => player.leave());
  return player;
}

/** The interval of checks that the active service still runs. */
const LOOK_MS = 1_000;

/** Players who keep playing. The first one wakes the game, then the others join. */
async function party(t: ExecutionContext, pair: Pair): Promise<EchoPlayer[]> {
  let first: EchoPlayer | undefined;
  await until({ what: 'the proxy knows the server', despiteErrors: true }, async () => {
    const player = comeIn(t, pair, 'echo', 'P0');
    return player.joined().then(
      () => ((first = player), true),
      () => false,
    );
  });
  const others = Array.from({ length: PLAYERS - 1 }, (_, n) => comeIn(t, pair, 'echo', `P${n + 1}`));
  await Promise.all(others.map((player) => player.joined()));
  const players = [first!, ...others];
  for (const player of players) player.play();
  return players;
}

/** Asserts that no player was disconnected and that every byte came back in order. Returns the worst delay. */
async function unharmed(t: ExecutionContext, players: EchoPlayer[]): Promise<number> {
  await Promise.all(players.map((player) => player.pause()));
  t.deepEqual(
    players.flatMap(({ failure }) => failure ?? []),
    [],
  );
  for (const { sent, received } of players) t.true(sent > 0 && received === sent);
  return Math.round(Math.max(...players.map(({ worstMs }) => worstMs)));
}

/** Starts the first service and waits until it is active. A second one becomes a standby. */
async function serving(t: ExecutionContext, pair: Pair, settings: Record<string, string> = {}): Promise<Instance> {
  const first = pair.start(0, settings);
  await first.says('ready');
  await pair.turnTo(first);
  return first;
}

const asText = async (url: string, init?: RequestInit) => {
  const response = await fetch(url, init);
  return { status: response.status, retryAfter: response.headers.get('retry-after'), text: await response.text() };
};

test.serial.runIf(isHere('postgres'))(
  `a standby takes over after each of ${KILLS} kills under load without losses, double charges or disconnects`,
  async (t) => {
    t.timeout(300_000 + KILLS * 60_000);
    const DATABASE_URL = await postgresUrl(t);
    const pair = await standbyPair(t, { ...HURRIED, DATABASE_URL, PROXY: 'external' }, hurried());
    let holder = await serving(t, pair);
    await startProxy(t, pair);
    const { accountId } = await pair.call<{ accountId: string }>('GET', '/v1/whoami');
    const books = emptyBooks(accountId, chance(t));
    for (const name of [...SERVERS, 'echo', 'nap'])
      await pair.call('POST', '/v1/servers', { name, type: 'sandbox', version: '1.20.4', ramMb: 256 });
    const players = await party(t, pair);
    const ended = new AbortController();
    const work = customers(pair, books, ended.signal);
    t.teardown(() => ended.abort());
    const takeovers: number[] = [];
    const waits: number[] = [];
    let ownEnds = 0;
    /** Replaces an active service that has ended itself on a busy machine, like a supervisor. */
    const revive = async () => {
      if ((await holder.comes()) !== 'ended') return;
      ownEnds++;
      holder = await taken(pair, pair.start(placeBeside(pair, holder)));
      await pair.turnTo(holder);
    };
    for (let kill = 0; kill < KILLS; kill++) {
      // Some services claim to run in containers. A standby detects their end, or they that of others, only by an expired lease.
      const alone: Record<string, string> = kill % 5 === 2 ? { [CONTAINER]: `container-${kill}` } : {};
      let standby = pair.start(placeBeside(pair, holder), alone);
      // On a busy machine a service that cannot renew its lease in time ends itself, and the other one takes over.
      while ((await standby.comes()) !== 'waiting') {
        ownEnds++;
        if ((await standby.comes()) === 'ready') [holder, standby] = [standby, holder];
        standby = pair.start(placeBeside(pair, holder), alone);
      }
      await pair.turnTo(holder);
      await delay(books.dice() * 1_000);
      const visitor = comeIn(t, pair, 'nap', 'Visitor');
      await delay(books.dice() * 100);
      const at = performance.now();
      holder.child.kill('SIGKILL');
      holder = await taken(pair, standby);
      takeovers.push(performance.now() - at);
      await pair.turnTo(holder);
      const coming = visitor.joined().then(() => true);
      await until({ what: 'the visitor is in', despiteErrors: true }, async () => {
        await revive();
        return Promise.race([coming, delay(LOOK_MS, false)]);
      });
      waits.push(performance.now() - at);
      visitor.leave();
      await until({ what: 'nap is stopped', despiteErrors: true }, async () => {
        await revive();
        await pair.call('POST', '/v1/servers/nap:stop');
        return true;
      });
      await until({ what: 'nap sleeps', despiteErrors: true }, async () => {
        await revive();
        return (await pair.call('GET', '/v1/servers/nap')).state === 'hibernated';
      });
    }
    ended.abort();
    await work;
    const worstMs = await unharmed(t, players);
    const online = async () => (await pair.call<{ online: string[] }>('GET', '/v1/servers/echo/players')).online.length;
    t.is(await online(), PLAYERS, 'the last service knows the players');
    for (const id of SERVERS)
      await until({ what: `${id} is settled`, despiteErrors: true }, async () => {
        await revive();
        return settled(pair, id);
      });
    holder.child.kill('SIGTERM');
    t.is(await holder.ended, 0);

    const store = await openStore(DATABASE_URL, TABLES);
    t.teardown(() => store.close());
    const minutes = await examineBooks(t, store, books, { price: PRICE, lateMs: 60_000 });
    const games = (await runningGames(pair)).map(({ serverId }) => serverId).toSorted();
    const rows = await store.query<{ id: string; state: string }>('SELECT "id", "state" FROM "servers" ORDER BY "id"');
    const isUp = ({ id, state }: { id: string; state: string }) =>
      // A server may be between two states. The next service would complete the change.
      state === 'running' || (state.endsWith('ing') && games.includes(id));
    t.deepEqual(
      games,
      rows
        .filter(isUp)
        .map(({ id }) => id)
        .toSorted(),
      'one game per server',
    );
    const worst = (all: number[]) => Math.round(Math.max(...all));
    t.log({ kills: KILLS, ownEnds, takeoverMs: takeovers.map(Math.round), worstTakeoverMs: worst(takeovers) });
    t.log({ worstWaitOfVisitorMs: worst(waits), worstPacketMs: worstMs, players: PLAYERS });
    t.log({ minutesCharged: minutes, gifts: books.gifts.size, payments: books.payments.size });
    t.true(worst(takeovers) <= MOST_MS, `the slowest takeover took ${worst(takeovers)} ms`);
  },
);

test.serial.runIf(isHere('postgres'))(
  'a frozen service that resumes after a takeover ends before it touches a game',
  async (t) => {
    t.timeout(300_000);
    const DATABASE_URL = await postgresUrl(t);
    const pair = await standbyPair(t, { DATABASE_URL, PROXY: 'external' }, PROGRAM);
    const first = await serving(t, pair, { [CONTAINER]: 'first' });
    await startProxy(t, pair);
    await pair.call('POST', '/v1/servers', { name: 'echo', type: 'sandbox', version: '1.20.4', ramMb: 256 });
    const players = await party(t, pair);
    // Port 0 stands in for another machine, where the SFTP port is free.
    const standby = pair.start(1, { SFTP_PORT: '0' });
    await standby.says('standby: waiting for the lease held by process');
    const at = performance.now();
    first.child.kill('SIGSTOP');
    await standby.says('ready');
    t.log({ takeoverMs: Math.round(performance.now() - at) });
    // The kernel queues this call until the frozen service resumes.
    const headers = { 'x-api-key': pair.apiKey };
    const late = fetch(`${first.baseUrl}/v1/servers/echo:kill`, { method: 'POST', headers }).then(
      ({ ok }) => ok,
      () => false,
    );
    await pair.turnTo(standby);
    const before = await runningGames(pair);
    first.child.kill('SIGCONT');
    // The thread that runs first detects the lost lease, and determines the exit.
    const end = await first.ended;
    t.true(end === 'SIGKILL' || end === 1, String(end));
    if (end !== 1) t.regex(first.complaint, /lease was not renewed for \d+ ms/);
    t.false(await late, 'the queued call is not performed');
    t.deepEqual(await runningGames(pair), before);
    const { transitions } = await pair.call<{ transitions: { to: string }[] }>('GET', '/v1/servers/echo/machine');
    t.deepEqual(transitions.map(({ to }) => to).toSorted(), ['running', 'starting']);
    await unharmed(t, players);
    t.is((await pair.call('GET', '/v1/servers/echo')).state, 'running');
  },
);

test.serial(
  'on one machine, a clean stop hands over to the standby at once, and a waiting standby reports its state',
  async (t) => {
    t.timeout(300_000);
    // A silent off-site store delays neither a start nor a takeover for long.
    const store: Record<string, string> = isHere('restic')
      ? { BACKUP_STORE: `restic:rest:${await silentStore(t)}/` }
      : {};
    const pair = await standbyPair(t, { PROXY: 'child', LOG_LEVEL: 'info', ...store }, PROGRAM);
    const first = await serving(t, pair);
    const hasWaited = ({ said }: Instance) =>
      said.some(({ msg }) => String(msg).startsWith('BACKUP_STORE does not respond'));
    t.is(hasWaited(first), isHere('restic'), 'a start waits briefly for the store');
    await pair.call('POST', '/v1/servers', { name: 'echo', type: 'sandbox', version: '1.20.4', ramMb: 256 });
    const players = await party(t, pair);
    const proxies = await runningProxies(pair);
    const second = pair.start(1);
    await second.says('standby: waiting');

    const { pid } = first.child;
    const { holder: hostname } = await second.says('standby: waiting');
    const reason = `waiting for the lease held by process ${pid} on ${String(hostname)}`;
    t.like(await asText(`${second.baseUrl}/healthz`), { status: 200, text: '{"status":"ok"}' });
    const ready = await asText(`${second.baseUrl}/readyz`);
    t.is(ready.status, 503);
    t.deepEqual(JSON.parse(ready.text), { ready: false, parts: { lease: 'unavailable' }, reason });
    t.regex((await asText(`${second.baseUrl}/metrics`)).text, /^dormouse_standby 1$/m);
    for (const path of ['/v1/servers', '/', '/v1/proxy-link']) {
      const refused = await asText(`${second.baseUrl}${path}`);
      t.like(refused, { status: 503, retryAfter: '5' }, path);
      t.like(JSON.parse(refused.text), { code: 14, message: `This Dormouse is a standby: ${reason}.` });
    }
    // A polling app continues only on a `server_error` in this format.
    for (const path of ['/v1/public/device/start', '/v1/public/device/poll', '/oauth/token']) {
      const refused = await asText(`${second.baseUrl}${path}`, { method: 'POST', body: '{}' });
      t.like(refused, { status: 500, retryAfter: '5', text: '{"error":"server_error"}' }, path);
    }
    const served = await fetch(`${first.baseUrl}/metrics`, { headers: { authorization: `Bearer ${pair.apiKey}` } });
    t.regex(await served.text(), /^dormouse_standby 0$/m);

    const third = pair.start(1, { HTTP_PORT: '0' });
    await third.says('standby: waiting');
    third.child.kill('SIGTERM');
    t.is(await third.ended, 0, 'a waiting standby stops cleanly');

    first.child.kill('SIGTERM');
    t.is(await first.ended, 0);
    const at = performance.now();
    await second.says('ready');
    t.log({ takeoverMs: Math.round(performance.now() - at) });
    t.false(hasWaited(second), 'a takeover does not wait for the store');
    await pair.turnTo(second);
    t.is((await asText(`${second.baseUrl}/readyz`)).status, 200);
    t.deepEqual(await runningProxies(pair), proxies);
    await until({ what: 'it knows who plays', despiteErrors: true }, async () => {
      const { online } = await pair.call<{ online: string[] }>('GET', '/v1/servers/echo/players');
      return online.length === PLAYERS;
    });
    await unharmed(t, players);
    second.child.kill('SIGTERM');
    t.is(await second.ended, 0);
  },
);

const placeBeside = ({ urls }: Pair, { baseUrl }: Instance) => (urls[0] === baseUrl ? 1 : 0);

/** Waits for the takeover by a standby, and starts another one if it ends, like a supervisor. */
async function taken(pair: Pair, standby: Instance): Promise<Instance> {
  for (let next = standby; ; next = pair.start(placeBeside(pair, next) === 0 ? 1 : 0)) {
    const isReady = next.says('ready').then(
      () => true,
      () => false,
    );
    if (await isReady) return next;
  }
}

async function settled(pair: Pair, id: string): Promise<boolean> {
  const { state } = await pair.call('GET', `/v1/servers/${id}`);
  // A takeover adopts games of another process, and notices only within a second that one of them has crashed.
  if (state === 'running') return (await runningGames(pair)).some(({ serverId }) => serverId === id);
  return /^(hibernated|start_failed)$/.test(state);
}
