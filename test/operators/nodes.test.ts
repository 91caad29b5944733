import test from 'ava';
import { KEY_SCOPES } from '../../src/http/scopes.ts';
import { api } from '../support/api-harness.ts';
import { nodesSite as site } from '../support/nodes-site.ts';
import { STEVE } from '../support/world.ts';

const listed = (json: Record<string, unknown>) => json['nodes'] as Record<string, unknown>[];

test('nodes are listed with their capacity and the memory reserved by games', async (t) => {
  const it = await site(t);
  await it.create('castle', { ramMb: 1_024 });
  await it.command('castle', 'START');
  await it.running('castle');
  const [far, one, two] = listed((await it.operate('nodes')).json);
  t.like(far, { node: 'far', id: 'n3', region: 'eu', state: 'ready', ramTotalMb: '16384', reachable: true });
  t.like(one, { node: 'one', state: 'ready', drained: false, lostSince: null, fencedAt: null });
  t.like(one!['capacity'], {
    activeServers: 1,
    ramUsableMb: '7680',
    ramUsedMb: '1024',
    available: true,
    coresUsable: 4,
  });
  t.like(two!['capacity'], { activeServers: 0, ramUsableMb: '3584', ramUsedMb: '0' });
  t.is((await it.ok('GET', '/v1/servers/castle'))['nodeLabel'], 'one');

  const whole = await it.ok('GET', '/v1/capacity');
  t.like(whole, {
    activeServers: 1,
    ramUsableMb: '27136',
    ramUsedMb: '1024',
    ramPerServerMb: '15872',
    available: true,
  });
  t.is(whole['cpusPerServer'], 2, 'the CPUs of the smallest machine');
  const { regions } = (await it.ok('GET', '/v1/regions')) as { regions: Record<string, unknown>[] };
  t.like(regions, [
    { region: 'eu', label: 'Europe', available: true, capacity: { ramUsableMb: '15872', ramUsedMb: '0' } },
    { region: 'na', available: true, capacity: { ramUsableMb: '11264', ramUsedMb: '1024', ramPerServerMb: '7680' } },
  ]);
});

