import test, { type ExecutionContext } from 'ava';
import { type Machine, type Capacity, createCapacity } from '../../src/billing/capacity.ts';
import { type AccountLimits, openAccountLimits } from '../../src/billing/account-limits.ts';
import { createAdmission } from '../../src/billing/admission.ts';
import { loadOf } from '../../src/billing/reservations.ts';
import { Routing } from '../../src/joining/routing.ts';
import { createLog } from '../../src/kernel/log.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { insertAccount } from '../../src/accounts/rows.ts';
import { listRoutes } from '../../src/servers/rows.ts';
import { WAKES_AND_INSTALLS } from '../../src/servers/wake-checks.ts';
import { OPEN_POLICY } from '../support/join-policy.ts';
import { KEY, STEVE, type World, world } from '../support/world.ts';

/** Games may use 1792 MB of its RAM, which is enough for three servers of 512 MB. */
const MACHINE: Machine = { cores: 8, ramMb: 2_048, diskFreeMb: 10_000, diskTotalMb: 20_000 };
const PLENTY: Machine = { ...MACHINE, cores: 64, ramMb: 1_000_000 };

interface AdmissionUnderTest extends World {
  capacity: Capacity;
  limits: AccountLimits;
  machine: Machine;
  reserved: () => number;
}

async function admitting(
  t: ExecutionContext,
  { machine = MACHINE, maxRamMb = 100_000, maxServers = 0 } = {},
): Promise<AdmissionUnderTest> {
  const base = await world(t);
  const it = { machine: { ...machine } };
  const limits = await openAccountLimits(base.store, { maxRamMb, maxServers });
  const live = () => base.servers.live();
  const capacity = await createCapacity(base.clock, async () => it.machine, live);
  t.teardown(() => capacity.close());
  const admit = createAdmission(live, capacity, limits, { nodeLabel: 'node-1' });
  base.servers.checkWakes(async () => admit, WAKES_AND_INSTALLS);
  return Object.assign(base, {
    capacity,
    limits,
    machine: it.machine,
    reserved: () => loadOf(live(), () => 0).servers,
  });
}

function reasons(results: PromiseSettledResult<unknown>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const result of results) {
    const { reason } = result.status === 'fulfilled' ? { reason: 'admitted' } : (result.reason as StatusError);
    counts[reason] = (counts[reason] ?? 0) + 1;
  }
  return counts;
}

async function refusal(t: ExecutionContext, work: Promise<unknown>): Promise<StatusError> {
  return t.throwsAsync(work, { instanceOf: StatusError });
}

/** Joins a server that cannot wake. Returns the error whose message the player reads. */
async function kicked(t: ExecutionContext, { servers, clock, store }: AdmissionUnderTest, id: string): Promise<Error> {
  const log = createLog({ level: 'silent' });
  const sleepers = await listRoutes(store);
  const routing = new Routing({ joinPolicy: OPEN_POLICY, servers, clock, log, publicHost: 'play.example', sleepers });
  t.teardown(() => routing.close());
  const player = { name: 'Steve', protocol: 769 } as Parameters<typeof routing.wake>[1];
  return t.throwsAsync(routing.wake(id, player, AbortSignal.timeout(60_000)));
}

/** Waits until a server runs. Its files are written in real time, so the clock must stand still until it boots. */
async function running(it: AdmissionUnderTest, id: string): Promise<void> {
  await it.until(() => it.engine.boots.includes(id));
  await it.reach(id, 'running');
}

test('50 concurrent starts and joins for the last slot of the machine admit exactly one', async (t) => {
  const it = await admitting(t);
  const ids = Array.from({ length: 50 }, (_, nth) => `s${nth}`);
  for (const id of [...ids, 'one', 'two']) await it.create(id);
  for (const id of ['one', 'two']) await it.command(id, 'START');
  const results = await Promise.allSettled(
    ids.map((id, nth) => (nth % 2 ? it.command(id, 'START') : it.command(id, 'JOIN', STEVE))),
  );
  t.deepEqual(reasons(results), { admitted: 1, NODE_CAPACITY: 49 });
  t.is(it.reserved(), 3);
  const error = await refusal(t, it.command('s49', 'START'));
  t.is(error.code, 'RESOURCE_EXHAUSTED');
  t.deepEqual(error.options.metadata, { node: 'node-1', resource: 'RAM' });
  t.deepEqual(error.options.details?.[0]?.['violations'], [{ subject: 'node:node-1', description: error.message }]);
  // An awake or starting server already has its slot.
  await t.notThrowsAsync(it.command('one', 'START'));
  await t.notThrowsAsync(it.command('one', 'JOIN', STEVE));
  await running(it, 'one');
  await t.notThrowsAsync(it.command('one', 'RESTART'));
  t.is(it.reserved(), 3);
  await it.until(() => new Set(it.engine.boots).size === 3);
});

