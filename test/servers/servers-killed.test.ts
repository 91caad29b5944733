import test from 'ava';
import type { ServerState } from '../../machines/server-types.ts';
import { StatusError } from '../../src/kernel/status.ts';
import type { Store } from '../../src/store/store.ts';
import { KEY, type World, world } from '../support/world.ts';
import { codeOf, running } from './servers-parts.ts';

/** A store with writes that can be held back or fail, and reads that can fail. */
function stoppable(base: Store) {
  const state = { hold: Promise.resolve(), fail: false, failAfter: Infinity, unreadable: false };
  const store: Store = {
    ...base,
    write: async (work) => {
      await state.hold;
      if (state.fail || state.failAfter-- <= 0) throw new Error('disk full');
      return base.write(work);
    },
    query: async (sql, parameters) => {
      if (state.unreadable) throw new Error('disk gone');
      return base.query(sql, parameters);
    },
  };
  return { state, store };
}

test('no effect starts before the state that requests it is stored', async (t) => {
  let database!: ReturnType<typeof stoppable>['state'];
  const w = await world(t, {
    store: (base) => {
      const { store, state } = stoppable(base);
      database = state;
      return store;
    },
  });
  await w.create('lobby');
  const { promise, resolve } = Promise.withResolvers<void>();
  database.hold = promise;
  const started = w.command('lobby', 'START');
  await w.clock.advance(10_000);
  t.deepEqual(w.engine.boots, []);
  resolve();
  await started;
  await w.reach('lobby', 'running');
  t.deepEqual(w.engine.boots, ['lobby']);
});

test('a command that could not be stored is undone', async (t) => {
  let database!: ReturnType<typeof stoppable>['state'];
  const w = await world(t, {
    store: (base) => {
      const { store, state } = stoppable(base);
      database = state;
      return store;
    },
  });
  await w.create('lobby');
  const told: (ServerState | undefined)[] = [];
  t.teardown(w.servers.observe((_, now) => void told.push(now?.state)));
  database.fail = true;
  t.is(codeOf(await t.throwsAsync(w.command('lobby', 'START'))), 'UNAVAILABLE UNAVAILABLE');
  database.unreadable = true;
  await w.clock.advance(5_000);
  t.is(told.at(-1), 'starting', 'the stored state cannot be read yet');
  database.unreadable = false;
  database.fail = false;
  await w.clock.advance(30_000);
  await w.until(() => told.at(-1) === 'hibernated');
  t.is((await w.servers.get('lobby'))?.state, 'hibernated');
  t.deepEqual(w.engine.boots, []);
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
});

for (const writes of [0, 1]) {
  test(`a kill after ${writes} writes of a creation leaves no server without the install of its mod pack`, async (t) => {
    let database!: ReturnType<typeof stoppable>['state'];
    const w = await world(t, {
      store: (base) => {
        const { store, state } = stoppable(base);
        database = state;
        return store;
      },
    });
    database.failAfter = writes;
    const pack = { modpackPlatform: 'modrinth', modpackRef: 'AANobbMI', modpackVersion: 'abcdefgh', type: 'fabric' };
    w.engine.script('lobby', { exitCode: 0 });
    await w.create('lobby', pack).catch(() => {});
    database.failAfter = Infinity;
    await w.killAndRestart();
    const now = await w.servers.get('lobby');
    t.is(now?.state, writes === 0 ? undefined : 'installing');
    if (now !== undefined) await w.reach('lobby', 'hibernated');
  });
}

test('a mod pack server refused for its name or by a rule leaves nothing behind', async (t) => {
  const w = await world(t);
  const pack = { modpackPlatform: 'modrinth', modpackRef: 'AANobbMI', modpackVersion: 'abcdefgh', type: 'fabric' };
  await w.create('lobby');
  const told: [string, ServerState | undefined][] = [];
  t.teardown(w.servers.observe((id, now) => void told.push([id, now?.state])));
  t.is(codeOf(await t.throwsAsync(w.create('lobby', pack))), 'ALREADY_EXISTS SERVER_EXISTS');
  t.deepEqual(told, []);
  t.is(codeOf(await t.throwsAsync(w.create('other', { ...pack, hostname: 'lobby' }))), 'ALREADY_EXISTS SERVER_EXISTS');
  await w.clock.advance(2_000);
  await w.until(() => told.at(-1)?.[1] === undefined);
  const refusal = async () => () => {
    throw new StatusError('RESOURCE_EXHAUSTED', 'NODE_CAPACITY', 'There is no room.');
  };
  t.teardown(w.servers.checkWakes(refusal, ['CREATE']));
  t.is(codeOf(await t.throwsAsync(w.create('third', pack))), 'RESOURCE_EXHAUSTED NODE_CAPACITY');
  t.deepEqual(await w.store.query('SELECT "id" FROM "servers"'), [{ id: 'lobby' }]);
  t.is((await w.servers.get('lobby'))?.state, 'hibernated');
});

