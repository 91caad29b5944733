import test from 'ava';
import { FULL_SCOPES } from '../../src/http/scopes.ts';
import { insertAudit, listAccountAudit, pruneAudit } from '../../src/audit/audit.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';
import { STEVE } from '../support/world.ts';

interface Entry {
  accountId: string;
  id: string;
  userId: string;
  through: string;
  action: string;
  detail: string;
  createdAt: string;
}

const entriesOf = async (it: ApiUnderTest, path: string, key?: string) => {
  const { json } = await it.call('GET', path, key === undefined ? {} : { key });
  return (json['entries'] ?? []) as Entry[];
};

const SERVER = '/v1/servers/abc/audit';
const ACCOUNT = '/v1/accounts/acc_test/audit';

test('a server’s audit log lists changes with their actors, newest first, without secrets', async (t) => {
  const it = await api(t);
  const { key, row } = await it.mint(FULL_SCOPES);
  const call = async (method: string, path: string, body?: object) =>
    t.is((await it.call(method, `/v1/servers${path}`, { key, body })).status, 200, path);
  await call('POST', '', { name: 'abc', ramMb: 256 });
  await call('POST', '/abc:start');
  await it.reach('abc', 'running');
  await call('POST', '/abc:start');
  await call('POST', '/abc:keepAwake', { minutes: 5 });
  await call('POST', '/abc:command', { command: '/login hunter2' });
  await call('POST', '/abc:stop');
  await it.reach('abc', 'hibernated');
  await call('POST', '/abc:stop');
  await call('POST', '/abc:update', { name: 'Other', ramMb: 512 });
  const entries = await entriesOf(it, SERVER);
  const by = `key ${row.id}`;
  t.deepEqual(
    entries.map(({ action, detail }) => [action, detail]),
    [
      ['server.update', 'name, ramMb'],
      ['server.stop', 'running → stopping'],
      ['console.command', 'login'],
      ['server.keepAwake', ''],
      ['server.start', 'hibernated → starting'],
      ['server.create', ''],
    ],
    'no entries for repeated commands or progress, and no secrets',
  );
  t.true(
    entries.every(
      ({ userId, accountId, through }) => `${userId} ${accountId} ${through}` === `usr_test acc_test ${by}`,
    ),
  );
  t.regex(entries[0]?.createdAt ?? '', /^\d{4}-\d\d-\d\dT.*Z$/);
  t.deepEqual(Object.keys(entries[0] ?? {}), [
    'id',
    'accountId',
    'userId',
    'through',
    'action',
    'detail',
    'serverId',
    'createdAt',
  ]);
});

test('the audit log records a player’s wake and the service’s own stops, restarts and failures', async (t) => {
  const it = await api(t);
  await it.create('abc');
  await it.command('abc', 'JOIN', STEVE);
  await it.reach('abc', 'running');
  it.engine.crash('abc', { code: 1 });
  await it.reach('abc', 'start_failed');
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  it.games.players.set('abc', 1);
  await it.clock.advance(120_000);
  await it.restarts('abc', () => it.engine.crash('abc', { code: 1 }));
  it.games.players.set('abc', 0);
  await it.reach('abc', 'hibernated', 1_800_000);
  const entries = await entriesOf(it, SERVER);
  t.deepEqual(
    entries.map(({ action, through, userId }) => [action, through, userId]),
    [
      ['server.stop', 'system idle', ''],
      ['server.crash', 'system crash', ''],
      ['server.start', 'key key_test', ''],
      ['server.crash', 'system', ''],
      ['server.wake', 'player Steve', ''],
      ['server.create', 'key key_test', ''],
    ],
  );
});

test('a start queued behind a stop is recorded with its own cause', async (t) => {
  const it = await api(t);
  await it.create('abc');
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  await it.command('abc', 'STOP');
  await it.command('abc', 'JOIN', STEVE);
  await it.reach('abc', 'running');
  const [woken, stopped] = await entriesOf(it, SERVER);
  t.like(woken, { action: 'server.wake', through: 'player Steve', detail: '' });
  t.like(stopped, { action: 'server.stop', through: 'key key_test', detail: 'running → stopping' });
});

