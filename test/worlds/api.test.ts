import { mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type ApiUnderTest, api } from '../support/api-harness.ts';
import { heldWrites } from '../support/store.ts';
import { plant } from '../support/tree.ts';
import type { WorldOptions } from '../support/world.ts';

interface Shown {
  name: string;
  active: boolean;
  loaded: boolean;
  sizeBytes: string;
}

const rootOf = (it: ApiUnderTest) => join(it.dataDir, 'servers/lobby');
const of = ({ json }: { json: Record<string, unknown> }) => json['worlds'] as Shown[];
const brief = (worlds: Shown[]) =>
  worlds.map(({ name, active, loaded }) => `${name}${active ? '*' : ''}${loaded ? '!' : ''}`);

async function withWorlds(t: ExecutionContext, world: WorldOptions = {}): Promise<ApiUnderTest> {
  const it = await api(t, { world });
  await it.create('lobby');
  await plant(rootOf(it), {
    'world/level.dat': '12345',
    'world/region/r.mca': '67890',
    'world_nether/level.dat': '1',
    'world_nether/DIM-1/r.mca': '2',
    'world_the_end/level.dat': '3',
    'skyblock/level.dat': 'sky',
    'plugins/level.txt': 'no world',
    'lonely_nether/level.dat': 'a world of its own',
  });
  return it;
}

const say = (it: ApiUnderTest, verb: string, body: object = {}) =>
  it.call('POST', `/v1/servers/lobby/worlds:${verb}`, { body });

test('worlds: each is listed with its nether and end, its total size, and the active one by level-name', async (t) => {
  const it = await withWorlds(t);
  const listed = of(await it.call('GET', '/v1/servers/lobby/worlds'));
  t.deepEqual(listed, [
    { name: 'lonely_nether', active: false, loaded: false, sizeBytes: '18' },
    { name: 'skyblock', active: false, loaded: false, sizeBytes: '3' },
    { name: 'world', active: true, loaded: false, sizeBytes: '13' },
  ]);
  await it.create('empty');
  t.deepEqual(of(await it.call('GET', '/v1/servers/empty/worlds')), [
    { name: 'world', active: true, loaded: false, sizeBytes: '0' },
  ]);
  await plant(rootOf(it), { 'server.properties': 'level-name=skyblock\n' });
  t.deepEqual(brief(of(await it.call('GET', '/v1/servers/lobby/worlds'))), ['lonely_nether', 'skyblock*', 'world']);
});

test('worlds: the active world is found by any spelling of its folder', async (t) => {
  const it = await withWorlds(t);
  for (const level of ['skyblock/', './skyblock', 'plugins/../skyblock']) {
    await plant(rootOf(it), { 'server.properties': `level-name=${level}\n` });
    t.deepEqual(brief(of(await it.call('GET', '/v1/servers/lobby/worlds'))), ['lonely_nether', 'skyblock*', 'world']);
  }
});

test('worlds: an active world that is a link is not reset, asleep or awake', async (t) => {
  const it = await withWorlds(t);
  await plant(rootOf(it), { 'server.properties': 'level-name=linked\n' });
  await symlink('skyblock', join(rootOf(it), 'linked'));
  t.is((await say(it, 'reset')).reason, 'WORLD_OUTSIDE');
  await it.command('lobby', 'START');
  await it.reach('lobby', 'running');
  t.is((await say(it, 'reset')).reason, 'WORLD_OUTSIDE');
  t.true((await readdir(rootOf(it))).includes('linked'));
  t.deepEqual(await readdir(join(rootOf(it), 'skyblock')), ['level.dat']);
});

/** A world as Minecraft 26.1 and newer lay it out: all dimensions are inside it. */
const OF_26 = {
  'world/level.dat': '12345',
  'world/dimensions/minecraft/overworld/region/r.0.0.mca': '67890',
  'world/dimensions/minecraft/the_nether/region/r.0.0.mca': '12',
  'world/dimensions/minecraft/the_end/region/r.0.0.mca': '3',
  'world/players/data/x.dat': '4',
};