test('a server needs one node of its region with enough free memory, not the sum of several nodes', async (t) => {
  const it = await site(t);
  for (const [id, ramMb] of [
    ['a', 4_096],
    ['b', 3_000],
    ['large', 4_000],
    ['huge', 7_681],
  ] as const)
    await it.create(id, { ramMb });
  t.is(await it.start('huge'), 'NODE_CAPACITY');
  t.regex(await it.kicked('huge'), /memory exceeds what this host has/);
  for (const id of ['a', 'b']) {
    t.is(await it.start(id), '');
    await it.running(id);
  }
  const refused = await it.call('POST', '/v1/servers/large:start');
  t.is(refused.reason, 'NODE_CAPACITY');
  t.regex(refused.text, /No machine in region na has room[^"]*at most 3584 MB of RAM are free on one/);
  t.regex(await it.kicked('large'), /^This host is full/);
  await it.command('a', 'STOP');
  await it.reach('a', 'hibernated');
  t.is(await it.start('large'), '');
  await it.running('large');

  const create = (name: string, more: object) =>
    it.call('POST', '/v1/servers', { body: { name, ramMb: 512, ...more } });
  t.is((await create('Far', { region: 'eu', ramMb: 15_000 })).json['region'], 'eu');
  t.is((await create('Near', {})).json['region'], 'na');
  t.is((await create('Nowhere', { region: 'ap' })).reason, 'INVALID_FIELD');
  t.is((await create('Wide', { ramMb: 7_681 })).reason, 'NODE_CAPACITY');
});

test('parallel starts succeed up to the free memory of the nodes, and the rest fail with NODE_CAPACITY', async (t) => {
  const it = await site(t);
  const ids = ['a', 'b', 'c', 'd', 'e'];
  for (const id of ids) await it.create(id, { ramMb: 3_584 });
  const reasons = await Promise.all(ids.map(it.start));
  t.is(reasons.filter((reason) => reason === '').length, 3);
  t.is(reasons.filter((reason) => reason === 'NODE_CAPACITY').length, 2);
  await it.until(() => it.engine.boots.length === 3);
});

test('a drained node starts no new games, and other nodes do until the whole region is drained', async (t) => {
  const it = await site(t);
  for (const id of ['a', 'b', 'asleep']) await it.create(id, { ramMb: 512 });
  await it.create('far', { region: 'eu' });
  await it.command('a', 'START');
  await it.running('a');
  t.is(it.nodes.whereIs('a')?.id, 'n1');
  const drained = await it.operate('nodes:drain', { node: 'one', reason: 'new disks' });
  t.like(drained.json, { node: 'one', state: 'drained', drained: true, drainReason: 'new disks' });
  t.is((await it.servers.get('a'))?.state, 'running');
  t.is(await it.start('b'), '');
  await it.running('b');
  t.is(it.nodes.whereIs('b')?.id, 'n2');
  t.is((await it.call('POST', '/v1/servers/a:restart')).status, 200);
  await it.until(() => it.engine.boots.filter((id) => id === 'a').length === 2);
  await it.reach('a', 'running');
  t.is(it.nodes.whereIs('a')?.id, 'n2', 'the restart moved it off the drained node');

  await it.operate('nodes:drain', { node: 'n2', reason: 'new <disks>' });
  const refused = await it.call('POST', '/v1/servers/asleep:start');
  t.deepEqual([refused.reason, refused.json['message']], ['NODE_DRAINED', 'Starts in region na are paused: new disks']);
  t.is((await it.call('POST', '/v1/servers/a:restart')).reason, 'NODE_DRAINED');
  t.is((await it.call('POST', '/v1/servers', { body: { name: 'New', ramMb: 256 } })).reason, 'REGION_UNAVAILABLE');
  t.is(await it.start('far'), '');
  t.like(await it.ok('GET', '/v1/regions'), {
    regions: [
      { region: 'eu', available: true },
      { region: 'na', available: false },
    ],
  });
  t.like(await it.ok('GET', '/v1/capacity'), { available: true });
  t.like((await it.operate('nodes:resume', { node: 'n2', reason: 'done' })).json, { state: 'ready', drainReason: '' });
  t.is(await it.start('asleep'), '');
  t.is((await it.operate('nodes:drain', { node: 'node-1', reason: 'x' })).reason, 'NODE_NOT_FOUND');
  t.deepEqual(await it.actions(), [
    'node.drain: one: new disks',
    'node.drain: two: new <disks>',
    'node.resume: two: done',
  ]);
});

test('two nodes drained at the same time keep their own reasons', async (t) => {
  const it = await site(t);
  const drains = [
    it.operate('nodes:drain', { node: 'one', reason: 'new disks' }),
    it.operate('nodes:drain', { node: 'two', reason: 'new memory' }),
  ];
  for (const { status } of await Promise.all(drains)) t.is(status, 200);
  const reasons = listed((await it.operate('nodes')).json).map((node) => [node['node'], node['drainReason']]);
  t.deepEqual(reasons, [
    ['far', ''],
    ['one', 'new disks'],
    ['two', 'new memory'],
  ]);
});

test('an operator sets a node’s region, and that region’s servers can start there', async (t) => {
  const it = await site(t);
  await it.create('far', { region: 'eu' });
  await it.create('near', { ramMb: 512 });
  await it.command('near', 'START');
  await it.running('near');
  const set = (body: object) => it.operate('nodes:setRegion', body);
  t.like((await set({ node: 'far', region: 'none', reason: 'a manager' })).json, { node: 'far', region: 'none' });
  t.is(await it.start('far'), 'REGION_DOWN');
  t.like((await set({ node: 'one', region: 'eu', reason: 'moved' })).json, { node: 'one', region: 'eu' });
  t.is((await it.servers.get('near'))?.state, 'running', 'an awake server stays on its node');
  t.is(await it.start('far'), '');
  await it.running('far');
  t.is(it.nodes.whereIs('far')?.id, 'n1');
  t.is((await set({ node: 'four', region: 'eu', reason: 'x' })).reason, 'NODE_NOT_FOUND');
  for (const wrong of [{ region: 'Eu rope' }, { region: '' }, { reason: ' ' }])
    t.is((await set({ node: 'one', region: 'eu', reason: 'x', ...wrong })).status, 400);
  t.deepEqual(await it.actions(), ['node.region: far: none: a manager', 'node.region: one: eu: moved']);
});

test('a lost game waits until an operator marks its node as off, then starts on another node', async (t) => {
  const it = await site(t);
  for (const id of ['castle', 'other']) await it.create(id, { ramMb: 512 });
  for (const id of ['castle', 'other']) {
    await it.command(id, 'START');
    await it.running(id);
  }
  t.deepEqual(
    ['castle', 'other'].map((id) => it.nodes.whereIs(id)?.id),
    ['n1', 'n2'],
  );
  const at = new Date(it.clock.now()).toISOString();
  it.nodes.cut('n1');
  it.games.silent.add('castle');
  await it.clock.advance(2_000);
  const route = it.route('castle')!;
  t.regex(route.refusal, /^The machine that runs castle is not responding\.\n/);
  t.is(route.asleepLine, '§cIts machine is not responding');
  t.is(it.route('other')?.refusal, '');
  t.like(await it.ok('GET', '/v1/servers/castle'), {
    state: 'running',
    nodeLabel: 'one',
    startErrorCode: 'node_lost',
    startErrorSummary:
      'Its machine is not responding: one may still run it, and two games on one world would corrupt it.',
  });
  const { waitsFor } = (await it.operate('machines/castle')).json as { waitsFor: object[] };
  const what = 'one to respond or to be marked as off. It may still run the game';
  t.like(waitsFor, [{ name: 'watch', what, until: null }]);
  t.like(listed((await it.operate('nodes')).json)[1], { node: 'one', state: 'down', reachable: false, lostSince: at });
  t.like(await it.ok('GET', '/v1/capacity'), { ramUsableMb: '19968', ramUsedMb: '1024' });
  await it.clock.advance(600_000);
  t.is((await it.servers.get('castle'))?.state, 'running', 'a silent node does not change the state');
  t.is(it.engine.boots.length, 2);

  const refused = await it.operate('nodes:fence', { node: 'two', reason: 'unplugged' });
  t.deepEqual([refused.status, refused.reason], [400, 'NODE_ANSWERS']);
  t.is((await it.operate('nodes:fence', { node: 'one', reason: ' ' })).status, 400);
  it.games.silent.delete('castle');
  const fenced = await it.operate('nodes:fence', { node: 'one', reason: 'power pulled' });
  t.like(fenced.json, { state: 'fenced', fencedAt: new Date(it.clock.now()).toISOString(), lostSince: null });
  t.like((await it.operate('nodes:fence', { node: 'n1', reason: 'again' })).json, { state: 'fenced' });
  await it.until(() => it.engine.boots.filter((id) => id === 'castle').length === 2);
  await it.reach('castle', 'running');
  t.is(it.nodes.whereIs('castle')?.id, 'n2');
  await it.clock.advance(2_000);
  t.is(it.route('castle')?.refusal, '');
  t.like(await it.ok('GET', '/v1/servers/castle'), { nodeLabel: 'two', startErrorCode: '' });
  t.deepEqual(await it.actions(), ['node.fence: one: power pulled']);
});

test('starts return REGION_DOWN, not NODE_DRAINED, while an undrained node is unreachable', async (t) => {
  const it = await site(t);
  await it.create('near', { ramMb: 512 });
  await it.operate('nodes:drain', { node: 'one', reason: 'new disks' });
  it.nodes.cut('n2');
  t.is(await it.start('near'), 'REGION_DOWN');
  await it.operate('nodes:drain', { node: 'two', reason: 'broken' });
  t.is(await it.start('near'), 'NODE_DRAINED');
});

test('a start in a region without reachable nodes returns REGION_DOWN, and other regions still start servers', async (t) => {
  const it = await site(t);
  await it.create('far', { region: 'eu', ramMb: 512 });
  await it.create('near', { ramMb: 512 });
  it.nodes.cut('n3');
  const refused = await it.call('POST', '/v1/servers/far:start');
  t.deepEqual([refused.status, refused.reason], [503, 'REGION_DOWN']);
  t.is(await it.kicked('far'), 'No machine that can run this server is responding. Try again in a few minutes.');
  await it.until(() => it.route('far')?.asleepLine === '§7Asleep: §fno machine available');
  t.is(
    (await it.call('POST', '/v1/servers', { body: { name: 'N', ramMb: 256, region: 'eu' } })).reason,
    'REGION_UNAVAILABLE',
  );
  t.like(await it.ok('GET', '/v1/regions'), { regions: [{ region: 'eu', available: false }, { available: true }] });
  await it.command('near', 'JOIN', STEVE);
  await it.running('near');
  it.nodes.back('n3');
  t.is(await it.start('far'), '');
});

test('an installation with a single node cannot fence it or change its region', async (t) => {
  const it = await api(t);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  const { key } = await it.mint(KEY_SCOPES);
  const fence = (node: string) => it.call('POST', '/v1/operator/nodes:fence', { key, body: { node, reason: 'off' } });
  t.is((await fence('node-1')).reason, 'NODE_ANSWERS');
  t.is((await fence('node-2')).reason, 'NODE_NOT_FOUND');
  const moved = { node: 'node-1', region: 'eu', reason: 'moved' };
  t.is((await it.call('POST', '/v1/operator/nodes:setRegion', { key, body: moved })).reason, 'ONE_MACHINE');
  t.like((await it.call('GET', '/v1/operator/nodes', { key })).json, {
    nodes: [{ node: 'node-1', id: '', state: 'ready' }],
  });
});
