import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { belongings } from '../support/belongings.ts';
import { type RawBot, isKnown, joinBot, joinRaw, joinRoom, pingStatus } from '../support/bot.ts';
import { isHere } from '../support/needs.ts';
import type { SwarmNode } from '../support/swarm.ts';
import { type SwarmProxy, type SwarmService, swarmService } from '../support/swarm-service.ts';
import { until } from '../support/until.ts';

/** The number of servers awake at once. Two nodes of two cores have room for sixteen. */
const SERVERS = Number(process.env['SWARM_SERVERS'] ?? 12);
/** The longest time to restart the servers of a lost node. Only an otherwise idle machine can meet a limit. */
const MOST_MS = Number(process.env['SWARM_MOST_MS'] ?? Infinity);
const VERSION = '1.20.4';
/** A version whose clients can show their place in line. */
const ROOM_VERSION = '1.21.11';
const BLOCK = { x: 2, y: 4, z: 2 };
/** The polling interval for values that change once a minute. Calls are rate-limited. */
const MINUTELY_MS = 1_000;
const AGAIN_MS = 3_500;
const IDS = Array.from({ length: SERVERS }, (_, n) => `s${n + 1}`);

const shared = belongings();
let starting: Promise<Home> | undefined;
test.after.always(() => shared.end());

/** A swarm of three nodes. The first is the manager, the second has the service, the second and third have proxies. */
interface Home extends SwarmService {
  manager: SwarmNode;
  second: SwarmNode;
  third: SwarmNode;
  /** The proxy on the second node, which stays up in every test. */
  proxy: SwarmProxy;
  /** The simulated power switch that FENCE_COMMAND uses. */
  power: PowerSwitch;
}

/** Defines a test on the swarm that all tests of this file share, one after the other. */
function holds(title: string, body: (t: ExecutionContext, its: Home) => Promise<void>): void {
  test.serial.runIf(isHere('swarm'))(title, async (t) => {
    t.timeout(900_000);
    await body(t, await (starting ??= start()));
  });
}

async function start(): Promise<Home> {
  const power = await powerSwitch();
  const its = await swarmService(shared, {
    nodes: 3,
    serviceOn: 1,
    proxiesOn: [1, 2],
    settings: {
      FENCE_COMMAND: power.command,
      MAX_SERVERS_PER_ACCOUNT: '0',
      MAX_RAM_MB: '16777216',
      PRICE_PER_GB_HOUR_MICROS: '9973',
      SIGNUP_CREDIT_MICROS: '10000000',
    },
  });
  const [manager, second, third] = its.swarm.nodes as [SwarmNode, SwarmNode, SwarmNode];
  return { ...its, manager, second, third, proxy: its.proxies[0]!, power };
}

interface PowerSwitch {
  command: string;
  /** Returns the number of requests to switch a node off. */
  asked(): Promise<number>;
  /** Obeys the next request for this node by calling `off`. */
  obey(node: SwarmNode, off: () => Promise<void>): Promise<void>;
}

/** Creates a power switch that fails until `obey` is called. */
async function powerSwitch(): Promise<PowerSwitch> {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-power-'));
  shared.teardown(() => rm(dir, { recursive: true, force: true }));
  const path = (name: string) => join(dir, name);
  const command = [
    `echo "$NODE_NAME" >> ${path('asked')}`,
    `test -e ${path('obeys')} || exit 1`,
    `: > "${path('off')}-$NODE_NAME"`,
    `until test -e "${path('done')}-$NODE_NAME"; do sleep 0.1; done`,
  ].join('; ');
  return {
    command,
    asked: async () => (await readFile(path('asked'), 'utf8').catch(() => '')).split('\n').length - 1,
    async obey(node, off) {
      await writeFile(path('obeys'), '');
      await until(async () => existsSync(path(`off-${node.name}`)));
      await off();
      await writeFile(path(`done-${node.name}`), '');
    },
  };
}

/** Joins, and repeats a join refused by the rate limit: six at once per network, then one every three seconds. */
function comeIn<Options, Joined>(join: (options: Options) => Promise<Joined>, options: Options): Promise<Joined> {
  const ask = () =>
    join(options).catch((error: unknown) => {
      if (!/Too many joins/.test(String(error))) throw error;
      return undefined;
    });
  return until({ everyMs: AGAIN_MS }, ask);
}

const at = (proxy: SwarmProxy, id: string) => ({ ...proxy.address, version: VERSION, fakeHost: `${id}.localhost` });

