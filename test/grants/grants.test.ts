import { FULL_SCOPES } from '../../src/http/scopes.ts';
import test from 'ava';
import { mintToken } from '../../src/kernel/ids.ts';
import { authenticateApp, revokeApp } from '../../src/grants/app-tokens.ts';
import { disableClient, enableClient } from '../../src/grants/clients.ts';
import { listConnectedApps } from '../../src/grants/app-rows.ts';
import { listAccountAudit } from '../../src/audit/audit.ts';
import type { GrantRow } from '../../src/grants/rows.ts';
import { StartLimit } from '../../src/grants/limits.ts';
import { authenticate, mintKey } from '../../src/access/keys.ts';
import { insertKey, listKeys } from '../../src/access/key-rows.ts';
import { postgresUrl } from '../store/postgres.ts';
import { addPerson } from '../support/store.ts';
import { isHere } from '../support/needs.ts';
import { SECOND, USER, OPERATOR, bench, granted, answerOf, refused } from './grant-bench.ts';

test('an approved grant returns its app token once, with the granted scope', async (t) => {
  const it = await bench(t);
  const { id, deviceCode, userCode, expiresInMs, intervalMs } = await it.start();
  t.is(expiresInMs, 600_000);
  t.is(intervalMs, 5_000);
  t.deepEqual(await it.grants.find(userCode), {
    id,
    userCode,
    client: { id: it.clientId, name: 'Launcher', homepage: 'https://launcher.example' },
    scopes: ['servers:list'],
    ip: '192.0.2.1',
    userAgent: 'curl/8',
    createdAt: it.clock.now(),
    expiresAt: it.clock.now() + 600_000,
  });
  t.deepEqual(await it.grants.poll(deviceCode), { error: 'authorization_pending' });
  await it.grants.approve(id, USER);
  t.is(await it.grants.find(userCode), undefined);
  const given = granted(await it.grants.poll(deviceCode));
  t.is(given.kind, 'app');
  t.is(given.scope, 'servers:list');
  const principal = await authenticateApp(it.store, it.clock, given.token);
  t.deepEqual([principal?.userId, principal?.accountId, principal?.clientId], ['usr_test', 'acc_test', it.clientId]);
  t.deepEqual([...(principal?.scopes ?? [])], ['servers:list']);
  for (let again = 0; again < 3; again++) t.is(answerOf(await it.grants.poll(deviceCode)), 'expired_token');
  t.is((await it.tokens()).length, 1);
});

test('the command line gets a key with all scopes except operator, named after its user agent', async (t) => {
  const it = await bench(t);
  const { id, deviceCode, userCode } = await it.start(null);
  const request = await it.grants.find(userCode);
  t.is(request?.client, null);
  t.deepEqual(request?.scopes, [...FULL_SCOPES]);
  await it.grants.approve(id, USER);
  const given = granted(await it.grants.poll(deviceCode));
  t.is(given.kind, 'key');
  const principal = await authenticate(it.store, it.clock, given.token);
  t.deepEqual([...(principal?.scopes ?? [])], [...FULL_SCOPES]);
  t.false(principal?.scopes.has('operator'));
  t.deepEqual(
    (await listKeys(it.store, 'acc_test')).map(({ name, last4 }) => [name, last4]),
    [['curl/8', given.token.slice(-4)]],
  );
  t.is(answerOf(await it.grants.poll(deviceCode)), 'expired_token');
  t.deepEqual(await it.tokens(), []);
});

test.runIf(isHere('postgres'))('grants work on PostgreSQL as well', async (t) => {
  const url = await postgresUrl(t);
  const it = await bench(t, undefined, url);
  const [app, cli, declined] = [await it.start(), await it.start(null), await it.start()];
  t.deepEqual(await it.grants.poll(app.deviceCode), { error: 'authorization_pending' });
  t.deepEqual(await it.grants.poll(app.deviceCode), { error: 'slow_down' });
  await it.grants.approve(app.id, USER);
  await it.grants.approve(cli.id, USER);
  await it.grants.deny(declined.id, USER);
  const polled = await Promise.all(Array.from({ length: 20 }, () => it.grants.poll(app.deviceCode)));
  t.is(polled.filter((each) => !('error' in each)).length, 1);
  const { token } = granted(polled.find((each) => !('error' in each))!);
  t.is((await authenticateApp(it.store, it.clock, token))?.clientId, it.clientId);
  t.is(answerOf(await it.grants.poll(cli.deviceCode)), 'key');
  t.is(answerOf(await it.grants.poll(declined.deviceCode)), 'access_denied');
  const [connected] = await listConnectedApps(it.store, 'usr_test', it.clock.now());
  t.is(connected?.connectedAt, it.clock.now());
  await disableClient(it, OPERATOR, it.clientId);
  t.is(await authenticateApp(it.store, it.clock, token), undefined);
  await enableClient(it, OPERATOR, it.clientId);
  t.true(await revokeApp(it, USER, it.clientId));
  const limit = new StartLimit(it.store, it.clock, { limit: 3, kept: 2 });
  for (let nth = 0; nth < 3; nth++) await limit.take('192.0.2.1');
  await refused(t, limit.take('192.0.2.1'), 'RATE_LIMITED');
  for (let nth = 0; nth < 100; nth++) await limit.take(`192.0.2.${nth + 2}`);
  await it.clock.advance(4_201 * SECOND);
  await it.start();
  t.is((await it.store.query('SELECT * FROM "grants"')).length, 1);
});

