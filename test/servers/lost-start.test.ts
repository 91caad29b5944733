import test, { type ExecutionContext } from 'ava';
import type { FakeNodes } from '../fakes/nodes.ts';
import { STEVE, type World, world } from '../support/world.ts';

const TWO = [
  { id: 'n1', name: 'one' },
  { id: 'n2', name: 'two' },
];

/** A server woken by a player. Its game runs on the first node and is not ready. */
async function starting(t: ExecutionContext): Promise<World & { nodes: FakeNodes }> {
  const w = await world(t, { nodes: TWO });
  await w.create('lobby');
  w.games.silent.add('lobby');
  await w.command('lobby', 'JOIN', STEVE);
  await w.until(() => w.engine.boots.length === 1);
  await w.clock.advance(2_000);
  const nodes = w.engine.nodes!;
  t.is(nodes.whereIs('lobby')?.id, 'n1');
  return { ...w, nodes };
}

/** Waits for the next start. Advances the clock in small steps, because a start takes real time. */
async function startsAnew(w: World): Promise<void> {
  const wokenAt = async () => (await w.servers.get('lobby'))?.context.wokenAt;
  const before = await wokenAt();
  await w.until(async () => {
    await w.clock.advance(500);
    return (await wokenAt()) !== before;
  });
  await w.until(() => w.engine.boots.length === 2);
}

const stateOf = async (w: World) => (await w.servers.get('lobby'))?.state;

test('a start on a lost node waits until the node is fenced, and then continues on another node', async (t) => {
  const w = await starting(t);
  w.nodes.cut('n1');
  await w.clock.advance(700_000);
  t.is(await stateOf(w), 'starting', 'the time limit does not apply to the wait');
  t.is(w.engine.boots.length, 1);
  await w.nodes.fence('n1');
  await startsAnew(w);
  t.is(w.nodes.whereIs('lobby')?.id, 'n2');
  t.is(await stateOf(w), 'starting');
  await w.clock.advance(500_000);
  t.is(await stateOf(w), 'starting', 'the new start gets the full time');
  w.games.silent.delete('lobby');
  const now = await w.reach('lobby', 'running');
  t.deepEqual(now?.context.cause, STEVE, 'the cause is still the player');
  t.is(now?.context.startFailure, null);
  const { transitions = [] } = (await w.servers.inspect('lobby')) ?? {};
  t.deepEqual(
    transitions.toReversed().map(({ event, to }) => `${event} ${to}`),
    ['JOIN starting', 'DOWN starting', 'xstate.done.actor.boot running'],
  );
});

test('a start that goes on unseen on a lost node becomes ready when the node is back', async (t) => {
  const w = await starting(t);
  w.nodes.cut('n1');
  await w.clock.advance(700_000);
  w.nodes.back('n1');
  await w.clock.advance(2_000);
  t.is(await stateOf(w), 'starting');
  w.games.silent.delete('lobby');
  await w.reach('lobby', 'running');
  t.is(w.engine.boots.length, 1);
});

test('a start that ended while its node was lost is retried; a crash during the retry fails it', async (t) => {
  const w = await starting(t);
  w.nodes.cut('n1');
  await w.clock.advance(30_000);
  w.engine.crash('lobby', { code: 137 });
  w.nodes.back('n1');
  await startsAnew(w);
  t.is(await stateOf(w), 'starting');
  await w.clock.advance(30_000);
  w.engine.crash('lobby', { code: 1 });
  const failed = await w.reach('lobby', 'start_failed');
  t.truthy(failed?.context.startFailure);
  t.is(w.engine.boots.length, 2);
});

test('a stop during a start on a lost node takes effect after fencing, without another start', async (t) => {
  const w = await starting(t);
  w.nodes.cut('n1');
  await w.clock.advance(30_000);
  await w.command('lobby', 'STOP');
  await w.clock.advance(30_000);
  t.is(await stateOf(w), 'stopping', 'a game on a lost node cannot be ended');
  await w.nodes.fence('n1');
  await w.reach('lobby', 'hibernated');
  t.is(w.engine.boots.length, 1);
});
