import test from 'ava';
import type { Notice } from '../../src/insight/alerts/body.ts';
import { Routing } from '../../src/joining/routing.ts';
import { createLog } from '../../src/kernel/log.ts';
import { listDiagnostics } from '../../src/servers/diagnostics.ts';
import { alertStep } from '../../src/insight/alerts/alerts.ts';
import { OPEN_POLICY } from '../support/join-policy.ts';
import { type World, world } from '../support/world.ts';

async function running(w: World, id = 'lobby'): Promise<void> {
  await w.create(id);
  await w.command(id, 'START');
  await w.reach(id, 'running');
  // Wait for a reading of a game that answers.
  await w.clock.advance(16_000);
  w.engine.print(id, '[Server thread/INFO]: the last thing it did');
  await w.clock.advance(16_000);
}

const codes = async (w: World) => (await listDiagnostics(w.store, 'lobby')).map(({ kind, code }) => `${kind} ${code}`);

test('a hung game is ended, reported and restarted once; a second hang fails the server', async (t) => {
  const told: Notice[] = [];
  const outbox = { add: async (_: unknown, __: string, notice: Notice) => void told.push(notice) };
  const w = await world(t, { onStep: (tx, now, step) => alertStep(outbox, tx, now, step) });
  await running(w);
  w.games.players.set('lobby', 2);
  w.games.silent.add('lobby');
  await w.clock.advance(170_000);
  t.is(w.engine.boots.length, 1, 'the game is not ended early');
  w.engine.script('lobby', { ignoreStop: true });
  await w.until(async () => {
    await w.clock.advance(1_000);
    return (await w.servers.get('lobby'))?.state !== 'running';
  });
  // The folder is prepared in real time, so the clock must not run ahead.
  await w.until(() => w.engine.boots.length === 2);
  w.games.silent.delete('lobby');
  await w.reach('lobby', 'running');
  t.deepEqual(await codes(w), ['crash hung']);
  const [diagnostic] = await listDiagnostics(w.store, 'lobby');
  t.regex(diagnostic?.evidence ?? '', /the last thing it did/);
  t.like(told, [{ event: 'game.hung', restarts: true }]);
  await w.clock.advance(32_000);
  w.games.silent.add('lobby');
  const failed = await w.reach('lobby', 'start_failed');
  t.like(failed?.context.startFailure, { code: 'hung' });
  t.deepEqual(await codes(w), ['crash hung', 'crash hung']);
  t.like(told, [{ restarts: true }, { event: 'game.hung', restarts: false }]);
  await w.until(async () => (await w.engine.inspect('lobby'))?.up !== true);
});

test('a game that still logs, never answered, or runs on an unreachable engine does not count as hung', async (t) => {
  const w = await world(t);
  await running(w);
  w.games.silent.add('lobby');
  for (let part = 0; part < 20; part++) {
    w.engine.print('lobby', `[Worker/INFO]: preparing ${part} %`);
    await w.clock.advance(15_000);
  }
  t.is((await w.servers.get('lobby'))?.state, 'running');
  w.engine.away();
  await w.clock.advance(600_000);
  t.is((await w.servers.get('lobby'))?.state, 'running');
  w.games.silent.delete('lobby');
  w.engine.back();
  w.games.silent.add('mute');
  w.engine.script('mute', { print: ['[10:00:09] [Server thread/INFO]: Done (1.0s)! For help, type "help"'] });
  await w.create('mute');
  await w.command('mute', 'START');
  await w.reach('mute', 'running');
  await w.clock.advance(900_000);
  t.is((await w.servers.get('mute'))?.state, 'running');
});

test('joins to an unresponsive game are refused with a message until it answers again', async (t) => {
  const w = await world(t);
  const { servers, clock } = w;
  const log = createLog({ level: 'silent' });
  const routing = new Routing({
    joinPolicy: OPEN_POLICY,
    servers,
    clock,
    log,
    publicHost: 'play.example',
    sleepers: [],
  });
  t.teardown(() => routing.close());
  await running(w);
  const refusal = () => routing.lookup('lobby.play.example')?.refusal ?? '';
  t.is(refusal(), '');
  w.games.silent.add('lobby');
  await w.clock.advance(60_000);
  t.regex(refusal(), /is not responding/);
  w.games.silent.delete('lobby');
  await w.clock.advance(16_000);
  t.is(refusal(), '');
});