test('approving a grant fails with MAX_KEYS while the account has the maximum number of keys', async (t) => {
  const it = await bench(t);
  for (let nth = 0; nth < 50; nth++) {
    const { row } = mintKey({ ...USER, name: '', scopes: [], createdAt: it.clock.now(), expiresAt: null });
    await it.store.write((tx) => insertKey(tx, row));
  }
  const { id, deviceCode } = await it.start(null);
  await refused(t, it.grants.approve(id, USER), 'MAX_KEYS');
  t.is(answerOf(await it.grants.poll(deviceCode)), 'authorization_pending');
  await it.store.write((tx) => tx.run('UPDATE "api_keys" SET "revokedAt" = $1', [1]));
  await it.grants.approve(id, USER);
  t.is(answerOf(await it.grants.poll(deviceCode)), 'key');
});

test('a user code is found in any common way of typing it', async (t) => {
  const it = await bench(t);
  const { id, userCode } = await it.start();
  const [a, b] = [userCode.slice(0, 4), userCode.slice(5)];
  for (const typed of [
    userCode.toLowerCase(),
    `${a}${b}`,
    `${a}–${b}`,
    `${a}−${b}`,
    ` ${a} ${b} `,
    userCode.replaceAll(/(?<=.)(?=.)/g, ' '),
  ]) {
    t.is((await it.grants.find(typed))?.id, id, typed);
  }
  for (const typed of ['', a, `${userCode}B`, 'BBBB-BBBB', '\0', 'é'.repeat(1_000)]) {
    t.is(await it.grants.find(typed), undefined, typed);
  }
});

test('codes and tokens of grants are not stored in plain text', async (t) => {
  const it = await bench(t);
  const app = await it.start();
  const cli = await it.start(null);
  const secrets = [app.deviceCode, app.userCode, cli.deviceCode, cli.userCode];
  for (const { id, deviceCode } of [app, cli]) {
    await it.grants.approve(id, USER);
    secrets.push(granted(await it.grants.poll(deviceCode)).token);
  }
  const tables = ['grants', 'app_tokens', 'api_keys', 'audit', 'grant_starts'];
  const stored = JSON.stringify(await Promise.all(tables.map((name) => it.store.query(`SELECT * FROM "${name}"`))));
  for (const code of secrets) {
    t.false(stored.includes(code));
    t.false(stored.includes(code.replace('-', '')));
  }
});

test('slow_down adds five seconds each time, even across a restart', async (t) => {
  const it = await bench(t);
  const { deviceCode } = await it.start();
  const pollAfter = async (seconds: number) => {
    await it.clock.advance(seconds * SECOND);
    return answerOf(await it.grants.poll(deviceCode));
  };
  t.is(await pollAfter(0), 'authorization_pending');
  t.is(await pollAfter(1), 'slow_down');
  t.is(await pollAfter(5), 'slow_down');
  it.restart();
  t.is(await pollAfter(14), 'slow_down');
  t.is(await pollAfter(20), 'authorization_pending');
});

test('a grant polled without pause causes a limited number of writes', async (t) => {
  const it = await bench(t);
  const { id, deviceCode } = await it.start();
  let writes = 0;
  const write = it.store.write.bind(it.store);
  it.store.write = (work) => {
    writes += 1;
    return write(work);
  };
  const polled = await Promise.all(Array.from({ length: 200 }, () => it.grants.poll(deviceCode)));
  t.true(polled.every((each) => 'error' in each));
  t.is(answerOf(polled.at(-1)!), 'slow_down');
  t.true(writes <= 30, `${writes} writes`);
  await it.grants.approve(id, USER);
  await it.clock.advance(120 * SECOND);
  t.is(answerOf(await it.grants.poll(deviceCode)), 'app', 'the grant still returns its token');
});