test('default and per-account limits on RAM and servers hold for concurrent starts', async (t) => {
  const it = await admitting(t, { machine: PLENTY, maxRamMb: 1_024 });
  await it.store.write((tx) => insertAccount(tx, { id: 'acc_other', name: 'other', createdAt: 0 }));
  for (const id of ['a', 'b', 'c', 'd', 'e']) await it.create(id);
  for (const id of ['x', 'y']) await it.create(id, { accountId: 'acc_other' });
  await it.create('large', { ramMb: 2_048 });

  const all = ['a', 'b', 'c', 'd', 'e', 'x', 'y', 'large'];
  t.deepEqual(reasons(await Promise.allSettled(all.map((id) => it.command(id, 'START')))), { admitted: 4, MAX_RAM: 4 });
  // The order of the calls does not decide which two of the five are admitted, because their rows are read in between.
  const asleepOf = async () =>
    (await it.servers.listByAccount('acc_test')).filter(
      ({ state, row }) => state === 'hibernated' && row.ramMb === 512,
    );
  const error = await refusal(t, it.command((await asleepOf())[0]!.row.id, 'START'));
  t.deepEqual(error.options.metadata, { limitMb: '1024', usedMb: '1024', neededMb: '512' });
  t.deepEqual(error.options.details?.[0]?.['violations'], [
    { subject: 'account:acc_test', description: error.message },
  ]);

  await it.limits.set('acc_test', { maxRamMb: 4_096, maxServers: 3 });
  const starts = (await asleepOf()).map(({ row }) => it.command(row.id, 'START'));
  t.deepEqual(reasons(await Promise.allSettled(starts)), { admitted: 1, MAX_SERVERS: 2 });
  // The limits survive a restart and can be reset.
  const again = await openAccountLimits(it.store, { maxRamMb: 1, maxServers: 1 });
  t.deepEqual(again.of('acc_test'), { maxRamMb: 4_096, maxServers: 3 });
  t.deepEqual(again.of('acc_other'), { maxRamMb: 1, maxServers: 1 });
  await again.set('acc_test', { maxRamMb: null, maxServers: 0 });
  t.deepEqual(again.of('acc_test'), { maxRamMb: 1, maxServers: 0 });
  await again.set('acc_test', { maxRamMb: null, maxServers: null });
  t.deepEqual(await it.store.query('SELECT * FROM "account_limits"'), []);
});

test('a reservation is released on every way out: stop, kill, failed boot, refused engine, crash, deletion', async (t) => {
  const it = await admitting(t, { machine: PLENTY, maxServers: 1 });
  await it.create('waits');
  const ways: Record<string, (id: string) => Promise<unknown>> = {
    stopped: async (id) => {
      await running(it, id);
      await it.command(id, 'STOP');
      return it.reach(id, 'hibernated', 300_000);
    },
    'killed-starting': async (id) => {
      await it.command(id, 'KILL');
      return it.reach(id, 'hibernated', 300_000);
    },
    'stopped-starting': async (id) => {
      await it.command(id, 'STOP');
      return it.reach(id, 'hibernated', 300_000);
    },
    'boot-fails': (id) => it.reach(id, 'start_failed', 700_000),
    'engine-refuses': (id) => it.reach(id, 'start_failed', 700_000),
    'never-ready': (id) => it.reach(id, 'start_failed', 700_000),
    crashed: async (id) => {
      await running(it, id);
      it.engine.crash(id, { code: 1 });
      return it.reach(id, 'start_failed', 300_000);
    },
    'killed-running': async (id) => {
      await running(it, id);
      await it.command(id, 'KILL');
      return it.reach(id, 'hibernated', 300_000);
    },
    'deleted-starting': async (id) => {
      await it.command(id, 'DELETE');
    },
    'deleted-running': async (id) => {
      await running(it, id);
      await it.command(id, 'DELETE');
    },
  };
  it.engine.script('boot-fails', { exitCode: 1 });
  it.engine.script('engine-refuses', { refuse: 'image_pull_failed' });
  it.games.silent.add('never-ready');
  for (const [id, leave] of Object.entries(ways)) {
    await it.create(id);
    await it.command(id, 'START');
    t.is((await refusal(t, it.command('waits', 'START'))).reason, 'MAX_SERVERS', id);
    t.is(it.reserved(), 1, id);
    await leave(id);
    // A deleted server is hidden at once, but holds its slot until its game has ended.
    await it.until(() => it.reserved() === 0);
  }
  await t.notThrowsAsync(it.command('waits', 'START'));
});

