import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import type { ServerState } from '../../machines/server-types.ts';
import { StatusError } from '../../src/kernel/status.ts';
import type { Store } from '../../src/store/store.ts';
import { KEY, STEVE, type World, world } from '../support/world.ts';

const codeOf = (error: unknown) => (error instanceof StatusError ? `${error.code} ${error.reason}` : String(error));
const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

async function running(w: World, id: string): Promise<void> {
  await w.create(id);
  await w.command(id, 'START');
  await w.reach(id, 'running');
}

test('a start makes the data root ready, boots once, and keeps who asked', async (t) => {
  const w = await world(t);
  await w.create('lobby', { motd: 'hello' });
  t.is((await w.command('lobby', 'START')).state, 'starting');
  const now = await w.reach('lobby', 'running');
  t.deepEqual(w.engine.boots, ['lobby']);
  t.deepEqual(now?.context.address, { host: 'lobby.game', port: 25_565 });
  t.deepEqual(now?.context.cause, KEY);
  await w.until(async () => (await w.servers.get('lobby'))?.row.coldStartsMs.length === 1);
  t.regex(await readFile(join(w.dataDir, 'servers/lobby/server.properties'), 'utf8'), /^motd=hello$/m);
  const view = await w.servers.inspect('lobby');
  t.deepEqual(
    view?.transitions.map(({ from, to, event }) => [from, to, event]),
    [
      ['starting', 'running', 'xstate.done.actor.boot'],
      ['hibernated', 'starting', 'START'],
    ],
  );
  t.deepEqual(JSON.parse(view?.transitions[1]?.cause ?? ''), KEY);
  t.deepEqual(view?.allowedEvents, ['START', 'STOP', 'RESTART', 'KILL', 'JOIN', 'KEEP_AWAKE', 'DELETE']);
});

test('the last ten cold starts are remembered', async (t) => {
  const w = await world(t);
  await w.create('lobby', { coldStartsMs: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] });
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  const remembered = async () => (await w.servers.get('lobby'))?.row.coldStartsMs ?? [];
  await w.until(async () => (await remembered())[0] === 2);
  t.deepEqual((await remembered()).slice(0, 9), [2, 3, 4, 5, 6, 7, 8, 9, 10]);
  t.is((await remembered()).length, 10);
});

test('fifty joins of a sleeping server are one start', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  const joins = await Promise.all(Array.from({ length: 50 }, () => w.command('lobby', 'JOIN', STEVE)));
  t.true(joins.every(({ state }) => state === 'starting'));
  await w.reach('lobby', 'running');
  t.deepEqual(w.engine.boots, ['lobby']);
});

test('a command that the state does not allow is refused with the reason', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  t.is(codeOf(await t.throwsAsync(w.command('lobby', 'RESTART'))), 'FAILED_PRECONDITION SERVER_HIBERNATED');
  t.is(codeOf(await t.throwsAsync(w.command('nobody', 'START'))), 'NOT_FOUND SERVER_NOT_FOUND');
  t.is((await w.command('lobby', 'STOP')).state, 'hibernated');
});

/** A store whose writes can be held back or made to fail, its readings too. */
function stoppable(base: Store) {
  const state = { hold: Promise.resolve(), fail: false, unreadable: false };
  const store: Store = {
    ...base,
    write: async (work) => {
      await state.hold;
      if (state.fail) throw new Error('disk full');
      return base.write(work);
    },
    query: async (sql, parameters) => {
      if (state.unreadable) throw new Error('disk gone');
      return base.query(sql, parameters);
    },
  };
  return { state, store };
}