test('worlds: the layout of Minecraft 26.1 is listed as one world, reset with all dimensions, and restored', async (t) => {
  const it = await api(t);
  await it.create('lobby');
  await plant(rootOf(it), { ...OF_26, 'plugins/keep.txt': 'kept' });
  const list = async () => of(await it.call('GET', '/v1/servers/lobby/worlds'));
  const whole = [{ name: 'world', active: true, loaded: false, sizeBytes: '14' }];
  t.deepEqual(await list(), whole);
  t.is((await it.during(say(it, 'reset'))).status, 200);
  t.deepEqual(await list(), [{ name: 'world', active: true, loaded: false, sizeBytes: '0' }]);
  t.deepEqual(
    (await readdir(rootOf(it))).filter((name) => !name.startsWith('.')),
    ['plugins'],
  );
  const { backups } = (await it.ok('GET', '/v1/servers/lobby/backups')) as { backups: { id: string }[] };
  await it.ok('POST', `/v1/servers/lobby/backups/${backups[0]?.id}:restore`);
  t.deepEqual(await list(), whole);
});

test('worlds: after the migration to 26.1, the emptied folders of the old layout go with their world', async (t) => {
  const it = await api(t);
  await it.create('lobby');
  await plant(rootOf(it), { ...OF_26, 'world_nether/paper-world.yml': 'old', 'world_the_end/uid.dat': 'old' });
  t.deepEqual(brief(of(await it.call('GET', '/v1/servers/lobby/worlds'))), ['world*']);
  t.is((await it.during(say(it, 'delete', { name: 'world' }))).status, 200);
  t.deepEqual(
    (await readdir(rootOf(it))).filter((name) => !name.startsWith('.')),
    [],
  );
});

test('worlds: a backup from before the migration to 26.1 restores the old layout alone', async (t) => {
  const it = await withWorlds(t);
  const { id } = (await it.ok('POST', '/v1/servers/lobby/backups')) as { id: string };
  await it.services.backups.finished({ serverId: 'lobby', id }, AbortSignal.timeout(60_000));
  await rm(join(rootOf(it), 'world_nether'), { recursive: true });
  await rm(join(rootOf(it), 'world_the_end'), { recursive: true });
  await plant(rootOf(it), OF_26);
  await it.ok('POST', `/v1/servers/lobby/backups/${id}:restore`);
  t.is(of(await it.call('GET', '/v1/servers/lobby/worlds')).find(({ name }) => name === 'world')?.sizeBytes, '13');
  t.deepEqual((await readdir(join(rootOf(it), 'world'))).sort(), ['level.dat', 'region']);
});

test('worlds: a world that contains the active one cannot be deleted', async (t) => {
  const it = await withWorlds(t);
  await plant(rootOf(it), { 'server.properties': 'level-name=./skyblock/inner/\n', 'skyblock/inner/level.dat': 'x' });
  t.is((await say(it, 'delete', { name: 'skyblock' })).reason, 'WORLD_ACTIVE');
  t.true((await readdir(rootOf(it))).includes('skyblock'));
  t.is((await say(it, 'delete', { name: 'lonely_nether' })).status, 200);
});

test('worlds: the chosen world loads at the next start, and the loaded world stays protected until then', async (t) => {
  const it = await withWorlds(t);
  await it.command('lobby', 'START');
  await it.reach('lobby', 'running');
  t.deepEqual(brief(of(await say(it, 'setActive', { name: 'skyblock' }))), ['lonely_nether', 'skyblock*', 'world!']);
  t.is((await it.servers.get('lobby'))?.row.properties['level-name'], 'skyblock');
  t.deepEqual(
    [(await say(it, 'delete', { name: 'world' })).reason, (await say(it, 'delete', { name: 'skyblock' })).reason],
    ['WORLD_ACTIVE', 'WORLD_ACTIVE'],
  );
  t.deepEqual(brief(of(await say(it, 'delete', { name: 'lonely_nether' }))), ['skyblock*', 'world!']);
  await it.command('lobby', 'RESTART');
  await it.reach('lobby', 'running');
  t.deepEqual(brief(of(await it.call('GET', '/v1/servers/lobby/worlds'))), ['skyblock*!', 'world']);
  t.deepEqual(brief(of(await say(it, 'delete', { name: 'world' }))), ['skyblock*!']);
  t.deepEqual(
    (await readdir(rootOf(it))).filter((name) => name.startsWith('world')),
    [],
  );
});

