import test, { type ExecutionContext } from 'ava';
import type { EngineEvent } from '../../src/engines/engine.ts';
import type { Notice } from '../../src/insight/alerts/body.ts';
import { listDiagnostics } from '../../src/servers/diagnostics.ts';
import { alertStep } from '../../src/insight/alerts/alerts.ts';
import type { Script } from '../fakes/engine.ts';
import { world } from '../support/world.ts';

/** A running server with a console that accepts no stop, like a server that is busy saving. */
async function saving(t: ExecutionContext, script: Script) {
  const told: Notice[] = [];
  const outbox = { add: async (_: unknown, __: string, notice: Notice) => void told.push(notice) };
  const w = await world(t, { onStep: (tx, now, step) => alertStep(outbox, tx, now, step) });
  await w.create('lobby');
  w.engine.script('lobby', script);
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  const ends: (number | null | undefined)[] = [];
  t.teardown(w.engine.watch((event: EngineEvent) => event.type === 'down' && ends.push(event.game.exit?.code)));
  w.games.silent.add('lobby');
  await w.command('lobby', 'STOP');
  const codes = async () => (await listDiagnostics(w.store, 'lobby')).map(({ kind, code }) => `${kind} ${code}`);
  return { w, told, ends, codes };
}

test('a game that takes 100 s to save is not killed', async (t) => {
  const { w, told, ends, codes } = await saving(t, { stopMs: 100_000 });
  await w.clock.advance(95_000);
  t.is((await w.servers.get('lobby'))?.state, 'stopping');
  await w.reach('lobby', 'hibernated', 10_000);
  t.deepEqual(ends, [0]);
  t.deepEqual(await codes(), []);
  t.deepEqual(told, []);
});

test('a game that ignores its stop is killed, and its owner gets an alert and a diagnostic', async (t) => {
  const { w, told, ends, codes } = await saving(t, { ignoreStop: true });
  await w.clock.advance(115_000);
  t.deepEqual(ends, []);
  await w.reach('lobby', 'hibernated', 10_000);
  t.deepEqual(ends, [137]);
  t.deepEqual(await codes(), ['stop stop_forced']);
  t.like(told, [{ event: 'stop.forced' }]);
  t.is(told.length, 1);
});

test('a kill by the game’s own image is also reported as a forced stop', async (t) => {
  const { w, told, codes } = await saving(t, {
    stopMs: 90_000,
    farewell: ['Took too long, so killing server process'],
  });
  await w.reach('lobby', 'hibernated', 100_000);
  t.deepEqual(await codes(), ['stop stop_forced']);
  t.like(told, [{ event: 'stop.forced' }]);
});

test('a requested kill during a stop sends no alert and leaves no diagnostic', async (t) => {
  const { w, told, codes } = await saving(t, { ignoreStop: true });
  await w.command('lobby', 'KILL');
  await w.reach('lobby', 'hibernated', 5_000);
  t.deepEqual(await codes(), []);
  t.deepEqual(told, []);
});

test('a stop accepted while the engine is away ends the game gracefully once the engine is back', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  w.engine.script('lobby', { stopMs: 3_000 });
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  const ends: (number | null | undefined)[] = [];
  t.teardown(w.engine.watch((event: EngineEvent) => event.type === 'down' && ends.push(event.game.exit?.code)));
  w.games.silent.add('lobby');
  w.engine.away();
  await w.command('lobby', 'STOP');
  await w.clock.advance(12_000);
  t.is((await w.servers.get('lobby'))?.state, 'stopping');
  w.engine.back();
  await w.reach('lobby', 'hibernated', 10_000);
  t.deepEqual(ends, [0]);
  t.deepEqual(await listDiagnostics(w.store, 'lobby'), []);
});