test('a failed start keeps its reservation until its hanging game has ended', async (t) => {
  const it = await admitting(t, { machine: PLENTY, maxServers: 1 });
  await it.create('waits');
  await it.create('hangs');
  it.games.silent.add('hangs');
  await it.command('hangs', 'START');
  await it.until(async () => (await it.engine.inspect('hangs'))?.up === true);
  it.engine.away();
  await it.reach('hangs', 'start_failed', 700_000);
  t.is((await refusal(t, it.command('waits', 'START'))).reason, 'MAX_SERVERS');
  it.engine.back();
  await it.clock.advance(10_000);
  await it.until(() => it.reserved() === 0);
  t.is(await it.engine.inspect('hangs'), undefined);
  await t.notThrowsAsync(it.command('waits', 'START'));
});

test('a server keeps its reservation through a restart of the service', async (t) => {
  const it = await admitting(t, { machine: PLENTY, maxServers: 1 });
  await it.create('awake');
  await it.create('asleep');
  await it.command('awake', 'START');
  await running(it, 'awake');
  await it.killAndRestart();
  const { capacity, limits } = it;
  const admit = createAdmission(() => it.servers.live(), capacity, limits, { nodeLabel: 'node-1' });
  it.servers.checkWakes(async () => admit);
  t.is((await refusal(t, it.command('asleep', 'START'))).reason, 'MAX_SERVERS');
});

test('CPU cores are overcommitted up to a limit, and a full disk refuses every start', async (t) => {
  const it = await admitting(t, { machine: { ...PLENTY, cores: 2 } });
  for (let nth = 0; nth < 9; nth++) await it.create(`s${nth}`);
  const starts = Array.from({ length: 9 }, (_, nth) => it.command(`s${nth}`, 'START'));
  t.deepEqual(reasons(await Promise.allSettled(starts)), { admitted: 8, NODE_CAPACITY: 1 });
  const { used, machine } = it.capacity.now();
  t.deepEqual([used, machine.cores], [{ servers: 8, ramMb: 4_096, cpus: 8 }, 2]);

  const full = await admitting(t);
  await full.create('any');
  full.machine.diskFreeMb = 255;
  t.is((await refusal(t, full.command('any', 'START'))).options.metadata?.['resource'], 'disk');
  // An unreadable disk does not count as full.
  Object.assign(full.machine, { diskFreeMb: 0, diskTotalMb: 0 });
  await t.notThrowsAsync(full.command('any', 'START'));
  Object.assign(full.machine, { diskFreeMb: 256, diskTotalMb: 20_000 });
  await full.create('other');
  await t.notThrowsAsync(full.command('other', 'START'));
});

