import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import type { ServerState } from '../../machines/server-types.ts';
import { Line } from '../../src/joining/line.ts';
import { StatusError, quotaExceeded } from '../../src/kernel/status.ts';
import type { ServerNow } from '../../src/servers/server-now.ts';
import type { Servers } from '../../src/servers/servers.ts';
import { fakeClock } from '../fakes/clock.ts';
import { turns } from '../support/turns.ts';

const MINUTE_MS = 60_000;

/** A node with `ramMb` of room, its servers, and the line of players that wait for it. */
function node(ramMb: number) {
  const clock = fakeClock();
  const servers = new Map<string, { ramMb: number; state: ServerState }>();
  const listeners = new Set<(id: string, now: ServerNow | null) => void>();
  const woken: string[] = [];
  /** The server of each wake attempt. */
  const tried: string[] = [];
  const refusals = new Map<string, Error>();
  const now = (id: string) => {
    const server = servers.get(id);
    return server && ({ row: { ramMb: server.ramMb }, state: server.state } as ServerNow);
  };
  const watched: Partial<Servers> = {
    get: async (id) => now(id),
    observe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const line = new Line(watched as Servers, clock);
  function set(id: string, state: ServerState | 'gone', sizeMb = servers.get(id)?.ramMb ?? 1): void {
    if (state === 'gone') servers.delete(id);
    else servers.set(id, { ramMb: sizeMb, state });
    for (const listener of listeners) listener(id, now(id) ?? null);
  }
  const used = () =>
    [...servers.values()].reduce((sum, server) => sum + (server.state === 'hibernated' ? 0 : server.ramMb), 0);

  async function wake(id: string): Promise<void> {
    tried.push(id);
    await turn();
    const server = servers.get(id);
    const refusal = server ? refusals.get(id) : new StatusError('NOT_FOUND', 'SERVER_NOT_FOUND', 'It is gone.');
    if (refusal) throw refusal;
    if (server?.state !== 'hibernated') return;
    const isHuge = server.ramMb > ramMb;
    if (used() + server.ramMb > ramMb)
      throw quotaExceeded('NODE_CAPACITY', 'node', 'Full.', isHuge ? { fits: 'never' } : undefined);
    woken.push(id);
    set(id, 'starting');
  }

  /** Puts a player in line for a server. `places` collects the places reported to them. */
  function come(serverId: string, since = clock.now()) {
    const gone = new AbortController();
    const places: (number | null)[] = [];
    const player = { places, gone, outcome: 'waits' };
    const notify = (place: number | null) => void places.push(place);
    line.enter({ serverId, since, signal: gone.signal, wake: () => wake(serverId), notify }).then(
      () => (player.outcome = 'in'),
      (error: Error) => (player.outcome = error instanceof StatusError ? error.reason : error.message),
    );
    return player;
  }
  /** Lets all pending work finish. */
  const settle = () => turns(50);
  return { clock, line, set, come, settle, woken, tried, refusals, used };
}

test('the first player in line goes first with all players of the same server, and the others move up', async (t) => {
  const it = node(1);
  for (const id of ['busy', 'a', 'b', 'c']) it.set(id, id === 'busy' ? 'running' : 'hibernated');
  const players = [];
  for (const id of ['a', 'b', 'a', 'c']) {
    players.push(it.come(id));
    await it.settle();
    await it.clock.advance(10);
  }
  t.deepEqual(
    players.map(({ places }) => places),
    [[1], [2], [1], [3]],
  );
  t.deepEqual(it.woken, []);
  it.set('busy', 'stopping');
  await it.settle();
  t.deepEqual(it.woken, [], 'a stopping server still holds its room');
  it.set('busy', 'hibernated');
  await it.settle();
  t.deepEqual(it.woken, ['a']);
  t.deepEqual(
    players.map(({ outcome }) => outcome),
    ['in', 'waits', 'in', 'waits'],
  );
  t.deepEqual(
    players.map(({ places }) => places),
    [
      [1, null],
      [2, 1],
      [1, null],
      [3, 2],
    ],
  );
  it.set('a', 'hibernated');
  await it.settle();
  it.set('b', 'hibernated');
  await it.settle();
  t.deepEqual(it.woken, ['a', 'b', 'c']);
  t.deepEqual(players[3]!.places, [3, 2, 1, null]);
  t.is(it.clock.pending(), 0);
});

test('a player skips the line when there is room', async (t) => {
  const it = node(1);
  it.set('a', 'hibernated');
  const player = it.come('a');
  await it.settle();
  t.deepEqual([player.outcome, player.places], ['in', [null]]);
});

test('a leaving player frees a place in line, and a player with an earlier arrival time stands ahead', async (t) => {
  const it = node(1);
  for (const id of ['busy', 'a', 'b', 'c']) it.set(id, id === 'busy' ? 'running' : 'hibernated');
  const late = it.come('a');
  await it.settle();
  const early = it.come('b', it.clock.now() - MINUTE_MS);
  const between = it.come('c', it.clock.now() - 1_000);
  await it.settle();
  t.deepEqual([late.places.at(-1), early.places, between.places], [3, [1], [2]]);
  early.gone.abort(new Error('gone'));
  await it.settle();
  t.deepEqual([late.places.at(-1), early.outcome, between.places], [2, 'gone', [2, 1]]);
  it.set('busy', 'hibernated');
  await it.settle();
  t.deepEqual(it.woken, ['c']);
});

test('the wait in line ends ten minutes after the player’s arrival', async (t) => {
  const it = node(1);
  for (const id of ['busy', 'a', 'b']) it.set(id, id === 'busy' ? 'running' : 'hibernated');
  const [first, second] = [it.come('a'), it.come('b', it.clock.now() - 4 * MINUTE_MS)];
  await it.clock.advance(6 * MINUTE_MS - 1);
  t.is(second.outcome, 'waits');
  await it.clock.advance(1);
  t.deepEqual([first.outcome, second.outcome], ['waits', 'NODE_CAPACITY']);
  await it.clock.advance(4 * MINUTE_MS);
  t.is(first.outcome, 'NODE_CAPACITY');
  t.is(it.clock.pending(), 0);
});

test('room too small for the first server in line goes to the next one that fits', async (t) => {
  const it = node(4);
  it.set('busy', 'running', 3);
  it.set('small', 'running', 1);
  it.set('large', 'hibernated', 4);
  it.set('a', 'hibernated', 1);
  it.set('b', 'hibernated', 1);
  const players = [];
  for (const id of ['large', 'a', 'b']) {
    players.push(it.come(id));
    await it.settle();
    await it.clock.advance(1);
  }
  it.set('small', 'hibernated');
  await it.settle();
  t.deepEqual(it.woken, ['a']);
  t.deepEqual(
    players.map(({ places }) => places.at(-1)),
    [1, null, 2],
  );
});

test('a freed place causes only a few wake attempts, however long the line is', async (t) => {
  const it = node(1);
  it.set('busy', 'running');
  for (let n = 0; n < 200; n++) it.set(`s${n}`, 'hibernated');
  const players = Array.from({ length: 200 }, (_, n) => it.come(`s${n}`));
  await it.settle();
  t.deepEqual(
    players.map(({ places }) => places.at(-1)),
    Array.from({ length: 200 }, (_, n) => n + 1),
  );
  t.is(it.tried.splice(0).length, 200, 'one attempt per player, on arrival');
  it.set('busy', 'hibernated');
  await it.settle();
  t.deepEqual(it.woken, ['s0']);
  t.true(it.tried.splice(0).length <= 3);
  await it.clock.advance(MINUTE_MS);
  t.true(it.tried.length <= 4, 'an occasional retry, because freed disks send no event');
});

test('any other refusal of a server ends the wait for it, and the next in line gets a turn', async (t) => {
  const it = node(1);
  for (const id of ['busy', 'poor', 'deleted', 'a']) it.set(id, id === 'busy' ? 'running' : 'hibernated');
  const poor = it.come('poor');
  const deleted = it.come('deleted');
  const last = it.come('a');
  await it.settle();
  it.set('deleted', 'gone');
  await it.settle();
  t.is(deleted.outcome, 'SERVER_NOT_FOUND', 'refused at once');
  it.refusals.set('poor', new StatusError('FAILED_PRECONDITION', 'INSUFFICIENT_FUNDS', 'No.'));
  it.set('busy', 'hibernated');
  await it.settle();
  t.deepEqual([poor.outcome, last.outcome], ['INSUFFICIENT_FUNDS', 'in']);
  const another = it.come('poor');
  await it.settle();
  t.is(another.outcome, 'INSUFFICIENT_FUNDS', 'refused without a wait in line');
});

test('a server too large for the node is refused at once, and one already woken admits its waiting players', async (t) => {
  const it = node(2);
  it.set('busy', 'running', 2);
  it.set('huge', 'hibernated', 3);
  it.set('a', 'hibernated', 2);
  const [huge, first, second] = [it.come('huge'), it.come('a'), it.come('a')];
  await it.settle();
  t.deepEqual([huge.outcome, first.outcome, second.outcome], ['NODE_CAPACITY', 'waits', 'waits']);
  it.set('a', 'starting');
  await it.settle();
  t.deepEqual([first.outcome, second.outcome], ['in', 'in']);
  t.deepEqual(it.woken, []);
});

test('a new player does not overtake the line, and a place freed meanwhile is not missed', async (t) => {
  const it = node(1);
  for (const id of ['busy', 'a', 'b']) it.set(id, id === 'busy' ? 'running' : 'hibernated');
  const first = it.come('a');
  await it.settle();
  it.set('busy', 'hibernated');
  const second = it.come('b');
  await it.settle();
  t.deepEqual([first.outcome, second.outcome, it.woken], ['in', 'waits', ['a']]);
  const third = it.come('b');
  it.set('a', 'hibernated');
  await it.settle();
  t.deepEqual([second.outcome, third.outcome, it.woken], ['in', 'in', ['a', 'b']]);
});

test('the line holds at most 1000 players', async (t) => {
  const it = node(1);
  for (const id of ['busy', 'a', 'b']) it.set(id, id === 'busy' ? 'running' : 'hibernated');
  const players = Array.from({ length: 1_001 }, () => it.come('a'));
  await it.settle();
  t.is(players.filter(({ outcome }) => outcome === 'NODE_CAPACITY').length, 1);
  players.find(({ outcome }) => outcome === 'waits')?.gone.abort(new Error('gone'));
  const next = it.come('b');
  await it.settle();
  t.deepEqual([next.outcome, next.places], ['waits', [2]]);
});
