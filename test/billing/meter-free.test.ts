import test from 'ava';
import type { FakeNodes } from '../fakes/nodes.ts';
import { turns } from '../support/turns.ts';
import { STEVE } from '../support/world.ts';
import { metered } from './metered.ts';
import { CREDIT, RAM, awake, cost } from './meter-parts.ts';

test('a server deleted just before a tick is charged for its full minutes, and its ledger is kept', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.clock.advance(50_000);
  await it.meter.round();
  await it.clock.advance(12_000);
  await it.command('abc', 'DELETE');
  await it.reach('abc', 'gone');
  t.like((await it.sessions())[0], { ticks: 1, ending: 'deleted' });
  t.is(await it.balance(), CREDIT - cost(1));
  t.like((await it.ledger())[0], { serverId: 'abc', amountMicros: -cost(1) });
});

test('failed starts, starts that never finish and false wakes are free and recorded as such', async (t) => {
  const it = await metered(t);
  await it.create('abc');
  it.engine.script('abc', { print: ['x'], exitCode: 1 });
  await it.command('abc', 'START');
  await it.reach('abc', 'start_failed');
  await it.create('slow');
  it.games.silent.add('slow');
  await it.command('slow', 'START');
  await it.minutes(11);
  await it.create('false');
  await it.wake('false', STEVE);
  await it.minutes(2);
  t.is(await it.balance(), CREDIT);
  await it.reach('false', 'hibernated', 300_000);
  const endings = Object.fromEntries((await it.sessions()).map((each) => [each.serverId, [each.ending, each.ticks]]));
  t.deepEqual(endings, { abc: ['start_failed', 0], slow: ['start_failed', 0], false: ['false_wake', 0] });
  t.is(await it.balance(), CREDIT);
  await it.wake('false', STEVE);
  await it.minutes(1);
  it.games.players.set('false', 1);
  await it.minutes(1);
  t.is(await it.balance(), CREDIT - cost(2), 'a wake whose player joins is charged from the first minute');
  t.is(JSON.parse((await it.sessions()).at(-1)?.cause ?? '').id, 'Steve');
});

test('a server that its owner starts is charged even if a stranger woke it', async (t) => {
  const it = await metered(t);
  await it.create('abc');
  await it.command('abc', 'JOIN', STEVE);
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  await it.minutes(5);
  t.is((await it.servers.get('abc'))?.state, 'running');
  t.is(await it.balance(), CREDIT - cost(5));
});

test('a woken game that does not report its players is charged from its first minute', async (t) => {
  const it = await metered(t);
  it.games.status = async () => Promise.reject(new Error('no answer'));
  await it.create('abc');
  await it.wake('abc', STEVE);
  await it.minutes(2);
  t.is(await it.balance(), CREDIT);
  await it.minutes(8);
  t.is((await it.servers.get('abc'))?.state, 'running');
  t.is(await it.balance(), CREDIT - cost(10));
});

test('a crash loop stops, and its charges stop with it', async (t) => {
  const it = await metered(t);
  await it.create('abc');
  await it.wake('abc');
  for (let crashes = 0; crashes < 3; crashes++) {
    await it.minutes(5);
    const crash = () => it.engine.crash('abc', { code: 1 });
    if (crashes < 2) await it.restarts('abc', crash);
    else crash();
  }
  const now = await it.reach('abc', 'start_failed');
  t.is(now?.context.startFailure?.code, 'crash_loop');
  const balance = await it.balance();
  t.true(balance > CREDIT - cost(20));
  await it.minutes(120);
  t.is(await it.balance(), balance);
  t.is(it.engine.boots.length, 3);
});

test('a game that crashes before its waking player joins is free and is not restarted', async (t) => {
  const it = await metered(t);
  await it.create('abc');
  await it.wake('abc', STEVE);
  await it.minutes(2);
  it.engine.crash('abc', { code: 1 });
  await it.reach('abc', 'hibernated');
  await it.minutes(30);
  t.is(await it.balance(), CREDIT);
  t.is(it.engine.boots.length, 1);
  const [session, ...more] = await it.sessions();
  t.deepEqual([session?.ending, JSON.parse(session?.cause ?? '').id, more], ['crashed', 'Steve', []]);
});