test('a player who joins without free capacity sees the reason', async (t) => {
  const it = await admitting(t, { machine: PLENTY, maxServers: 1 });
  await it.create('one');
  await it.create('two');
  await it.servers.send('one', { type: 'START', at: it.clock.now(), cause: KEY });
  const error = await kicked(t, it, 'two');
  t.regex(error.message, /^Too many of this owner's servers are running\./);
  t.is((error.cause as StatusError).reason, 'MAX_SERVERS');
  t.is(it.engine.boots.includes('two'), false);
});

test('a server larger than its account’s RAM limit does not start, and a joining player sees the reason', async (t) => {
  const it = await admitting(t, { machine: PLENTY, maxRamMb: 4_096 });
  await it.create('large', { ramMb: 2_048 });
  await it.limits.set('acc_test', { maxRamMb: 1_024, maxServers: null });
  const error = await refusal(t, it.command('large', 'START'));
  t.is(error.reason, 'MAX_RAM');
  t.regex(error.message, /may use 1024 MB of RAM, and this server is set to 2048 MB\. Give it less/);
  t.deepEqual(error.options.metadata, { limitMb: '1024', neededMb: '2048', fits: 'never' });

  const kick = await kicked(t, it, 'large');
  t.regex(kick.message, /memory exceeds its owner's limit/);
  t.deepEqual(it.engine.boots, []);
  await it.servers.patchAtRest('large', { ramMb: 1_024 });
  await t.notThrowsAsync(it.command('large', 'START'));
});

test('a client that can show its place waits in line for capacity, and the server stays untouched', async (t) => {
  const it = await admitting(t);
  for (const id of ['one', 'two', 'three', 'four']) await it.create(id);
  for (const id of ['one', 'two', 'three']) await it.command(id, 'START');
  await it.create('huge', { ramMb: 4_096 });
  const { servers, clock, store } = it;
  const log = createLog({ level: 'silent' });
  const options = { joinPolicy: OPEN_POLICY, servers, clock, log, publicHost: 'play.example' };
  const routing = new Routing({ ...options, sleepers: await listRoutes(store) });
  t.teardown(() => routing.close());
  const player = { name: 'Steve', protocol: 774 } as Parameters<typeof routing.wake>[1];
  const { signal } = new AbortController();
  const full = /^This host is full right now\./;
  t.regex((await t.throwsAsync(routing.wake('four', player, signal))).message, full, 'an older client');

  const places: (number | null)[] = [];
  const inLine = { waitedMs: 0, notify: (place: number | null) => void places.push(place) };
  const huge = await t.throwsAsync(routing.wake('huge', player, signal, inLine));
  t.regex(huge.message, /memory exceeds what this host has/, 'waiting would not help');
  t.like((huge.cause as StatusError).options.metadata, { fits: 'never' });
  const before = await store.query('SELECT "snapshot", "updatedAt" FROM "servers" WHERE "id" = $1', ['four']);
  const woken = routing.wake('four', player, signal, inLine);
  await it.until(() => places.length > 0);
  t.deepEqual(places, [1]);
  t.deepEqual(await store.query('SELECT "snapshot", "updatedAt" FROM "servers" WHERE "id" = $1', ['four']), before);
  t.is(it.reserved(), 3);
  await running(it, 'one');
  await it.command('one', 'STOP');
  await it.reach('one', 'hibernated');
  await it.until(() => it.engine.boots.includes('four'));
  t.deepEqual(places, [1, null]);
  await it.reach('four', 'running');
  t.is((await woken).host, 'four.game');
});

test('three slots admit three of 50 concurrent mod pack installs, keep no row of the rest and are freed again', async (t) => {
  const it = await admitting(t);
  const pack = { type: 'fabric', modpackPlatform: 'modrinth', modpackRef: 'AANobbMI', modpackVersion: 'abcdefgh' };
  const ids = Array.from({ length: 50 }, (_, index) => `pack${index}`);
  for (const id of ids) it.engine.script(id, {});
  const created = await Promise.allSettled(ids.map((id) => it.create(id, pack)));
  t.deepEqual(reasons(created), { admitted: 3, NODE_CAPACITY: 47 });
  await it.until(
    async () => (await it.servers.listByAccount('acc_test')).length === 3 && it.engine.installs.length === 3,
  );
  const installing = await it.servers.listByAccount('acc_test');
  t.true(installing.every(({ state }) => state === 'installing'));
  await it.until(async () => (await it.store.query('SELECT 1 FROM "servers"')).length === 3);

  await it.create('plain');
  t.like(await t.throwsAsync(it.command('plain', 'START')), { reason: 'NODE_CAPACITY' });
  const [first, second] = installing.map(({ row }) => row.id) as [string, string];
  it.engine.crash(first, { code: 0 });
  await it.reach(first, 'hibernated');
  await it.command('plain', 'START');
  it.engine.crash(second, { code: 1 });
  await it.reach(second, 'install_failed');
  await it.until(() => it.reserved() === 2);
  t.is((await it.command(first, 'START')).state, 'starting');
  t.like(await t.throwsAsync(it.command(second, 'RETRY_INSTALL')), { reason: 'NODE_CAPACITY' });
  await it.command('plain', 'DELETE');
  await it.until(() => it.reserved() === 2);
  t.is((await it.command(second, 'RETRY_INSTALL')).state, 'installing');
});