test('a command behind a refused write in the same commit is undone too', async (t) => {
  const onStep = async (_: unknown, __: unknown, { event }: { event: string }) => {
    if (event === 'START') throw new Error('no room');
  };
  const w = await world(t, { onStep });
  await w.create('lobby');
  const given = await Promise.allSettled([w.command('lobby', 'START'), w.command('lobby', 'STOP')]);
  t.deepEqual(
    given.map((each) => (each.status === 'rejected' ? codeOf(each.reason) : each.value.state)),
    ['UNAVAILABLE UNAVAILABLE', 'UNAVAILABLE UNAVAILABLE'],
  );
  t.is((await w.servers.get('lobby'))?.state, 'hibernated');
  t.deepEqual((await w.servers.inspect('lobby'))?.transitions, []);
});

for (const failure of ['fail', 'unreadable'] as const) {
  test(`a game that ends while the database fails (${failure}) is restarted once the database is back`, async (t) => {
    let database!: ReturnType<typeof stoppable>['state'];
    const w = await world(t, {
      store: (base) => {
        const { store, state } = stoppable(base);
        database = state;
        return store;
      },
    });
    for (const id of ['lobby', 'other']) await running(w, id);
    await w.clock.advance(61_000);
    database[failure] = true;
    w.engine.crash('lobby');
    await w.clock.advance(180_000);
    database[failure] = false;
    await w.clock.advance(35_000);
    await w.until(() => w.engine.boots.length === 3);
    await w.reach('lobby', 'running');
    t.deepEqual(w.engine.boots, ['lobby', 'other', 'lobby']);
    const view = await w.servers.inspect('lobby');
    t.is(view?.transitions.filter(({ event }) => event === 'DOWN').length, 1);
    t.is((await w.servers.get('other'))?.state, 'running');
  });
}

for (const hours of [1, -1, -30]) {
  test(`a clock change of ${hours} h does not affect idle sleep, keep-awake or crash handling`, async (t) => {
    const w = await world(t);
    await running(w, 'lobby');
    await w.create('asked');
    await w.command('asked', 'START');
    await w.reach('asked', 'running');
    const until = w.clock.now() + 1_800_000;
    await w.servers.send('asked', { type: 'KEEP_AWAKE', at: w.clock.now(), until, cause: KEY });
    w.games.players.set('lobby', 1);
    await w.clock.advance(60_000);
    w.games.players.set('lobby', 0);
    await w.clock.advance(60_000);
    const before = (await w.servers.get('lobby'))!.context;
    await w.clock.set(w.clock.now() + hours * 3_600_000);
    const after = (await w.servers.get('lobby'))!.context;
    t.is(after.readyAt! - before.readyAt!, hours * 3_600_000, 'readyAt follows the clock');
    t.is(after.keepAwakeUntil, 0);
    await w.clock.advance(480_000);
    t.is((await w.servers.get('lobby'))?.state, 'running');
    await w.killAndRestart();
    await w.restarts('lobby', () => w.engine.crash('lobby'));
    t.deepEqual(w.engine.boots, ['lobby', 'asked', 'lobby'], 'a crash after a good run triggers a restart');
    await w.clock.advance(590_000);
    t.is((await w.servers.get('lobby'))?.state, 'running');
    await w.reach('lobby', 'hibernated', 60_000);
    t.is((await w.servers.get('asked'))?.state, 'running', 'kept awake for half an hour');
    await w.reach('asked', 'hibernated', 1_200_000, 5_000);
    const { transitions } = (await w.servers.inspect('lobby'))!;
    t.true(Math.abs(transitions[0]!.at - w.clock.now()) < 2_000_000, 'transitions use the time of the clock');
  });
}

test('stored times follow the new clock after a reboot with a changed clock', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  await w.clock.advance(61_000);
  await w.clock.set(w.clock.now() + 86_400_000);
  const { bakedAt } = (await w.servers.get('lobby'))!.context;
  await w.command('lobby', 'STOP');
  await w.reach('lobby', 'hibernated');
  await w.clock.set(w.clock.now() - 3_600_000);
  await w.killAndRestart({ rebooted: true });
  t.is((await w.servers.get('lobby'))!.context.bakedAt, bakedAt);
  await w.command('lobby', 'START');
  const { context } = (await w.reach('lobby', 'running'))!;
  t.is(context.bakedAt, bakedAt);
  t.true(Math.abs(context.readyAt! - w.clock.now()) < 5_000);
  await w.clock.advance(590_000);
  t.is((await w.servers.get('lobby'))?.state, 'running');
  await w.reach('lobby', 'hibernated', 60_000);
});