/** Calls an operator's endpoint, such as the list of nodes. */
async function operate({ service }: Home, path: string, body?: object): Promise<{ nodes: { state: string }[] }> {
  return await service.call(body === undefined ? 'GET' : 'POST', `/v1/operator/${path}`, body);
}

async function transitionsOf({ service }: Home, id: string): Promise<string[]> {
  const path = `/v1/servers/${id}/machine`;
  const { transitions } = await service.call<{ transitions: { to: string; at: string }[] }>('GET', path);
  return transitions.map(({ to }) => to);
}

async function sleeps({ service }: Home, id: string): Promise<void> {
  await service.call('POST', `/v1/servers/${id}:stop`);
  await service.reach(id, 'hibernated');
}

/**
 * Puts a server to sleep and starts it on this node only, by draining the others. Resolves once its game runs there,
 * before it is ready. The returned function resumes the other nodes.
 */
async function startOn(its: Home, node: SwarmNode, id: string): Promise<() => Promise<void>> {
  await sleeps(its, id);
  const others = its.swarm.nodes.filter((other) => other !== node);
  for (const { name } of others) await operate(its, 'nodes:drain', { node: name, reason: 'one is enough' });
  await its.service.call('POST', `/v1/servers/${id}:start`);
  await until(async () => (await its.gamesOn(node)).includes(id));
  return async () => {
    for (const { name } of others) await operate(its, 'nodes:resume', { node: name, reason: 'it is there' });
  };
}

/** Returns the servers with running games by node. */
async function spread(its: Home): Promise<Map<SwarmNode, string[]>> {
  const found = its.swarm.nodes.map(async (node) => [node, await its.gamesOn(node).catch(() => [])] as const);
  return new Map(await Promise.all(found));
}

/** Joins each server with one player, who keeps playing. */
async function party(its: Home, ids: readonly string[]): Promise<Map<string, RawBot>> {
  const players = ids.map(
    async (id) => [id, await comeIn(joinRaw, { ...at(its.proxy, id), name: `P-${id}` })] as const,
  );
  return new Map(await Promise.all(players));
}

/** Asserts that each player is still connected: the game repeats its message. */
async function playOn(players: Map<string, RawBot>, word: string): Promise<void> {
  await Promise.all(
    [...players].map(async ([id, player]) => {
      player.chat(`${word} of ${id}`);
      const cutOff = player.ended.then((reason) => `cut off: ${reason}`);
      const heard = await Promise.race([player.waitChat(new RegExp(`${word} of ${id}`)), cutOff]);
      if (heard.startsWith('cut off: ')) throw new Error(`${id}: ${heard}`);
    }),
  );
}

holds('players wake servers through each of two proxies, play, and find their world again', async (t, its) => {
  const { service, proxies } = its;
  await Promise.all(
    proxies.map(async (proxy, n) => {
      const id = IDS[n]!;
      await service.create(id, VERSION, { properties: { gamemode: 'creative' } });
      // Proxies learn of the server shortly after the caller.
      await until({ despiteErrors: true }, async () => isKnown(await pingStatus(at(proxy, id))));
      const asked = performance.now();
      const steve = await comeIn(joinBot, { ...at(proxy, id), name: 'Steve' });
      t.log(`${proxy.name}: in after ${Math.round(performance.now() - asked)} ms`);
      await steve.placeBlock(BLOCK, 'stone');
      const other = proxies[1 - n]!;
      const alex = await comeIn(joinRaw, { ...at(other, id), name: 'Alex' });
      steve.chat('hello from Steve');
      await alex.waitChat(/hello from Steve/);
      const ban = service.call('POST', `/v1/servers/${id}:command`, { command: `ban-ip ${proxy.from}` });
      await t.throwsAsync(ban, { message: /PROXY_ADDRESS/ }, 'all players share this address');
      await Promise.all([steve.end(), alex.end()]);
      await sleeps(its, id);
      t.deepEqual(await its.nodeOf(id), undefined);
      const again = await comeIn(joinBot, { ...at(other, id), name: 'Steve' });
      t.is(await again.blockAt(BLOCK), 'stone', 'the placed block was saved');
      await again.end();
    }),
  );
});