test('no effect begins before the state that asks for it is stored', async (t) => {
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

test('what could not be stored has not happened', async (t) => {
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
  t.is(told.at(-1), 'starting', 'what is cannot be read yet');
  database.unreadable = false;
  database.fail = false;
  await w.clock.advance(30_000);
  await w.until(() => told.at(-1) === 'hibernated');
  t.is((await w.servers.get('lobby'))?.state, 'hibernated');
  t.deepEqual(w.engine.boots, []);
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
});

test('a command behind one whose write is refused, in the same commit, has not happened either', async (t) => {
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
  test(`a game that ends while the database is out of order (${failure}) is started again once it is back`, async (t) => {
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

test('an end of which the engine told nobody is noticed within a minute', async (t) => {
  const w = await world(t, { watch: () => () => {} });
  await running(w, 'lobby');
  await w.clock.advance(61_000);
  w.engine.crash('lobby');
  await w.clock.advance(61_000);
  await w.until(() => w.engine.boots.length === 2);
  t.is((await w.reach('lobby', 'running'))?.context.cause.id, 'crash');
});

test('a stop saves over the console first; a kill does not wait', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  await w.command('lobby', 'STOP');
  await w.reach('lobby', 'hibernated');
  t.deepEqual(w.games.commands, ['lobby: save-all flush', 'lobby: stop']);

  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  await w.command('lobby', 'KILL');
  await w.reach('lobby', 'hibernated');
  t.is(w.games.commands.length, 2);
  t.deepEqual(await w.engine.list(), []);
});

test('a stop that the game ignores ends with its death, and a KILL ends it sooner', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  w.engine.script('lobby', { ignoreStop: true });
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  w.games.silent.add('lobby');
  await w.command('lobby', 'STOP');
  await w.clock.advance(20_000);
  t.is((await w.servers.get('lobby'))?.state, 'stopping');
  await w.command('lobby', 'KILL');
  await w.reach('lobby', 'hibernated', 5_000);
  w.games.silent.clear();
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  w.games.silent.add('lobby');
  await w.command('lobby', 'STOP');
  await w.reach('lobby', 'hibernated', 180_000);
});

test('a join while the server stops is queued and wakes it afterwards', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  await w.command('lobby', 'STOP');
  t.is((await w.command('lobby', 'JOIN', STEVE)).state, 'stopping');
  const now = await w.reach('lobby', 'running');
  t.deepEqual(now?.context.cause, STEVE);
  t.deepEqual(w.engine.boots, ['lobby', 'lobby']);
});

test('a game that ends while starting leaves a failure that says why', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  w.engine.script('lobby', { print: ['java.lang.OutOfMemoryError: Java heap space'], exitCode: 1 });
  await w.command('lobby', 'START');
  const now = await w.reach('lobby', 'start_failed');
  t.is(now?.context.startFailure?.code, 'out_of_memory');
  t.true((now?.context.startFailure?.suggestion.length ?? 0) > 0);
  await w.clock.advance(3_600_000);
  t.deepEqual(w.engine.boots, ['lobby'], 'no loop of restarts');
  w.engine.script('lobby', {});
  await w.command('lobby', 'START');
  const healed = await w.reach('lobby', 'running');
  t.is(healed?.context.startFailure, null);
});

test('a game that never gets ready is given up, and does not run on', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  w.games.silent.add('lobby');
  await w.command('lobby', 'START');
  const now = await w.reach('lobby', 'start_failed', 700_000);
  t.is(now?.context.startFailure?.code, 'start_timeout');
  await w.clock.advance(5_000);
  t.deepEqual(await w.engine.list(), []);
});

test('a line of chat makes nothing ready; the Done line does', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  w.games.silent.add('lobby');
  await w.command('lobby', 'START');
  await w.until(() => w.engine.boots.length === 1);
  w.engine.print('lobby', '[12:00:00] [Server thread/INFO]: <Eve> Done (1.0s)! For help, type "help"');
  await w.clock.advance(5_000);
  t.is((await w.servers.get('lobby'))?.state, 'starting');
  w.engine.print('lobby', '[12:00:01] [Server thread/INFO]: Done (1.234s)! For help, type "help"');
  await w.reach('lobby', 'running', 5_000);
});

test('a crash after a good run is started again, one right after the start is not', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  await w.clock.advance(61_000);
  await w.restarts('lobby', () => w.engine.crash('lobby'));
  t.deepEqual(w.engine.boots, ['lobby', 'lobby']);
  await w.clock.advance(10_000);
  w.engine.crash('lobby');
  const now = await w.reach('lobby', 'start_failed');
  t.truthy(now?.context.startFailure);
  t.is(w.engine.boots.length, 2);
});

test('a stop typed in the game is a stop; an end in good order that nobody asked for is not', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  await w.clock.advance(61_000);
  w.engine.print('lobby', '[12:00:00] [Server thread/INFO]: [Steve: Stopping the server]');
  w.engine.crash('lobby', { code: 0 });
  await w.reach('lobby', 'hibernated');
  t.is(w.engine.boots.length, 1);
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  w.engine.print(
    'lobby',
    '[12:00:00] [Server thread/INFO]: <Eve> Stopping the server',
    ...Array<string>(200).fill('x'),
  );
  w.engine.crash('lobby', { code: 0 });
  await w.until(() => w.engine.boots.length === 3);
  await w.reach('lobby', 'running');
});