test('a declined grant answers access_denied until it expires, never slow_down, and returns no token', async (t) => {
  const it = await bench(t);
  const { id, deviceCode, userCode } = await it.start();
  await it.grants.deny(id, USER);
  for (let again = 0; again < 3; again++) t.is(answerOf(await it.grants.poll(deviceCode)), 'access_denied');
  await refused(t, it.grants.approve(id, USER), 'GRANT_NOT_FOUND');
  t.is(await it.grants.find(userCode), undefined);
  it.restart();
  t.is(answerOf(await it.grants.poll(deviceCode)), 'access_denied');
  await it.clock.advance(600 * SECOND);
  t.is(answerOf(await it.grants.poll(deviceCode)), 'expired_token');
});

test('20 parallel polls of an approved grant issue one token', async (t) => {
  const it = await bench(t);
  const { id, deviceCode } = await it.start();
  await it.grants.approve(id, USER);
  const polled = await Promise.all(Array.from({ length: 20 }, () => it.grants.poll(deviceCode)));
  t.deepEqual(polled.map(answerOf).sort(), ['app', ...Array<string>(19).fill('expired_token')]);
  t.is((await it.tokens()).length, 1);
});

test('two processes with the same grant in memory issue only one token', async (t) => {
  const it = await bench(t);
  const { id, deviceCode } = await it.start();
  const first = it.grants;
  const second = it.restart();
  await Promise.all([first, second].map((grants) => grants.poll(deviceCode)));
  await first.approve(id, USER);
  const polled = await Promise.all([first, second, first, second].map((grants) => grants.poll(deviceCode)));
  t.deepEqual(polled.map(answerOf).sort(), ['app', 'expired_token', 'expired_token', 'expired_token']);
  t.is((await it.tokens()).length, 1);
});

test('a grant can be polled and approved for 600 seconds', async (t) => {
  const it = await bench(t);
  const first = await it.start();
  const second = await it.start();
  await it.clock.advance(599 * SECOND);
  t.is(answerOf(await it.grants.poll(first.deviceCode)), 'authorization_pending');
  t.is((await it.grants.find(second.userCode))?.id, second.id);
  await it.clock.advance(2 * SECOND);
  t.is(answerOf(await it.grants.poll(first.deviceCode)), 'expired_token');
  t.is(await it.grants.find(second.userCode), undefined);
  await refused(t, it.grants.approve(second.id, USER), 'GRANT_NOT_FOUND');
  await refused(t, it.grants.deny(second.id, USER), 'GRANT_NOT_FOUND');
});

test('an approval not fetched in time is void', async (t) => {
  const it = await bench(t);
  const { id, deviceCode } = await it.start();
  await it.grants.approve(id, USER);
  await it.clock.advance(600 * SECOND);
  t.is(answerOf(await it.grants.poll(deviceCode)), 'expired_token');
  t.deepEqual(await it.tokens(), []);
});

test('a grant is approved once, by one user', async (t) => {
  const it = await bench(t);
  await addPerson(it.store, 'other');
  const { id, deviceCode } = await it.start();
  const users = ['test', 'other', 'test', 'other'].map((name) => ({ userId: `usr_${name}`, accountId: `acc_${name}` }));
  const approvals = await Promise.allSettled(users.map((user) => it.grants.approve(id, user)));
  const winners = users.filter((_, index) => approvals[index]?.status === 'fulfilled');
  t.is(winners.length, 1);
  t.is(answerOf(await it.grants.poll(deviceCode)), 'app');
  t.deepEqual(
    (await it.tokens()).map(({ userId }) => userId),
    winners.map(({ userId }) => userId),
  );
  await refused(t, it.grants.deny(id, USER), 'GRANT_NOT_FOUND');
  await refused(t, it.grants.approve('grt_unknown', USER), 'GRANT_NOT_FOUND');
});

test('a grant cannot request scopes beyond its client’s registration', async (t) => {
  const it = await bench(t);
  const start = async (clientId: string, scope: string) => {
    const started = await it.grants.start({ clientId, scope, ip: '', userAgent: '' });
    return 'error' in started ? started.error : (await it.grants.find(started.userCode))?.scopes.join(' ');
  };
  t.is(await start(it.clientId, ''), 'servers:list');
  t.is(await start(it.clientId, ' servers:list  servers:list '), 'servers:list');
  for (const scope of ['servers:list servers:write', 'servers:write', 'operator', 'SERVERS:LIST', '\0', 'a,b']) {
    t.is(await start(it.clientId, scope), 'invalid_scope', scope);
  }
  for (const clientId of ['', 'app_unknown', '\0', '\ud800', 'x'.repeat(4_000)]) {
    t.is(await start(clientId, 'servers:list'), 'invalid_client', clientId);
  }
});