test('an audit entry and its transition are stored together or not at all', async (t) => {
  const it = await api(t);
  await it.create('abc');
  await it.store.write((tx) => tx.run('ALTER TABLE "audit" RENAME TO "gone"'));
  const failed = await it.call('POST', '/v1/servers/abc:start');
  t.true(failed.status >= 500, failed.text);
  await it.store.write((tx) => tx.run('ALTER TABLE "gone" RENAME TO "audit"'));
  t.is((await it.servers.get('abc'))?.state, 'hibernated');
  const machine = await it.ok('GET', '/v1/servers/abc/machine');
  t.deepEqual(machine['transitions'], []);
  t.deepEqual(
    (await entriesOf(it, SERVER)).map(({ action }) => action),
    ['server.create'],
  );
});

test('the account’s audit log has people and keys, but only creation and deletion of servers', async (t) => {
  const it = await api(t);
  const browser = await it.browser('usr_test');
  const { key } = (await browser.ok('POST', '/v1/session/keys', { name: 'x', scopes: ['servers:read'] })) as {
    key: { keyId: string };
  };
  await browser.ok('POST', '/v1/session/keys:revoke', { keyId: key.keyId });
  await it.ok('POST', '/v1/servers', { name: 'abc', ramMb: 256 });
  await it.ok('POST', '/v1/servers/abc:start');
  await it.ok('POST', '/v1/servers/abc/members', { email: 'friend@example.com', role: 'limited' });
  await it.ok('DELETE', '/v1/servers/abc');
  await it.connect('usr_test', 'app_1');
  await browser.ok('POST', '/v1/session/apps:revoke', { clientId: 'app_1' });
  await browser.ok('POST', '/v1/session/me:signOut');
  const entries = await entriesOf(it, ACCOUNT);
  t.deepEqual(
    entries.map(({ action }) => action),
    ['session.signOut', 'app.revoke', 'server.delete', 'member.invite', 'server.create', 'key.revoke', 'key.mint'],
  );
  t.like(entries[4], { serverId: 'abc', detail: '' });
  t.like(entries[2], { serverId: 'abc' });
  t.like(entries.at(-1), { through: 'session', detail: `${key.keyId} with servers:read`, serverId: '' });
  t.like(entries[3], { detail: 'friend@example.com as limited', serverId: 'abc' });
  t.regex(entries[3]?.through ?? '', /^key key_\w+$/);

  const counts = async (query: string) => (await entriesOf(it, ACCOUNT + query)).length;
  t.deepEqual([await counts('?limit=2'), await counts('?limit=0'), await counts('?limit=9999')], [2, 7, 7]);
  for (const limit of ['-1', 'x', '1.5']) {
    t.is((await it.call('GET', `${ACCOUNT}?limit=${limit}`)).reason, 'INVALID_FIELD', limit);
  }
  t.is((await it.call('GET', '/v1/accounts/acc_other/audit')).reason, 'ACCOUNT_MISMATCH');
});

test('an audit log is read in pages, which new entries do not shift', async (t) => {
  const it = await api(t);
  await it.create('abc');
  for (let nth = 1; nth <= 4; nth++) await it.ok('POST', '/v1/servers/abc:update', { name: `Castle ${nth}` });
  const page = async (after: string) => (await it.ok('GET', `${SERVER}?limit=2&after=${after}`)) as unknown as Paged;
  const all = (await entriesOf(it, SERVER)).map(({ id }) => id);
  const first = await page('');
  t.is(first.next, all[1] ?? '');
  await it.ok('POST', '/v1/servers/abc:update', { name: 'Newer' });
  const second = await page(first.next);
  const third = await page(second.next);
  t.deepEqual(
    [...first.entries, ...second.entries, ...third.entries].map(({ id }) => id),
    all,
  );
  t.is(third.next, '');
  t.is((await it.call('GET', `${SERVER}?after=${'x'.repeat(65)}`)).reason, 'INVALID_FIELD');
});

interface Paged {
  entries: Entry[];
  next: string;
}

