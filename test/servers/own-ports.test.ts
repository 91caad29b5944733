import test from 'ava';
import type { Listeners } from '../../src/engines/engine.ts';
import { world } from '../support/world.ts';

const DONE = '[10:00:09] [Server thread/INFO]: Done (1.234s)! For help, type "help"';

/** Starts a server on an engine whose games share this machine's addresses. */
async function starting(t: Parameters<typeof world>[0], listeners: () => Listeners, print: string[] = []) {
  const w = await world(t);
  w.engine.listeners = async () => listeners();
  await w.create('lobby');
  w.engine.script('lobby', { print });
  await w.command('lobby', 'START');
  return w;
}

test('a start fails if another program listens on the game port, and that program gets no password', async (t) => {
  const w = await starting(t, () => ({ own: [], taken: [25_565] }));
  const failed = await w.reach('lobby', 'start_failed', 60_000);
  t.like(failed?.context.startFailure, { code: 'port_in_use' });
  t.regex(failed?.context.startFailure?.summary ?? '', /Another program on this machine already listens on port 25565/);
  t.deepEqual(w.games.commands, [], 'the other program gets no console password');
});

test('a start fails if the game listens on another port, and the failure names that port', async (t) => {
  const w = await starting(t, () => ({ own: [25_570, 25_575], taken: [] }), [DONE]);
  const failed = await w.reach('lobby', 'start_failed', 60_000);
  t.like(failed?.context.startFailure, { code: 'wrong_port' });
  const summary = failed?.context.startFailure?.summary ?? '';
  t.regex(summary, /^Wrong port: The game listens on port 25570 instead of 25565\.$/);
});

test('a game that logs Done but listens on no port is not ready, and its start fails', async (t) => {
  const w = await starting(t, () => ({ own: [], taken: [] }), [DONE]);
  await w.clock.advance(20_000);
  t.is((await w.servers.get('lobby'))?.state, 'starting');
  const failed = await w.reach('lobby', 'start_failed', 60_000);
  t.like(failed?.context.startFailure, { code: 'wrong_port' });
});

test('a game that opens its port shortly after it logs Done becomes ready', async (t) => {
  let own: number[] = [];
  const w = await starting(t, () => ({ own, taken: [] }), [DONE]);
  await w.clock.advance(10_000);
  t.is((await w.servers.get('lobby'))?.state, 'starting');
  own = [25_565];
  await w.reach('lobby', 'running', 5_000);
});