/** A list of nodes in which the node of every game has not answered since the given time. */
const lostSince = (since: number) =>
  ({ whereIs: () => ({ name: 'node-2', waitsSince: since }) }) as unknown as FakeNodes;

test('a game’s minutes are free while its node does not answer, and are charged again afterwards', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.minutes(3);
  it.engine.nodes = lostSince(it.clock.now());
  await it.minutes(5);
  t.is(await it.balance(), CREDIT - cost(3));
  delete it.engine.nodes;
  await it.minutes(2);
  t.is(await it.balance(), CREDIT - cost(5));
  const [entry] = await it.store.query<{ detail: string }>(
    `SELECT "detail" FROM "audit" WHERE "action" = 'usage.writeOff'`,
  );
  t.regex(entry?.detail ?? '', /^[56] minutes in which the game did not respond; not charged$/);
});

test('a game that ends with its lost node is not charged for the time since the node stopped answering', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.minutes(3);
  it.engine.nodes = lostSince(it.clock.now());
  await it.minutes(5);
  await it.clock.advance(40_000);
  await it.restarts('abc', () => it.engine.crash('abc', { code: null }));
  delete it.engine.nodes;
  const [session] = await it.sessions();
  t.like(session, { ticks: 3, ending: 'lost' });
  t.is(session?.amountMicros, cost(3));
  // The game starts again within the minute in which its node was last seen as lost. That loss does not affect this session.
  await it.reach('abc', 'running');
  await it.restarts('abc', () => it.engine.crash('abc', { code: null }));
  const writtenOff = await it.store.query(`SELECT 1 FROM "audit" WHERE "action" = 'usage.writeOff'`);
  t.is(writtenOff.length, 1);
});

test('a session is charged for the RAM that it started with', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.minutes(2);
  await it.servers.patch('abc', { ramMb: 4_096 });
  await it.minutes(1);
  t.is(await it.balance(), CREDIT - cost(3));
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated');
  await it.wake('abc');
  await it.minutes(1);
  t.is(await it.balance(), CREDIT - cost(3) - cost(1, 4_096));
});

test('a RAM change racing a start keeps session, game and row consistent, and a failing change blocks no start', async (t) => {
  const it = await metered(t);
  const outcomes = new Set<boolean>();
  // In the last two rounds one call waits for the other, so that both outcomes of the race occur in every run.
  for (let round = 0; round < 26; round++) {
    const id = `race${round}`;
    await it.create(id);
    const order = Promise.withResolvers<void>();
    const wait = (isLast: boolean, count: number) => (isLast ? order.promise : turns(count));
    const change = wait(round === 25, round % 2 ? round : 0)
      .then(() => it.servers.patchAtRest(id, { ramMb: 1_024 }))
      .finally(order.resolve);
    const start = wait(round === 24, round % 2 ? 0 : round)
      .then(() => it.command(id, 'START'))
      .finally(order.resolve);
    const [changed, started] = await Promise.allSettled([change, start]);
    t.is(started.status, 'fulfilled');
    await it.until(async () => (await it.engine.inspect(id))?.up === true);
    await it.reach(id, 'running');
    const ramMb = changed.status === 'fulfilled' ? 1_024 : RAM;
    outcomes.add(changed.status === 'fulfilled');
    if (changed.status === 'rejected') t.like(changed.reason, { reason: 'SERVER_NOT_STOPPED' });
    t.is((await it.servers.get(id))?.row.ramMb, ramMb);
    t.is((await it.engine.stats(id))?.memLimitMb, ramMb);
    t.is((await it.sessions()).find(({ serverId }) => serverId === id)?.ramMb, ramMb);
  }
  t.deepEqual(outcomes, new Set([true, false]));
  await it.create('failing');
  const fails = it.servers.patchAtRest('failing', { ramMb: 4_096 }, () => Promise.reject(new Error('no')));
  const [failed] = await Promise.allSettled([fails, it.wake('failing')]);
  t.is(failed.status, 'rejected');
  t.is((await it.engine.stats('failing'))?.memLimitMb, RAM);
  t.is((await it.servers.get('failing'))?.row.ramMb, RAM);
});