test('an audit log is searched, and filtered by action and by actor', async (t) => {
  const it = await api(t);
  const friend = await it.stranger();
  await it.create('abc');
  await it.share('abc', 'member');
  await it.ok('POST', '/v1/servers/abc/file:mkdir', { path: 'plugins/Ärger_1' });
  await it.ok('POST', '/v1/servers/abc/file:mkdir', { path: 'plugins/other' });
  await it.command('abc', 'JOIN', STEVE);
  await it.call('POST', '/v1/servers/abc:update', { key: friend, body: { name: 'Castle' } });
  const found = async (query: Record<string, string>) => {
    const entries = await entriesOf(it, `${SERVER}?${new URLSearchParams(query).toString()}`);
    return entries.map(({ action, detail }) => `${action} ${detail}`.trim());
  };
  t.deepEqual(await found({ search: 'Ärger_' }), ['file.mkdir plugins/Ärger_1']);
  t.deepEqual(await found({ search: 'OTHER' }), ['file.mkdir plugins/other']);
  t.deepEqual(await found({ search: 'plugins_other' }), []);
  t.deepEqual(await found({ action: 'file' }), ['file.mkdir plugins/other', 'file.mkdir plugins/Ärger_1']);
  t.deepEqual(await found({ action: 'fil' }), []);
  t.deepEqual(await found({ action: 'server.wake' }), ['server.wake hibernated → starting']);
  t.deepEqual(await found({ actor: 'player' }), ['server.wake hibernated → starting']);
  t.deepEqual(await found({ actor: 'player Steve' }), ['server.wake hibernated → starting']);
  t.deepEqual(await found({ actor: 'usr_other' }), ['server.update name']);
  t.deepEqual(await found({ actor: 'usr_test', search: 'mkdir', action: 'file' }), [
    'file.mkdir plugins/other',
    'file.mkdir plugins/Ärger_1',
  ]);
  t.deepEqual(await found({ actor: 'usr_t%' }), []);
});

test('members see a server’s audit entries, but not its invitations', async (t) => {
  const it = await api(t);
  const friend = await it.stranger();
  await it.create('abc');
  await it.ok('POST', '/v1/servers/abc/members', { email: 'friend@example.com', role: 'limited' });
  await it.share('abc', 'limited');
  t.is((await it.call('POST', '/v1/servers/abc:start', { key: friend })).status, 200);
  const actions = async (key?: string) => (await entriesOf(it, SERVER, key)).map(({ action }) => action);
  t.deepEqual(await actions(friend), ['server.start', 'server.create']);
  t.deepEqual(await actions(), ['server.start', 'member.invite', 'server.create']);
  const [started] = await entriesOf(it, SERVER);
  t.like(started, { accountId: 'acc_test', userId: 'usr_other' }, 'the owner’s log names the member');
});

test('a new server does not inherit the audit log of an earlier server with its name', async (t) => {
  const it = await api(t);
  const friend = await it.stranger();
  const create = async (key: string) =>
    t.is((await it.call('POST', '/v1/servers', { key, body: { name: 'abc', ramMb: 256 } })).status, 200);
  await create(it.key);
  await it.ok('DELETE', '/v1/servers/abc');
  await it.until(async () => (await it.store.query('SELECT "id" FROM "servers"')).length === 0);
  await it.clock.advance(1);
  await create(friend);
  t.deepEqual(
    (await entriesOf(it, SERVER, friend)).map(({ action }) => action),
    ['server.create'],
  );
  t.is((await it.call('DELETE', '/v1/servers/abc', { key: friend })).status, 200);
  await it.until(async () => (await it.store.query('SELECT "id" FROM "servers"')).length === 0);
  await it.clock.advance(1);
  await create(it.key);
  t.deepEqual(
    (await entriesOf(it, SERVER)).map(({ action }) => action),
    ['server.create'],
  );
});

test('pruning the audit log keeps the newest entries of a frequent action and recent entries of other actions', async (t) => {
  const it = await api(t);
  const entry = (n: number, action: string, createdAt = n) => ({
    id: `aud_test_${String(n).padStart(3, '0')}`,
    accountId: 'acc_flood',
    serverId: '',
    userId: 'usr_test',
    through: 'session',
    action,
    detail: '',
    createdAt,
  });
  const DAY_MS = 86_400_000;
  const left = await it.store.write(async (tx) => {
    await insertAudit(tx, entry(0, 'key.mint', 500 * DAY_MS));
    await insertAudit(tx, entry(1, 'app.connect', 0));
    for (let n = 2; n < 20; n++) await insertAudit(tx, entry(n, 'user.rename', 500 * DAY_MS));
    await pruneAudit(tx, entry(19, 'user.rename', 500 * DAY_MS), 5);
    return listAccountAudit(tx, 'acc_flood', { limit: 100 });
  });
  t.deepEqual(
    left.map(({ id }) => id.slice(-3)),
    ['019', '018', '017', '016', '015', '000'],
  );
});