holds(`${SERVERS} servers spread over the nodes with working consoles and logs`, async (t, its) => {
  const { service } = its;
  for (const id of IDS.slice(2)) await service.create(id, VERSION, { properties: { gamemode: 'creative' } });
  const asked = performance.now();
  await Promise.all(
    IDS.map(async (id) => {
      await service.call('POST', `/v1/servers/${id}:start`);
      await service.reach(id, 'running', 300_000);
    }),
  );
  t.log(`${SERVERS} games run after ${Math.round(performance.now() - asked)} ms`);
  const there = await spread(its);
  t.deepEqual([...there.values()].flat().toSorted(), IDS.toSorted(), 'one game each');
  t.log(Object.fromEntries([...there].map(([{ name }, games]) => [name, games.length])));
  // Swarm counts every task on a node, including proxies and services.
  t.true([...there.values()].filter((games) => games.length > 0).length >= Math.min(3, Math.floor(SERVERS / 2)));
  for (const id of IDS) {
    const { output } = await service.call<{ output: string }>('POST', `/v1/servers/${id}:command`, { command: 'list' });
    t.regex(output, /There are 0/, id);
    const { lines } = await service.call<{ lines: unknown[] }>('GET', `/v1/servers/${id}/logs`);
    const { container } = await service.call<{ container: string }>('GET', `/v1/servers/${id}`);
    const { Spec } = (await its.swarm.manager.getService(container).inspect()) as { Spec: { Labels: object } };
    t.true(Object.values(Spec.Labels).includes(id), 'the server’s `container` is its name in Swarm');
    t.true(lines.length > 0, id);
  }
});

holds('a drained node starts no servers; running ones stay until they sleep', async (t, its) => {
  const { manager, service } = its;
  const here = (await spread(its)).get(manager)!;
  const players = await party(its, here);
  await operate(its, 'nodes:drain', { node: manager.name, reason: 'new disks' });
  const [moved, ...stay] = here;
  await players.get(moved!)!.end();
  players.delete(moved!);
  await sleeps(its, moved!);
  await service.call('POST', `/v1/servers/${moved}:start`);
  await service.reach(moved!, 'running');
  t.not(await its.nodeOf(moved!), manager);
  await playOn(players, 'drained');
  await Promise.all(
    stay.map(async (id) => {
      t.is(await its.nodeOf(id), manager, 'the game keeps running');
      await players.get(id)!.end();
      await sleeps(its, id);
      await service.call('POST', `/v1/servers/${id}:start`);
      await service.reach(id, 'running');
    }),
  );
  t.deepEqual((await spread(its)).get(manager), []);
});

holds('a restart of the manager’s engine stops no server and cuts off no player', async (t, its) => {
  const { manager, service } = its;
  const players = await party(its, IDS);
  const before = await spread(its);
  const steps = await Promise.all(IDS.map((id) => transitionsOf(its, id)));
  await manager.end('SIGTERM');
  await playOn(players, 'away');
  const late = await comeIn(joinRaw, { ...at(its.proxy, IDS[0]!), name: 'Late' });
  await late.waitChat(/./);
  await until(async () => (await fetch(`${service.baseUrl}/readyz`)).status === 503);
  await manager.start();
  await until(async () => (await fetch(`${service.baseUrl}/readyz`)).status === 200);
  // The service learns of the nodes a little later, and starts no games there until then.
  await until({ everyMs: MINUTELY_MS }, async () =>
    (await operate(its, 'nodes')).nodes.every(({ state }) => state !== 'down'),
  );
  await playOn(players, 'back');
  t.deepEqual(await spread(its), before);
  await Promise.all(IDS.map(async (id, n) => t.deepEqual(await transitionsOf(its, id), steps[n], id)));
  for (const player of [late, ...players.values()]) await player.end();
  await sleeps(its, IDS[0]!);
  // The list of nodes above may predate the restart. Joins are refused until the nodes have answered.
  const again = await until({ everyMs: MINUTELY_MS }, () =>
    comeIn(joinRaw, { ...at(its.proxy, IDS[0]!), name: 'Steve' }).catch(() => undefined),
  );
  await again.end();
});

