import test, { type ExecutionContext } from 'ava';
import type { Waiter } from '../../src/joining/line.ts';
import { queueServers } from '../../src/joining/queued-servers.ts';
import { createLog } from '../../src/kernel/log.ts';
import { nodesSite } from '../support/nodes-site.ts';
import { world } from '../support/world.ts';

/** Two nodes with 3584 MB for games each: `small` runs on the first, and `large` leaves 512 MB free on the second. */
async function lossSite(t: ExecutionContext) {
  const it = await nodesSite(t, [
    { id: 'n1', name: 'one', ramMb: 4_096 },
    { id: 'n2', name: 'two', ramMb: 4_096 },
  ]);
  for (const [id, ramMb] of [
    ['small', 1_536],
    ['large', 3_072],
  ] as const) {
    await it.create(id, { ramMb });
    await it.command(id, 'START');
    await it.running(id);
  }
  t.deepEqual(
    ['small', 'large'].map((id) => it.nodes.whereIs(id)?.id),
    ['n1', 'n2'],
  );
  return it;
}

/** Marks the first node as off. Its game finds no room on the other. */
async function lost(it: Awaited<ReturnType<typeof lossSite>>) {
  it.nodes.cut('n1');
  await it.nodes.fence('n1');
  await it.reach('small', 'start_failed');
  await it.until(() => it.route('small')?.asleepLine === '§7Asleep: §fthis host is full');
}

const stateOf = async (it: Awaited<ReturnType<typeof lossSite>>, id: string) => (await it.servers.get(id))?.state;

test('a server from a lost node without room elsewhere is queued and starts once another server sleeps', async (t) => {
  const it = await lossSite(t);
  await lost(it);
  t.like(await it.ok('GET', '/v1/servers/small'), {
    state: 'start_failed',
    startErrorCode: 'no_room',
    startErrorSummary: 'No room: No node of the swarm has room for this server now.',
    startErrorSuggestion:
      'It is queued and starts automatically when there is room. Stopping it removes it from the queue.',
  });
  const { waitsFor } = (await it.operate('machines/small')).json as { waitsFor: object[] };
  const until = new Date(it.clock.now() + 3_600_000).toISOString();
  t.like(waitsFor, [{ name: 'room', what: 'a machine with free capacity', until }]);
  t.regex(await it.kicked('small'), /^This host is full right now/);
  await it.clock.advance(120_000);
  t.is(await stateOf(it, 'small'), 'start_failed');
  t.is(it.engine.boots.filter((id) => id === 'small').length, 1);

  await it.command('large', 'STOP');
  await it.reach('large', 'hibernated');
  const now = await it.reach('small', 'running');
  t.is(it.nodes.whereIs('small')?.id, 'n2');
  t.like(now?.context.cause, { kind: 'system', id: 'lost' }, 'the cause of the start stays the same');
  t.is(now?.context.noRoom, null);
  t.is(it.route('small')?.state, 'running');
});

test('a queued server starts when its node returns, but not after a stop or an hour of waiting', async (t) => {
  const it = await lossSite(t);
  await lost(it);
  it.nodes.back('n1');
  await it.reach('small', 'running');
  t.is(it.nodes.whereIs('small')?.id, 'n1');

  await lost(it);
  await it.command('small', 'STOP');
  it.nodes.back('n1');
  await it.clock.advance(60_000);
  t.is(await stateOf(it, 'small'), 'start_failed');
  const { startErrorSuggestion } = await it.ok('GET', '/v1/servers/small');
  t.regex(String(startErrorSuggestion), /^Start it when another server sleeps/);
  await it.command('small', 'START');
  await it.reach('small', 'running');

  await lost(it);
  it.games.players.set('large', 1);
  await it.clock.advance(3_700_000);
  t.like(await it.ok('GET', '/v1/servers/small'), {
    state: 'start_failed',
    startErrorSummary: 'No room: the server waited 60 minutes for a machine with room. Start it again later.',
  });
  it.nodes.back('n1');
  await it.clock.advance(60_000);
  t.is(await stateOf(it, 'small'), 'start_failed');
});

test('a queued server stands between earlier and later players, and its own players join with it', async (t) => {
  const it = await lossSite(t);
  for (const id of ['sooner', 'later']) await it.create(id, { ramMb: 3_072 });
  it.nodes.cut('n1');
  const sooner = it.comes('sooner', 'Alex');
  await it.until(() => sooner.places.length > 0);
  await it.clock.advance(1_000);
  await it.nodes.fence('n1');
  await it.reach('small', 'start_failed');
  await it.until(() => it.logged.some((line) => line.includes('small waits for capacity: number 2 in the queue')));
  await it.clock.advance(1_000);
  const [later, own] = [it.comes('later', 'Steve'), it.comes('small', 'Eve')];
  await it.until(() => later.places.length > 0 && own.places.length > 0);
  t.deepEqual([sooner.places, later.places, own.places], [[1], [3], [2]]);
  await it.command('large', 'STOP');
  await it.running('sooner');
  await it.until(() => own.places.at(-1) === 1);
  t.deepEqual(later.places, [3, 2]);
  await it.command('sooner', 'STOP');
  await it.running('small');
  await it.until(() => own.outcome === 'small.game');
  t.deepEqual(own.places.at(-1), null);
  t.deepEqual(later.places, [3, 2, 1]);
  t.is(later.outcome, 'waits');
});

test('a suspended server leaves the queue and does not return to it', async (t) => {
  const it = await lossSite(t);
  await lost(it);
  t.like((await it.operate('servers/small:suspend', { reason: 'too loud' })).json, { startErrorCode: 'suspended' });
  t.is((await it.servers.get('small'))?.context.noRoom, null);
  await it.operate('servers/small:unsuspend', { reason: 'quiet' });
  it.nodes.back('n1');
  await it.clock.advance(60_000);
  t.is(await stateOf(it, 'small'), 'start_failed');
  t.is((await it.ok('GET', '/v1/servers/small'))['startErrorCode'], 'no_room_found');
});

test('a queued server that becomes too large for every node leaves the queue with the reason', async (t) => {
  const it = await lossSite(t);
  await lost(it);
  await it.servers.patchAtRest('small', { ramMb: 8_192 });
  await it.passUntil(async () => (await it.servers.get('small'))?.context.noRoom === null, 5_000);
  t.like(await it.ok('GET', '/v1/servers/small'), {
    state: 'start_failed',
    startErrorCode: 'node_capacity',
    startErrorSummary:
      'Not started: The largest machine in region na has 3584 MB of RAM for games, and this server needs 8192 MB. Give it less.',
  });
});

test('a queued server keeps its place in line across a service restart', async (t) => {
  const w = await world(t, {
    nodes: [
      { id: 'n1', ramMb: 1_024 },
      { id: 'n2', ramMb: 1_024 },
    ],
  });
  for (const id of ['first', 'second']) {
    await w.create(id, { ramMb: 1_024 });
    await w.command(id, 'START');
    await w.reach(id, 'running');
  }
  w.engine.nodes!.cut('n1');
  await w.engine.nodes!.fence('n1');
  const { context } = (await w.reach('first', 'start_failed'))!;
  await w.clock.advance(60_000);
  await w.killAndRestart();
  const since: number[] = [];
  const line = { enter: async ({ since: at, wake }: Waiter) => (since.push(at), await wake()) };
  t.teardown(
    queueServers({ servers: w.servers, line, entered: () => {}, clock: w.clock, log: createLog({ level: 'silent' }) }),
  );
  w.engine.nodes!.back('n1');
  await w.reach('first', 'running');
  t.deepEqual(since, [context.noRoom?.foundAt]);
});