test('a disabled client gets no approval, no token and no new grant', async (t) => {
  const it = await bench(t);
  const services = { store: it.store, clock: it.clock };
  const waiting = await it.start();
  const approved = await it.start();
  await it.grants.approve(approved.id, USER);
  await disableClient(services, OPERATOR, it.clientId);
  await refused(t, it.grants.approve(waiting.id, USER), 'CLIENT_DISABLED');
  t.is(await it.grants.find(waiting.userCode), undefined);
  t.is(answerOf(await it.grants.poll(approved.deviceCode)), 'access_denied');
  t.is(answerOf(await it.grants.poll(waiting.deviceCode)), 'access_denied');
  const request = { clientId: it.clientId, scope: '', ip: '', userAgent: '' };
  t.deepEqual(await it.grants.start(request), { error: 'invalid_client' });
  await enableClient(services, OPERATOR, it.clientId);
  t.is(answerOf(await it.grants.poll(approved.deviceCode)), 'access_denied', 'a refused grant stays refused');
  t.deepEqual(await it.tokens(), []);
  t.false('error' in (await it.grants.start(request)));
});

test('revoking an app ends only this user’s tokens at once, and a new grant does not restore them', async (t) => {
  const it = await bench(t);
  await addPerson(it.store, 'other');
  const connect = async (userId: string, accountId: string) => {
    const { id, deviceCode } = await it.start();
    await it.grants.approve(id, { userId, accountId });
    return granted(await it.grants.poll(deviceCode)).token;
  };
  const services = { store: it.store, clock: it.clock };
  const works = async (token: string) => (await authenticateApp(it.store, it.clock, token)) !== undefined;
  const [first, second] = [await connect('usr_test', 'acc_test'), await connect('usr_test', 'acc_test')];
  const others = await connect('usr_other', 'acc_other');
  t.true(await works(first));
  await it.store.write((tx) => tx.run('UPDATE "users" SET "passwordHash" = $1', ['changed']));
  t.true(await works(first), 'a password change does not end the token');
  t.deepEqual(
    (await listConnectedApps(it.store, 'usr_test', it.clock.now())).map(({ clientId, name, scopes }) => [
      clientId,
      name,
      scopes,
    ]),
    [[it.clientId, 'Launcher', ['servers:list']]],
  );
  t.true(await revokeApp(services, USER, it.clientId));
  t.false(await works(first));
  t.false(await works(second));
  t.true(await works(others));
  t.false(await revokeApp(services, USER, it.clientId), 'no token is left to revoke');
  t.deepEqual(await listConnectedApps(it.store, 'usr_test', it.clock.now()), []);
  const third = await connect('usr_test', 'acc_test');
  t.true(await works(third));
  t.false(await works(first));
});

test('a disabled client’s tokens are refused at once, and accepted again after it is enabled', async (t) => {
  const it = await bench(t);
  const { id, deviceCode } = await it.start();
  await it.grants.approve(id, USER);
  const given = granted(await it.grants.poll(deviceCode));
  const works = async () => (await authenticateApp(it.store, it.clock, given.token)) !== undefined;
  t.true(await works());
  await disableClient(it, OPERATOR, it.clientId);
  t.false(await works());
  await enableClient(it, OPERATOR, it.clientId);
  t.true(await works());
  await refused(t, disableClient(it, OPERATOR, 'app_unknown'), 'CLIENT_NOT_FOUND');
});

test('a use of an app’s token is recorded at most once a minute', async (t) => {
  const it = await bench(t);
  const { id, deviceCode } = await it.start();
  await it.grants.approve(id, USER);
  const given = granted(await it.grants.poll(deviceCode));
  const uses: (number | null | undefined)[] = [];
  for (const seconds of [0, 30, 29, 1, 3_600]) {
    await it.clock.advance(seconds * SECOND);
    await authenticateApp(it.store, it.clock, given.token);
    await it.store.write(async () => {});
    uses.push((await it.tokens())[0]?.lastUsedAt);
  }
  const begun = it.clock.now() - 3_660 * SECOND;
  t.deepEqual(uses, [begun, begun, begun, begun + 60 * SECOND, begun + 3_660 * SECOND]);
});

