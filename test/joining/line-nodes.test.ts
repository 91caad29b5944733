import test, { type ExecutionContext } from 'ava';
import { nodesSite } from '../support/nodes-site.ts';

type Site = Awaited<ReturnType<typeof nodesSite>>;

/** Two nodes with 3584 MB for games each. Starts the servers one after the other, each on a node with room. */
async function fullNodes(t: ExecutionContext, servers: Record<string, number>): Promise<Site> {
  const it = await nodesSite(t, [
    { id: 'n1', name: 'one', ramMb: 4_096 },
    { id: 'n2', name: 'two', ramMb: 4_096 },
  ]);
  for (const [id, ramMb] of Object.entries(servers)) {
    await it.create(id, { ramMb });
    await it.command(id, 'START');
    await it.running(id);
  }
  return it;
}

async function sleeps(it: Site, id: string): Promise<void> {
  await it.command(id, 'STOP');
  await it.reach(id, 'hibernated');
}

test('room that fits only the second server in line goes to it, and the first keeps its place', async (t) => {
  const it = await fullNodes(t, { one: 2_560, two: 3_072, three: 1_024 });
  t.deepEqual(
    ['one', 'two', 'three'].map((id) => it.nodes.whereIs(id)?.id),
    ['n1', 'n2', 'n1'],
  );
  for (const [id, ramMb] of [
    ['large', 3_072],
    ['little', 1_024],
    ['last', 1_024],
  ] as const)
    await it.create(id, { ramMb });
  const players: ReturnType<Site['comes']>[] = [];
  for (const [id, name] of [
    ['large', 'Ann'],
    ['little', 'Bob'],
    ['last', 'Cid'],
  ] as const) {
    const player = it.comes(id, name);
    players.push(player);
    await it.until(() => player.places.length > 0);
    await it.clock.advance(10);
  }
  const places = () => players.map((player) => player.places.at(-1));
  t.deepEqual(places(), [1, 2, 3]);

  await sleeps(it, 'three');
  await it.running('little');
  t.is(it.nodes.whereIs('little')?.id, 'n1');
  await it.until(() => players[1]!.outcome === 'little.game');
  t.deepEqual(places(), [1, null, 2]);
  t.is((await it.servers.get('large'))?.state, 'hibernated', 'the large server was not tried on a node without room');

  await sleeps(it, 'two');
  await it.running('large');
  t.is(it.nodes.whereIs('large')?.id, 'n2');
  await it.until(() => places()[2] === 1);
  t.is(players[2]!.outcome, 'waits', 'no single node has the room that both have together');
  await sleeps(it, 'little');
  await it.running('last');
  await it.until(() => players.every(({ outcome }) => outcome.endsWith('.game')));
  t.deepEqual(
    players.map((player) => player.places),
    [
      [1, null],
      [2, null],
      [3, 2, 1, null],
    ],
  );
});

test('two equal servers start in arrival order on any free node, but not on a drained one', async (t) => {
  const it = await fullNodes(t, { one: 3_072, two: 3_072 });
  for (const id of ['first', 'second']) await it.create(id, { ramMb: 3_072 });
  const first = it.comes('first', 'Ann');
  await it.until(() => first.places.length > 0);
  await it.clock.advance(10);
  const second = it.comes('second', 'Bob');
  await it.until(() => second.places.length > 0);
  await sleeps(it, 'two');
  await it.running('first');
  t.is(it.nodes.whereIs('first')?.id, 'n2');
  await it.until(() => second.places.at(-1) === 1);
  await it.nodes.setStarts('n1', false);
  await sleeps(it, 'one');
  await it.clock.advance(60_000);
  t.is(second.outcome, 'waits', 'a drained node starts no server');
  await it.nodes.setStarts('n1', true);
  await it.clock.advance(15_000);
  await it.running('second');
  await it.until(() => second.outcome === 'second.game');
  t.deepEqual(
    [first.places, second.places],
    [
      [1, null],
      [2, 1, null],
    ],
  );
});

test('each region has its own room, and a wait for one region does not block another', async (t) => {
  const it = await nodesSite(t, [
    { id: 'n1', name: 'one', ramMb: 4_096 },
    { id: 'n2', name: 'far', ramMb: 4_096, region: 'eu' },
  ]);
  for (const [id, region] of [
    ['near', ''],
    ['far', 'eu'],
  ] as const) {
    await it.create(id, { ramMb: 3_072, region });
    await it.command(id, 'START');
    await it.running(id);
  }
  await it.create('here', { ramMb: 3_072 });
  await it.create('there', { ramMb: 3_072, region: 'eu' });
  const here = it.comes('here', 'Ann');
  await it.until(() => here.places.length > 0);
  await it.clock.advance(10);
  const there = it.comes('there', 'Bob');
  await it.until(() => there.places.length > 0);
  await sleeps(it, 'far');
  await it.running('there');
  await it.until(() => there.outcome === 'there.game');
  t.is(here.outcome, 'waits');
  t.is(here.places.at(-1), 1);
  t.deepEqual(there.places, [1, null]);
});

test('a player whose server finds no room at start returns to the same place and joins once it runs', async (t) => {
  const it = await fullNodes(t, { one: 3_072 });
  await it.create('unlucky', { ramMb: 1_024 });
  it.engine.script('unlucky', { refuse: 'no_room' });
  const player = it.comes('unlucky', 'Ann');
  await it.reach('unlucky', 'start_failed');
  await it.until(() => player.places.at(-1) === 1);
  t.is(player.outcome, 'waits');
  const tries = async () =>
    (await it.servers.inspect('unlucky'))?.transitions.filter(({ to }) => to === 'starting').length;
  await it.clock.advance(120_000);
  t.true(((await tries()) ?? 0) <= 8, 'retries are rare');
  it.engine.script('unlucky', {});
  await it.reach('unlucky', 'running');
  await it.until(() => player.outcome === 'unlucky.game');
});