test('a game that ends in good order again and again is started again twice; one that its engine loses, each time', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  for (let ends = 0; ends < 3; ends++) {
    await w.restarts('lobby', () => {
      w.engine.away();
      w.engine.crash('lobby', { code: 0 });
      w.engine.back();
    });
  }
  for (let ends = 0; ends < 2; ends++) await w.restarts('lobby', () => w.engine.crash('lobby', { code: 0 }));
  w.engine.crash('lobby', { code: 0 });
  const now = await w.reach('lobby', 'start_failed');
  t.is(now?.context.startFailure?.code, 'crash_loop');
  t.is(w.engine.boots.length, 6);
});

test('an empty server hibernates after its idle time, one with players does not', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  w.games.players.set('lobby', 1);
  await w.clock.advance(3_600_000);
  t.is((await w.servers.get('lobby'))?.state, 'running');
  w.games.players.set('lobby', 0);
  await w.clock.advance(590_000);
  t.is((await w.servers.get('lobby'))?.state, 'running');
  await w.reach('lobby', 'hibernated', 60_000);
  const view = await w.servers.inspect('lobby');
  t.true(view?.transitions.some(({ to, cause }) => to === 'stopping' && cause.includes('"idle"')));
});

test('a player whom the game does not count yet is not thrown out, and a visit between two readings counts', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  w.presence.changed('lobby', { inside: 0, knocking: 1 });
  w.presence.changed('lobby', { inside: 1, knocking: 0 });
  await w.clock.advance(1_200_000);
  t.is((await w.servers.get('lobby'))?.state, 'running', 'in the configuration phase, say');
  w.presence.changed('lobby', { inside: 0, knocking: 0 });
  await w.clock.advance(580_000);
  w.presence.changed('lobby', { inside: 1, knocking: 0 });
  await w.clock.advance(3_000);
  w.presence.changed('lobby', { inside: 0, knocking: 0 });
  await w.clock.advance(580_000);
  t.is((await w.servers.get('lobby'))?.state, 'running', 'its idle time began anew with the visit');
  await w.reach('lobby', 'hibernated', 60_000);
  await running(w, 'other');
  t.deepEqual(w.presence.of('lobby'), { inside: 0, knocking: 0, insideAt: null }, 'a run is forgotten with its end');
});

test('a server whose files are worked on says so, since when and what it is, also behind a kill', async (t) => {
  let arrived = 0;
  const latch = Promise.withResolvers<void>();
  const at = async (step: string) => {
    if (step !== 'asked') return;
    arrived += 1;
    await latch.promise;
  };
  const w = await world(t, { room: { at } });
  await w.create('lobby');
  await w.clock.advance(60_000);
  const since = w.clock.now();
  const job = { id: 'job_1', kind: 'world.delete', target: 'old' } as const;
  await w.servers.send('lobby', { type: 'MAINTAIN', at: since, cause: KEY, job });
  await w.until(() => arrived === 1);
  const shown = { state: 'maintaining', since, job: { kind: 'world.delete', target: 'old' } };
  t.like(await w.servers.inspect('lobby'), shown);
  await w.clock.advance(60_000);
  await w.killAndRestart();
  await w.until(() => arrived === 2);
  t.like(await w.servers.inspect('lobby'), shown);
  t.is((await w.servers.get('lobby'))?.state, 'hibernated');
  latch.resolve();
  await w.until(async () => (await w.servers.inspect('lobby'))?.state === 'hibernated');
  const after = await w.servers.inspect('lobby');
  t.is(after?.job, null);
  t.true((after?.since ?? 0) > since, 'asleep since the work ended');
});

for (const hours of [1, -1, -30]) {
  test(`somebody sets the clock by ${hours} h: nobody falls asleep for it, is kept awake by it, or fails`, async (t) => {
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
    t.is(after.readyAt! - before.readyAt!, hours * 3_600_000, 'as the clock shows it now');
    t.is(after.keepAwakeUntil, 0);
    await w.clock.advance(480_000);
    t.is((await w.servers.get('lobby'))?.state, 'running');
    await w.killAndRestart();
    await w.restarts('lobby', () => w.engine.crash('lobby'));
    t.deepEqual(w.engine.boots, ['lobby', 'asked', 'lobby'], 'a crash after a good run is one');
    await w.clock.advance(590_000);
    t.is((await w.servers.get('lobby'))?.state, 'running');
    await w.reach('lobby', 'hibernated', 60_000);
    t.is((await w.servers.get('asked'))?.state, 'running', 'kept awake for half an hour');
    await w.reach('asked', 'hibernated', 1_200_000, 5_000);
    const { transitions } = (await w.servers.inspect('lobby'))!;
    t.true(Math.abs(transitions[0]!.at - w.clock.now()) < 2_000_000, 'told in the time of the clock');
  });
}