test('approvals, denials and revocations are in the audit log, without tokens', async (t) => {
  const it = await bench(t);
  const [app, cli, third] = [await it.start(), await it.start(null), await it.start()];
  const tokens: string[] = [];
  for (const { id, deviceCode } of [app, cli]) {
    await it.grants.approve(id, USER);
    tokens.push(granted(await it.grants.poll(deviceCode)).token);
  }
  await it.grants.deny(third.id, USER);
  await revokeApp(it, USER, it.clientId);
  const entries = await listAccountAudit(it.store, 'acc_test', { limit: 100 });
  t.deepEqual(
    entries.map(({ action, userId }) => [action, userId]).toReversed(),
    ['client.register', 'grant.approve', 'app.connect', 'grant.approve', 'key.mint', 'grant.deny', 'app.revoke'].map(
      (action) => [action, 'usr_test'],
    ),
  );
  for (const token of tokens) t.false(JSON.stringify(entries).includes(token));
});

test('expired grants are deleted in small batches an hour later, and live ones stay', async (t) => {
  const it = await bench(t);
  const count = async () => (await it.store.query('SELECT "id" FROM "grants"')).length;
  for (let nth = 0; nth < 60; nth++) await it.start();
  await it.clock.advance(4_200 * SECOND);
  await it.start();
  t.is(await count(), 61, 'expired grants stay for an hour');
  await it.clock.advance(SECOND);
  await it.start();
  t.is(await count(), 12);
  const { id } = await it.start();
  t.is(await count(), 3);
  t.is((await it.store.query<GrantRow>('SELECT * FROM "grants" WHERE "id" = $1', [id])).length, 1);
});

test('only recently polled grants stay in memory', async (t) => {
  const it = await bench(t);
  const [first, second] = [await it.start(), await it.start()];
  t.deepEqual(it.grants.live(), []);
  await it.grants.poll(first.deviceCode);
  t.deepEqual(
    it.grants.live().map(({ answer, context }) => [answer, context.clientId]),
    [['authorization_pending', it.clientId]],
  );
  await it.clock.advance(60 * SECOND);
  await it.grants.poll(second.deviceCode);
  t.deepEqual(
    it.grants.live().map(({ context }) => context.id),
    [second.id],
  );
  t.is(answerOf(await it.grants.poll(first.deviceCode)), 'authorization_pending');
});

test('a poll with another client’s id or an invalid code returns invalid_grant', async (t) => {
  const it = await bench(t);
  const { id, deviceCode } = await it.start();
  const cli = await it.start(null);
  await it.grants.approve(id, USER);
  t.is(answerOf(await it.grants.poll(deviceCode, 'app_other')), 'invalid_grant');
  t.is(answerOf(await it.grants.poll(cli.deviceCode, it.clientId)), 'invalid_grant');
  for (const code of ['', mintToken('device'), mintToken('app'), `${deviceCode}x`, deviceCode.toLowerCase(), '\0']) {
    t.is(answerOf(await it.grants.poll(code)), 'invalid_grant', code);
  }
  t.is(answerOf(await it.grants.poll(deviceCode, it.clientId)), 'app');
});

test('a grant with an unknown stored state fails its poll and issues no token', async (t) => {
  const it = await bench(t);
  const { id, deviceCode } = await it.start();
  await it.grants.approve(id, USER);
  it.restart();
  await it.store.write((tx) =>
    tx.run(`UPDATE "grants" SET "snapshot" = REPLACE("snapshot", '"approved"', '"granted"')`),
  );
  await t.throwsAsync(it.grants.poll(deviceCode));
  t.deepEqual(await it.tokens(), []);
});

test('grants without further polls expire on their own', async (t) => {
  const it = await bench(t);
  const stop = it.grants.expireByThemselves();
  t.teardown(stop);
  const [waits, approved, later] = [await it.start(), await it.start(), await it.start(null)];
  await it.grants.approve(approved.id, USER);
  const states = async () => {
    const rows = await it.store.query<GrantRow>('SELECT * FROM "grants"');
    return [waits, approved, later].map(({ id }) => rows.find((row) => row.id === id)?.state);
  };
  await it.clock.advance(9 * 60 * SECOND);
  t.deepEqual(await states(), ['authorization_pending', 'approved', 'authorization_pending']);
  const ended = Promise.withResolvers<void>();
  let steps = 0;
  t.teardown(it.grants.follow(() => (steps += 1) === 3 && ended.resolve()));
  await it.clock.advance(2 * 60 * SECOND);
  await ended.promise;
  t.deepEqual(await states(), ['expired_token', 'expired_token', 'expired_token']);
});
