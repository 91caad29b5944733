import test from 'ava';
import { api } from '../support/api-harness.ts';
import { KEY, type World, world } from '../support/world.ts';
import { running } from './servers-parts.ts';

const WARN_MS = 30_000;

/** A running server with one player, which has counted that player. */
async function played(w: World): Promise<void> {
  w.games.players.set('lobby', 1);
  w.presence.changed('lobby', { inside: 1, knocking: 0 });
  await running(w, 'lobby');
  await w.until(async () => (await w.servers.get('lobby'))?.context.live.players === 1);
  w.games.commands.length = 0;
}

function warn(w: World, type: 'STOP' | 'RESTART') {
  const at = w.clock.now();
  return w.servers.send('lobby', { type, at, cause: KEY, dueAt: at + WARN_MS });
}

/** Returns when the server began to stop. */
async function stops(w: World): Promise<number[]> {
  const { transitions = [] } = (await w.servers.inspect('lobby')) ?? {};
  return transitions.filter(({ to }) => to === 'stopping').map(({ at }) => at);
}

const said = (w: World) => w.games.commands.filter((command) => /^lobby: (?:say|title) /.test(command));
const SOON = ['lobby: say lobby: restarts in 30 s.', 'lobby: title @a title {"text":"Restarts in 30 s"}'];
const LAST = ['lobby: say lobby: restarts in 10 s.', 'lobby: title @a title {"text":"Restarts in 10 s"}'];

test('players are warned in the chat and by a title, at once and 10 s before a restart', async (t) => {
  const w = await world(t);
  await played(w);
  const begun = w.clock.now();
  const now = await warn(w, 'RESTART');
  t.is(now.state, 'running');
  t.is(now.context.announced?.at, begun + WARN_MS);
  await w.until(() => said(w).length === 2);
  t.deepEqual(said(w), SOON);
  await w.passUntil(() => said(w).length === 4, 250);
  t.deepEqual(said(w).slice(2), LAST);
  t.is(w.clock.now() - begun, WARN_MS - 10_000);
  const boots = w.engine.boots.length;
  await w.passUntil(() => w.engine.boots.length > boots, 250);
  t.deepEqual(await stops(w), [begun + WARN_MS]);
  t.is((await w.reach('lobby', 'running'))?.context.announced, null);
  t.is(w.engine.boots.length, boots + 1);
});

test('an announced stop has one audit entry, of its announcement', async (t) => {
  const w = await world(t);
  await played(w);
  const actions = async () => {
    const sql = 'SELECT "action", "through", "detail" FROM "audit" WHERE "serverId" = $1 ORDER BY "id"';
    const rows = await w.store.query<Record<'action' | 'through' | 'detail', string>>(sql, ['lobby']);
    return rows.slice(2).map(({ action, through, detail }) => `${action}, ${through}, ${detail}`);
  };
  await warn(w, 'RESTART');
  const announced = ['server.restart, key key_test, after a warning to players'];
  t.deepEqual(await actions(), announced);
  const boots = w.engine.boots.length;
  await w.passUntil(() => w.engine.boots.length > boots, 250);
  await w.reach('lobby', 'running');
  t.deepEqual(await actions(), announced);
  await w.command('lobby', 'STOP');
  t.deepEqual(await actions(), [...announced, 'server.stop, key key_test, running → stopping']);
});

test('a restart announced before the process was killed happens once, at its time', async (t) => {
  const w = await world(t);
  await played(w);
  const begun = w.clock.now();
  await warn(w, 'RESTART');
  await w.until(() => said(w).length === 2);
  await w.clock.advance(5_000);
  await w.killAndRestart();
  t.is((await w.servers.get('lobby'))?.context.announced?.at, begun + WARN_MS);
  const boots = w.engine.boots.length;
  await w.passUntil(() => w.engine.boots.length > boots, 250);
  t.deepEqual(await stops(w), [begun + WARN_MS]);
  await w.reach('lobby', 'running');
  await w.clock.advance(2 * WARN_MS);
  t.is(w.engine.boots.length, boots + 1);
});

test('a stop whose time passed while the process was down happens as soon as it is back', async (t) => {
  const w = await world(t);
  await played(w);
  await warn(w, 'STOP');
  await w.killAndRestart({ rebooted: true });
  await w.clock.advance(WARN_MS);
  await w.reach('lobby', 'hibernated');
  t.deepEqual((await w.servers.inspect('lobby'))?.deadlines, []);
});

test('a cancelled restart is announced to the players and does not happen', async (t) => {
  const w = await world(t);
  await played(w);
  await warn(w, 'RESTART');
  await w.until(() => said(w).length === 2);
  t.is((await w.command('lobby', 'START')).context.announced, null);
  await w.until(() => said(w).length === 3);
  t.is(said(w).at(-1), 'lobby: say lobby: the restart is cancelled.');
  await w.clock.advance(2 * WARN_MS);
  t.is((await w.servers.get('lobby'))?.state, 'running');
  t.is(said(w).length, 3);
});

test('an announced stop begins when the last player leaves', async (t) => {
  const w = await world(t);
  await played(w);
  const begun = w.clock.now();
  await warn(w, 'STOP');
  w.games.players.set('lobby', 0);
  w.presence.changed('lobby', { inside: 0, knocking: 0 });
  await w.reach('lobby', 'hibernated');
  t.true(w.clock.now() - begun < WARN_MS);
});

test('the API warns players for at most ten minutes, shows when the server stops, and cancels by a start', async (t) => {
  const it = await api(t);
  const path = '/v1/servers/castle';
  await it.create('castle');
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  it.games.players.set('castle', 1);
  const counted = async () => (await it.servers.get('castle'))?.context.live.players === 1;
  await it.passUntil(counted, 5_000);
  const stopsAt = new Date(it.clock.now() + WARN_MS).toISOString();
  const restarting = { state: 'running', stopsAt, stopIsRestart: true };
  t.like(await it.ok('POST', `${path}:restart`, { warnSeconds: 30 }), restarting);
  t.like(await it.ok('GET', path), restarting);
  t.like(await it.ok('POST', `${path}:start`), { state: 'running', stopsAt: null, stopIsRestart: false });
  t.is((await it.call('POST', `${path}:stop`, { body: { warnSeconds: 601 } })).reason, 'INVALID_FIELD');
  t.like(await it.ok('POST', `${path}:stop`, { warnSeconds: 30 }), { state: 'running', stopIsRestart: false });
  t.like(await it.ok('POST', `${path}:stop`), { state: 'stopping', stopsAt: null });
});