const CUTS: [ServerState, (w: World) => Promise<unknown>, ServerState | 'gone', number][] = [
  ['starting', (w) => w.command('lobby', 'START'), 'running', 1],
  ['stopping', async (w) => (await running0(w), w.command('lobby', 'STOP')), 'hibernated', 1],
  ['running', running0, 'running', 1],
  ['deleting', async (w) => (await running0(w), w.command('lobby', 'DELETE')), 'gone', 1],
];

async function running0(w: World): Promise<void> {
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
}

for (const [state, act, expected, boots] of CUTS) {
  test(`after a kill while ${state}, the server reaches ${expected} with a single game start`, async (t) => {
    const w = await world(t);
    await w.create('lobby');
    await act(w);
    await w.killAndRestart();
    await w.reach('lobby', expected, 200_000);
    t.is(w.engine.boots.length, boots);
    t.is((await w.engine.list()).length, expected === 'running' ? 1 : 0);
  });
}

test('a game ended by a machine shutdown soon after its start runs again after the reboot', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  await w.clock.advance(5_000);
  // SIGTERM reaches the game before the service.
  w.engine.crash('lobby', { code: 143 });
  await w.until(async () => (await w.servers.get('lobby'))?.state !== 'running');
  await w.killAndRestart({ rebooted: true });
  t.is((await w.reach('lobby', 'running'))?.context.startFailure, null);
});

test('a game that dies while the service is down is started again', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  await running0(w);
  const { servers } = w;
  await servers.close();
  w.engine.crash('lobby', { code: null });
  await w.killAndRestart();
  await w.reach('lobby', 'starting', 1_000).catch(() => undefined);
  await w.reach('lobby', 'running');
  t.is(w.engine.boots.length, 2);
});

test('a restart stops the game of a sleeping server and removes a game without a server', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  const spec = {
    core: 'sandbox',
    version: '1.21.4',
    ramMb: 512,
    cpus: 1,
    ports: [],
    image: 'x',
    dataDir: w.dataDir,
    env: {},
  };
  await w.engine.boot({ ...spec, serverId: 'lobby' }, AbortSignal.timeout(60_000));
  await w.engine.boot({ ...spec, serverId: 'stray' }, AbortSignal.timeout(60_000));
  await w.killAndRestart();
  await w.reach('lobby', 'hibernated');
  await w.clock.advance(1_000);
  t.deepEqual(await w.engine.list(), []);
});

test('an engine outage fails no server, and a game lost during it is started again', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  w.engine.away();
  await w.clock.advance(120_000);
  t.is((await w.servers.get('lobby'))?.state, 'running');
  w.engine.crash('lobby', { code: 137 });
  w.engine.back();
  await w.clock.advance(2_000);
  await w.reach('lobby', 'running');
  t.is(w.engine.boots.length, 2);
});

test('a start during an engine outage completes once the engine is back, or fails with engine_unavailable', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  w.engine.away();
  await w.command('lobby', 'START');
  await w.clock.advance(10_000);
  t.is((await w.servers.get('lobby'))?.state, 'starting');
  w.engine.back();
  await w.reach('lobby', 'running');
  await w.command('lobby', 'KILL');
  await w.reach('lobby', 'hibernated');
  w.engine.away();
  await w.command('lobby', 'START');
  const failed = await w.reach('lobby', 'start_failed', 120_000);
  t.is(failed?.context.startFailure?.code, 'engine_unavailable');
});

test('a row patched during its load is loaded with the patch', async (t) => {
  const read = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  let held = false;
  const w = await world(t, {
    store: (base) => ({
      ...base,
      query: async <Row>(sql: string, parameters?: unknown[]) => {
        const rows = await base.query<Row>(sql, parameters);
        if (held || !sql.startsWith('SELECT * FROM "servers"')) return rows;
        held = true;
        read.resolve();
        await answer.promise;
        return rows;
      },
    }),
  });
  await w.create('lobby', { motd: 'old' });
  const started = w.command('lobby', 'START');
  await read.promise;
  await w.servers.patch('lobby', { motd: 'new' });
  answer.resolve();
  t.is((await started).row.motd, 'new');
});
