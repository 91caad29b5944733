import { join } from 'node:path';
import test from 'ava';
import { api } from '../support/api-harness.ts';
import { plant } from '../support/tree.ts';

const PAPER = { type: 'paper', version: '1.21.8', ramMb: 1_024 } as const;
type Api = Awaited<ReturnType<typeof api>>;

/** Returns the states that the server has passed through since it first ran. */
async function passed(it: Api): Promise<string[]> {
  const { transitions = [] } = (await it.servers.inspect('abc')) ?? {};
  const all = transitions.map(({ to }) => to).toReversed();
  return all.slice(all.indexOf('running') + 1);
}

async function running(it: Api): Promise<void> {
  await it.create('abc', PAPER);
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
}

test('with stopFirst, the RAM of a running server changes between two runs', async (t) => {
  const it = await api(t);
  await running(it);
  const refused = await it.call('POST', '/v1/servers/abc:update', { body: { ramMb: 2_048 } });
  t.is(refused.status, 400);
  const reply = await it.ok('POST', '/v1/servers/abc:update', { ramMb: 2_048, stopFirst: true });
  t.like(reply, { ramMb: 2_048, state: 'starting' });
  await it.reach('abc', 'running');
  t.deepEqual(await passed(it), ['stopping', 'hibernated', 'starting', 'running']);
  t.is(it.engine.specs.at(-1)?.ramMb, 2_048);
});

test('stopFirst stops nothing if the change fits a running server, is invalid, or the server sleeps', async (t) => {
  const it = await api(t);
  await running(it);
  t.like(await it.ok('POST', '/v1/servers/abc:update', { name: 'Keep', ramMb: 1_024, stopFirst: true }), {
    name: 'Keep',
    state: 'running',
  });
  t.is((await it.call('POST', '/v1/servers/abc:update', { body: { ramMb: 1, stopFirst: true } })).status, 400);
  t.is(
    (await it.call('POST', '/v1/servers/abc:updateVersion', { body: { version: '0', stopFirst: true } })).status,
    400,
  );
  t.deepEqual(await passed(it), []);
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated');
  t.like(await it.ok('POST', '/v1/servers/abc:update', { ramMb: 2_048, stopFirst: true }), { state: 'hibernated' });
});

test('with stopFirst, a running server changes its version after a backup, and starts again', async (t) => {
  const it = await api(t);
  await running(it);
  await plant(join(it.dataDir, 'servers/abc'), { 'world/level.dat': 'old' });
  const reply = await it.ok('POST', '/v1/servers/abc:updateVersion', { version: '1.21.10', stopFirst: true });
  t.like(reply, { version: '1.21.10', state: 'starting' });
  const { backups } = (await it.ok('GET', '/v1/servers/abc/backups')) as { backups: { label: string }[] };
  t.deepEqual(
    backups.map(({ label }) => label),
    ['before the update to Paper 1.21.10'],
  );
  await it.reach('abc', 'running');
  t.deepEqual(await passed(it), ['stopping', 'hibernated', 'starting', 'running']);
});

test('with stopFirst, a server whose change fails starts again as it was', async (t) => {
  const it = await api(t, { world: { room: { quotaBytes: 10 } } });
  await running(it);
  await plant(join(it.dataDir, 'servers/abc'), { 'world/level.dat': 'too large a world' });
  const reply = await it.call('POST', '/v1/servers/abc:updateVersion', {
    body: { version: '1.21.10', stopFirst: true },
  });
  t.is(reply.reason, 'BACKUP_FAILED');
  await it.reach('abc', 'running');
  t.like(await it.ok('GET', '/v1/servers/abc'), { version: '1.21.8', state: 'running' });
});