test('worlds: a choice and a concurrent property change are both stored', async (t) => {
  const held = heldWrites();
  const it = await withWorlds(t, { store: held.around });
  held.hold();
  const set = it.ok('POST', '/v1/servers/lobby:setProperties', { properties: { difficulty: 'hard' } });
  await it.until(() => held.waiting() >= 1);
  const chosen = say(it, 'setActive', { name: 'skyblock' });
  await it.until(() => held.waiting() >= 2);
  held.release();
  await Promise.all([set, chosen]);
  t.deepEqual((await it.servers.get('lobby'))?.row.properties, { 'level-name': 'skyblock', difficulty: 'hard' });
});

test('worlds: deleting a world of a sleeping server removes its dimensions and no other files', async (t) => {
  const it = await withWorlds(t);
  t.deepEqual(brief(of(await say(it, 'delete', { name: 'world' }))), ['lonely_nether', 'skyblock', 'world*']);
  const left = (await readdir(rootOf(it))).filter((name) => !name.startsWith('.'));
  t.deepEqual(left.sort(), ['lonely_nether', 'plugins', 'skyblock']);
  t.is(
    (await say(it, 'delete', { name: 'world' })).reason,
    'WORLD_NOT_FOUND',
    'a world not yet created cannot be deleted',
  );
});

test('worlds: a reset makes a backup and starts a running server again', async (t) => {
  const it = await withWorlds(t);
  await it.command('lobby', 'START');
  await it.reach('lobby', 'running');
  const answer = await it.during(say(it, 'reset'));
  t.is(answer.status, 200, answer.text);
  t.deepEqual(
    brief(of(answer)).map((each) => each.replace('!', '')),
    ['lonely_nether', 'skyblock', 'world*'],
  );
  t.deepEqual(
    (await readdir(rootOf(it))).filter((name) => name.startsWith('world')),
    [],
  );
  await it.reach('lobby', 'running');
  const { backups } = (await it.ok('GET', '/v1/servers/lobby/backups')) as { backups: { id: string; kind: string }[] };
  t.deepEqual(
    backups.map(({ kind }) => kind),
    ['reset'],
  );
  await it.command('lobby', 'STOP');
  await it.reach('lobby', 'hibernated');
  await it.ok('POST', `/v1/servers/lobby/backups/${backups[0]?.id}:restore`);
  t.is(of(await it.call('GET', '/v1/servers/lobby/worlds')).find(({ name }) => name === 'world')?.sizeBytes, '13');
  const actions = await it.store.query<{ action: string; userId: string }>(
    `SELECT "action", "userId" FROM "audit" WHERE "action" LIKE 'world.%'`,
  );
  t.deepEqual(actions, [{ action: 'world.reset', userId: 'usr_test' }]);
});

test('worlds: invalid and escaping names change no files', async (t) => {
  const it = await withWorlds(t);
  await mkdir(join(it.dataDir, 'outside'), { recursive: true });
  await plant(join(it.dataDir, 'outside'), { 'level.dat': 'not ours' });
  await symlink(join(it.dataDir, 'outside'), join(rootOf(it), 'linked'));
  const names = [
    '',
    '.',
    '..',
    '../outside',
    'world/../../outside',
    '/etc',
    'linked',
    'nothing',
    'WORLD',
    'world ',
    '.dormouse-tmp',
  ];
  for (const verb of ['setActive', 'delete']) {
    for (const name of [...names, 'world_nether', 'plugins', 'world/region', 'a\nb', 'x'.repeat(300), 7, null]) {
      const answer = await say(it, verb, { name });
      t.true([400, 404].includes(answer.status), `${verb} ${String(name)}: ${answer.text}`);
    }
  }
  t.is(of(await it.call('GET', '/v1/servers/lobby/worlds')).length, 3);
  t.deepEqual(await readdir(join(it.dataDir, 'outside')), ['level.dat']);
  await it.servers.patch('lobby', { properties: { 'level-name': '../outside' } });
  t.is((await say(it, 'reset')).reason, 'WORLD_OUTSIDE');
  t.deepEqual(await readdir(join(it.dataDir, 'outside')), ['level.dat']);
});