holds('servers of a lost node wait while it may still run, and move once it is off', async (t, its) => {
  const { service, manager, second, third, power } = its;
  // Two nodes have room for all servers.
  await operate(its, 'nodes:resume', { node: manager.name, reason: 'they are in' });
  const lost = (await spread(its)).get(third)!;
  const others = (await spread(its)).get(second)!;
  t.true(lost.length > 0 && others.length > 0);
  const builders = lost.map(async (id) => {
    const builder = await comeIn(joinBot, { ...at(its.proxy, id), name: 'Builder' });
    if ((await builder.blockAt(BLOCK)) !== 'stone') await builder.placeBlock(BLOCK, 'stone');
    await builder.end();
    await service.call('POST', `/v1/servers/${id}:command`, { command: 'save-all flush' });
  });
  await Promise.all(builders);
  const players = await party(its, others);
  const steps = await Promise.all(others.map((id) => transitionsOf(its, id)));
  const late = lost[0]!;
  const resume = await startOn(its, third, late);

  const cutAt = performance.now();
  await third.unplug();
  await resume();
  const isSaid = ({ msg }: { msg?: unknown }) => String(msg).startsWith('a node does not respond; its games wait');
  await until(async () => service.log.some(isSaid));
  t.deepEqual(
    service.log.filter(isSaid).map(({ node, games }) => ({ node, games })),
    [{ node: third.name, games: lost.length }],
  );
  const foundMs = Math.round(performance.now() - cutAt);
  t.log(`found lost after ${foundMs} ms`);
  const asked = await power.asked();
  await until(async () => (await power.asked()) >= asked + 2);
  t.deepEqual((await its.gamesOn(third)).toSorted(), lost.toSorted(), 'the lost games keep running unseen');
  t.deepEqual((await its.gamesOn(second)).toSorted(), others.toSorted(), 'no lost game starts elsewhere');
  for (const id of lost) {
    const { state, startErrorCode } = await service.call('GET', `/v1/servers/${id}`);
    t.is(startErrorCode, 'node_lost', id);
    if (id === late) t.log(`${id} was ${state} when its node was lost`);
    else t.is(state, 'running', id);
  }
  await playOn(players, 'lost');

  // From here on, the node can be switched off.
  const offAt = performance.now();
  await power.obey(third, async () => {
    its.proxies[1]!.child.kill('SIGKILL');
    await third.powerOff();
  });
  await Promise.all(
    lost.map(async (id) => {
      await until(async () => ((await its.nodeOf(id)) ?? third) !== third);
      await service.reach(id, 'running', 300_000);
    }),
  );
  const backMs = Math.round(performance.now() - offAt);
  t.log(`${lost.length} are back ${backMs} ms after the power was cut`);
  t.true(foundMs + backMs <= MOST_MS);
  for (const id of lost) {
    const again = await comeIn(joinBot, { ...at(its.proxy, id), name: 'Builder' });
    t.is(await again.blockAt(BLOCK), 'stone', 'its world was saved');
    await again.end();
  }
  await playOn(players, 'after');
  await Promise.all(others.map(async (id, n) => t.deepEqual(await transitionsOf(its, id), steps[n], id)));
  for (const player of players.values()) await player.end();
});

holds('every minute of a server is billed and measured, on every node', async (t, { service }) => {
  interface Usage {
    amountMicros: number | string;
    sessions: { minutes: number; ending: string }[];
  }
  for (const id of IDS) {
    const usage = await until({ everyMs: MINUTELY_MS }, async () => {
      const now = await service.call<Usage>('GET', `/v1/servers/${id}/usage`);
      return now.sessions.some(({ minutes }) => minutes > 0) && now;
    });
    t.true(Number(usage.amountMicros) > 0, id);
    t.is(usage.sessions.filter(({ ending }) => ending === '').length, 1, id);
    await until({ everyMs: MINUTELY_MS }, async () => {
      const metrics = await service.call<{ memUsedMb: number }>('GET', `/v1/servers/${id}/metrics`);
      return metrics.memUsedMb > 20;
    });
  }
});

holds('a player waits in line until a single node has enough room for the server', async (t, its) => {
  const { service } = its;
  for (const id of IDS) await sleeps(its, id);
  const { ramPerServerMb } = await service.call<{ ramPerServerMb: string }>('GET', '/v1/capacity');
  // More than the memory that the scheduler reserves for the system.
  const rest = 1_000;
  for (const id of ['large', 'larger']) {
    await service.create(id, VERSION, { ramMb: Number(ramPerServerMb) - rest });
    await service.call('POST', `/v1/servers/${id}:start`);
    await service.reach(id, 'running');
  }
  t.not(await its.nodeOf('large'), await its.nodeOf('larger'));
  await service.create('next', ROOM_VERSION, { ramMb: 1.6 * rest });
  await service.call('POST', '/v1/servers/next:update', { waitingRoom: true });
  const player = { ...at(its.proxy, 'next'), version: ROOM_VERSION, name: 'Alex' };
  await until({ despiteErrors: true }, async () => isKnown(await pingStatus(player)));
  const waiting = joinRoom(player);
  await until(() => waiting.dialogs.at(-1)?.includes('You are 1st in line'));
  t.is(
    (await service.call('GET', '/v1/servers/next')).state,
    'hibernated',
    'the free memory of no single node is enough',
  );

  const freed = await its.nodeOf('larger');
  await sleeps(its, 'larger');
  await waiting.sentOn;
  t.is(await its.nodeOf('next'), freed);
  const inside = await joinRaw({ ...player, transferred: true });
  await inside.end();
});