test('a reboot with another clock: what is stored goes on by the clock of today', async (t) => {
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

test('the last status is kept without players for the time the server sleeps', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  w.games.players.set('lobby', 3);
  await w.clock.advance(20_000);
  await w.until(async () => (await w.servers.get('lobby'))?.row.lastStatus !== '');
  const now = await w.servers.get('lobby');
  t.deepEqual(JSON.parse(now?.row.lastStatus ?? ''), {
    version: { name: '1.21.4', protocol: 769 },
    players: { max: 20, online: 0 },
  });
});

test('a server with a mod pack is installed before it sleeps; a failed install can be retried', async (t) => {
  const w = await world(t);
  w.engine.script('pack', { print: ['[init] [ERROR] Failed to download the pack'], exitCode: 1 });
  const pack = { modpackPlatform: 'modrinth', modpackRef: 'AANobbMI', modpackVersion: 'abcdefgh', type: 'fabric' };
  t.is((await w.create('pack', pack)).state, 'installing');
  const failed = await w.reach('pack', 'install_failed');
  t.truthy(failed?.context.installFailure?.summary);
  t.is(codeOf(await t.throwsAsync(w.command('pack', 'START'))), 'FAILED_PRECONDITION SERVER_INSTALL_FAILED');
  w.engine.script('pack', { exitCode: 0 });
  await w.command('pack', 'RETRY_INSTALL');
  const installed = await w.reach('pack', 'hibernated');
  t.is(installed?.context.installFailure, null);
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
  test(`killed while ${state}: after the restart the server ends ${expected}, and nothing ran twice`, async (t) => {
    const w = await world(t);
    await w.create('lobby');
    await act(w);
    await w.killAndRestart();
    await w.reach('lobby', expected, 200_000);
    t.is(w.engine.boots.length, boots);
    t.is((await w.engine.list()).length, expected === 'running' ? 1 : 0);
  });
}

test('killed while running, and the game died meanwhile: it is started again', async (t) => {
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

test('a game that runs though its server sleeps is stopped; one without a server is removed', async (t) => {
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
  await w.engine.boot({ ...spec, serverId: 'lobby' }, AbortSignal.timeout(1_000));
  await w.engine.boot({ ...spec, serverId: 'stray' }, AbortSignal.timeout(1_000));
  await w.killAndRestart();
  await w.reach('lobby', 'hibernated');
  await w.clock.advance(1_000);
  t.deepEqual(await w.engine.list(), []);
});

test('an engine that was away: nothing is given up, and what it lost is started again', async (t) => {
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

test('a start while the engine is away goes through once it is back, or fails saying so', async (t) => {
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

test('deletion hides the server at once and leaves nothing', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  t.true(await exists(join(w.dataDir, 'servers/lobby')));
  await w.command('lobby', 'DELETE');
  t.is(await w.servers.get('lobby'), undefined);
  t.is(codeOf(await t.throwsAsync(w.command('lobby', 'START'))), 'NOT_FOUND SERVER_NOT_FOUND');
  await w.until(async () => (await w.store.query('SELECT id FROM servers')).length === 0);
  t.deepEqual(await w.engine.list(), []);
  t.false(await exists(join(w.dataDir, 'servers/lobby')));
});

test('a server at rest costs no actor', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  t.is(w.servers.live().length, 1);
  await w.command('lobby', 'STOP');
  await w.reach('lobby', 'hibernated');
  await w.until(() => w.servers.live().length === 0);
  t.is((await w.servers.get('lobby'))?.state, 'hibernated');
});

test('a server stored before there were jobs starts, crashes, and takes one', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  const [stored] = await w.store.query<{ snapshot: string }>('SELECT "snapshot" FROM "servers"');
  const snapshot = JSON.parse(stored?.snapshot ?? '{}') as { context: Record<string, unknown> };
  delete snapshot.context['job'];
  delete snapshot.context['maintained'];
  delete snapshot.context['crashes'];
  await w.store.write((tx) => tx.run('UPDATE "servers" SET "snapshot" = $1', [JSON.stringify(snapshot)]));
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  await w.clock.advance(61_000);
  await w.restarts('lobby', () => w.engine.crash('lobby'));
  const job = { id: 'job_1', kind: 'world.delete', target: 'world' } as const;
  await w.servers.send('lobby', { type: 'MAINTAIN', at: w.clock.now(), cause: KEY, job });
  t.is((await w.reach('lobby', 'running'))?.context.maintained?.failure, null);
});

test('a row that is changed while it is loaded is not loaded as it was', async (t) => {
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
