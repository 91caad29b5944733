import { once } from 'node:events';
import { type IncomingMessage, get } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { redacted } from '../../src/operators/machines.ts';
import { KEY_SCOPES } from '../../src/http/scopes.ts';
import { hashToken } from '../../src/kernel/ids.ts';
import { endBrowserSession } from '../../src/accounts/browser-sessions.ts';
import { aborted } from '../fakes/engine.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';

interface Listed {
  id: string;
  kind: string;
  state: string;
  path: string;
  since: string;
  cause: { kind: string; id: string; note: string };
  waitsFor: { name: string; what: string; until: string | null }[];
  legalEvents: string[];
  transitions: { event: string; from: string; to: string; cause: { kind: string; note: string } }[];
  snapshot: Record<string, unknown>;
  definition: { id: string };
}

/** `usr_test` is an operator and has a key with the scopes of `KEY_SCOPES`. */
async function operated(t: ExecutionContext) {
  const it = await api(t);
  await promote(it, 1);
  const { key, row } = await it.mint(KEY_SCOPES);
  const list = async (query = ''): Promise<Listed[]> => {
    const answer = await it.call('GET', `/v1/operator/machines${query}`, { key });
    t.is(answer.status, 200, answer.text);
    return answer.json['machines'] as Listed[];
  };
  const look = async (id: string) =>
    (await it.call('GET', `/v1/operator/machines/${id}`, { key })).json as never as Listed;
  const send = (id: string, event: string, reason = 'it hung') =>
    it.call('POST', `/v1/operator/machines/${id}:send`, { key, body: { event, reason } });
  return { ...it, operatorKey: key, keyRow: row, list, look, send };
}

const promote = (it: ApiUnderTest, operator: 0 | 1) =>
  it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [operator, 'usr_test']));

/** Makes the engine hang on every halt. Returns a function that heals it. */
function deafEngine({ engine }: ApiUnderTest): () => void {
  const halt = engine.halt.bind(engine);
  engine.halt = (_id, _graceMs, signal) => aborted(signal);
  return () => void (engine.halt = halt);
}

async function follow(t: ExecutionContext, it: ApiUnderTest, headers: Record<string, string>, query = '') {
  const request = get(`${it.origin}/v1/operator/machines:stream${query}`, { agent: false, headers });
  t.teardown(() => request.destroy());
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  response.on('error', () => {});
  const ended = new Promise<void>((resolve) => void response.on('close', () => resolve()));
  const steps = () =>
    text
      .split('\n\n')
      .flatMap((frame) => /^data: (.*)$/m.exec(frame)?.[1] ?? [])
      .map((data) => JSON.parse(data) as Record<string, unknown>);
  return { status: response.statusCode, steps, text: () => text, ended, close: () => request.destroy() };
}

test('the operator list sorts machines by state, and its pages have no gaps or duplicates', async (t) => {
  const it = await operated(t);
  for (const id of ['a-sleeper', 'b-sleeper', 'runner', 'failer', 'starter']) await it.create(id);
  await it.command('runner', 'START');
  await it.reach('runner', 'running');
  it.engine.script('failer', { exitCode: 1 });
  await it.command('failer', 'START');
  await it.reach('failer', 'start_failed');
  await it.until(async () => (await it.look('failer')).path === 'startFailed.cleared');
  const release = it.engine.hold('starter');
  t.teardown(release);
  await it.command('starter', 'START');
  const grants = await startGrant(it);
  const order = ['starter', 'failer', 'runner', grants, 'a-sleeper', 'b-sleeper'];
  t.deepEqual(
    (await it.list()).map(({ id }) => id),
    order,
  );
  const [starter, failer, runner, grant, sleeper] = await it.list();
  t.like(starter, { kind: 'server', state: 'starting', path: 'starting', accountId: 'acc_test', passing: true });
  t.like(starter?.cause, { kind: 'key', id: 'key_test' });
  t.deepEqual(
    starter?.waitsFor.map(({ name, what }) => [name, what]),
    [['boot', 'the game to be ready for players']],
  );
  t.is(Date.parse(starter?.waitsFor[0]?.until ?? ''), Date.parse(starter?.since ?? '') + 600_000);
  t.deepEqual([failer?.state, failer?.path, failer?.waitsFor], ['start_failed', 'startFailed.cleared', []]);
  t.like(runner, { state: 'running' });
  t.like(grant, { kind: 'grant', state: 'pending', path: 'pending.waiting', accountId: '' });
  t.is(grant?.waitsFor[0]?.what, 'its user to approve or decline it');
  t.deepEqual(sleeper?.waitsFor, []);

  const seen: string[] = [];
  for (let after = ''; ;) {
    const page = await it.call('GET', `/v1/operator/machines?limit=2&after=${after}`, { key: it.operatorKey });
    seen.push(...(page.json['machines'] as Listed[]).map(({ id }) => id));
    after = page.json['next'] as string;
    if (after === '') break;
  }
  t.deepEqual(seen, order);
  const ids = async (query: string) => (await it.list(query)).map(({ id }) => id);
  t.deepEqual(await ids('?state=hibernated'), ['a-sleeper', 'b-sleeper']);
  t.deepEqual(await ids('?kind=grant'), [grants]);
  const counted = await it.call('GET', '/v1/operator/machines?kind=server&state=running&limit=1&counts=true', {
    key: it.operatorKey,
  });
  const counts = counted.json['counts'] as { state: string; count: number }[];
  t.deepEqual(Object.fromEntries(counts.map(({ state, count }) => [state, count])), {
    hibernated: 2,
    running: 1,
    start_failed: 1,
    starting: 1,
  });
  t.deepEqual(await ids('?search=A-SLEEP'), ['a-sleeper']);
  await it.servers.patch('b-sleeper', { name: 'Ödland' });
  for (const search of ['Ödland', 'Öd', 'DLAND'])
    t.deepEqual(await ids(`?search=${encodeURIComponent(search)}`), ['b-sleeper'], search);
  t.deepEqual(await ids('?search=%25'), [], 'a wildcard is searched as plain text');
  for (const query of ['?kind=x', '?after=x', '?stuckForSeconds=-1', '?limit=x'])
    t.is((await it.call('GET', `/v1/operator/machines${query}`, { key: it.operatorKey })).status, 400, query);
});

test('a server with a stuck engine halt is found, explained and freed by an operator’s ALARM', async (t) => {
  const it = await operated(t);
  await it.create('lobby');
  await it.command('lobby', 'START');
  await it.reach('lobby', 'running');
  const heal = deafEngine(it);
  await it.command('lobby', 'STOP');
  await it.clock.advance(300_000);
  await it.until(async () => (await it.look('lobby')).waitsFor[0]?.what.endsWith('at once') === true);
  t.is((await it.list('?stuckForSeconds=300')).length, 1);
  t.deepEqual(await it.list('?stuckForSeconds=301'), []);
  const stuck = await it.look('lobby');
  t.deepEqual([stuck.state, stuck.path], ['stopping', 'stopping.halting']);
  t.is(stuck.waitsFor[0]?.what, 'the engine to end the game at once', 'the server’s own alarm has fired');
  t.deepEqual(stuck.legalEvents, ['ALARM', 'START', 'RESTART', 'DELETE']);
  t.is(stuck.definition.id, 'server');
  t.is((stuck.snapshot['context'] as { id: string }).id, 'lobby');

  const illegal = await it.send('lobby', 'REINSTALL');
  t.like(illegal, { status: 400, reason: 'EVENT_NOT_LEGAL' });
  t.regex(illegal.text, /It accepts ALARM, START, RESTART, DELETE\./);
  for (const event of ['DOWN', 'UP', 'JOIN', 'xstate.done.actor.halt', ''])
    t.like(await it.send('lobby', event), { status: 400, reason: 'INVALID_FIELD' }, event);
  for (const reason of ['', '  ', 'a\nb']) t.is((await it.send('lobby', 'ALARM', reason)).status, 400, reason);
  t.is((await it.send('nothing', 'ALARM')).reason, 'MACHINE_NOT_FOUND');

  heal();
  const sent = await it.send('lobby', 'ALARM', 'Docker was restarted');
  t.is(sent.status, 200, sent.text);
  await it.reach('lobby', 'hibernated');
  const freed = await it.look('lobby');
  const operator = { kind: 'operator', id: it.keyRow.id, note: 'Docker was restarted' };
  t.like(freed.transitions[1], { event: 'ALARM', from: 'stopping', to: 'stopping', cause: operator });
  t.deepEqual(freed.legalEvents, ['START', 'REINSTALL', 'DELETE']);
  const [entry] = await it.store.query<Record<string, string>>(`SELECT * FROM "audit" WHERE "action" = 'server.alarm'`);
  t.like(entry, { accountId: 'acc_test', serverId: 'lobby', userId: 'usr_test' });
  t.like(entry, { through: `operator ${it.keyRow.id}`, detail: 'Docker was restarted' });
});

test('an operator’s ALARM retries a stuck clear-up and a stuck erase', async (t) => {
  const it = await operated(t);
  await it.create('lobby');
  it.games.silent.add('lobby');
  await it.command('lobby', 'START');
  await it.clock.advance(1_000);
  const heal = deafEngine(it);
  t.is((await it.send('lobby', 'ALARM', 'it will never be ready')).status, 200);
  t.like(await it.look('lobby'), { state: 'start_failed', path: 'startFailed.clearing' });
  await it.clock.advance(600_000);
  t.deepEqual(
    (await it.list('?stuckForSeconds=600')).map(({ id }) => id),
    ['lobby'],
  );
  heal();
  await it.send('lobby', 'ALARM');
  await it.until(async () => (await it.look('lobby')).path === 'startFailed.cleared');
  t.deepEqual((await it.list('?stuckForSeconds=0')).length, 0);

  const healAgain = deafEngine(it);
  await it.ok('DELETE', '/v1/servers/lobby');
  t.is((await it.call('GET', '/v1/servers/lobby')).status, 404);
  await it.until(async () => (await it.look('lobby')).path === 'deleting.erasing');
  t.deepEqual((await it.look('lobby')).legalEvents, ['ALARM']);
  healAgain();
  await it.send('lobby', 'ALARM');
  await it.until(
    async () => (await it.call('GET', '/v1/operator/machines/lobby', { key: it.operatorKey })).status === 404,
  );
});

test('the operator stream sends every transition, and ends with the operator’s session or role', async (t) => {
  const it = await operated(t);
  const all = await follow(t, it, { 'x-api-key': it.operatorKey });
  const browser = await it.browser('usr_test');
  const one = await follow(t, it, { cookie: browser.cookie }, '?id=other');
  t.deepEqual([all.status, one.status], [200, 200]);
  await it.create('lobby');
  await it.command('lobby', 'START');
  await it.reach('lobby', 'running');
  await it.command('lobby', 'STOP');
  await it.reach('lobby', 'hibernated');
  await it.create('other');
  const grant = await startGrant(it);
  await it.send(grant, 'DENY', 'a phishing page');
  await it.until(() => all.steps().length >= 8 && one.steps().length === 1);
  t.deepEqual(
    all.steps().map(({ id, event, fromPath, toPath }) => [id, event, fromPath, toPath]),
    [
      ['lobby', 'CREATE', '', 'hibernated'],
      ['lobby', 'START', 'hibernated', 'starting'],
      ['lobby', 'BOOT_DONE', 'starting', 'running.open'],
      ['lobby', 'STOP', 'running.open', 'stopping.halting'],
      ['lobby', 'HALT_DONE', 'stopping.halting', 'hibernated'],
      ['other', 'CREATE', '', 'hibernated'],
      [grant, 'CREATE', '', 'pending.waiting'],
      [grant, 'DENY', 'pending.waiting', 'denied'],
    ],
  );
  t.like(all.steps().at(-1), { kind: 'grant', from: 'pending', to: 'denied' });
  t.like(all.steps().at(-1)?.['cause'], { kind: 'operator', note: 'a phishing page' });
  t.regex(String(all.steps()[0]?.['at']), /^2023-.*Z$/);

  const sessionId = hashToken(browser.cookie.slice('sid='.length));
  const who = { kind: 'session', sessionId, userId: 'usr_test', accountId: 'acc_test' } as never;
  await endBrowserSession(it.services, who, sessionId);
  await one.ended;
  await promote(it, 0);
  for (let n = 0; n < 3; n++) await it.clock.advance(15_000);
  await all.ended;
});

test('the operator API needs an operator’s session, and a CSRF token for changes', async (t) => {
  const it = await operated(t);
  await it.create('lobby');
  const browser = await it.browser('usr_test');
  t.is((await browser.call('GET', '/v1/operator/machines')).status, 200);
  const path = '/v1/operator/machines/lobby:send';
  const body = { event: 'START', reason: 'asked by mail' };
  const without = { ...browser, headers: { cookie: browser.cookie } };
  t.is((await it.call('POST', path, { key: null, headers: without.headers, body })).reason, 'CSRF_TOKEN_INVALID');
  const foreign = { cookie: browser.cookie, 'x-csrf-token': browser.csrf, 'sec-fetch-site': 'cross-site' };
  t.is((await it.call('POST', path, { key: null, headers: foreign, body })).reason, 'CROSS_SITE');
  t.is(
    (await it.call('GET', '/v1/operator/machines', { key: null, headers: { cookie: 'sid=x' } })).reason,
    'SESSION_REQUIRED',
  );
  t.is((await it.call('GET', '/v1/servers', { key: null, headers: { cookie: browser.cookie } })).status, 401);
  t.is((await browser.call('POST', path, { body })).status, 200);
  t.like((await it.look('lobby')).transitions.at(-1), {
    event: 'START',
    cause: { kind: 'operator', note: 'asked by mail' },
  });
  await promote(it, 0);
  t.is((await browser.call('GET', '/v1/operator/machines')).reason, 'SCOPE_MISSING');
  // The row was edited directly: the cached key is checked again only after half a minute.
  await it.clock.advance(30_000);
  t.is((await it.call('GET', '/v1/operator/machines', { key: it.operatorKey })).reason, 'NOT_OPERATOR');
});

test('a grant’s history shows its causes, and an operator can deny it but not approve it', async (t) => {
  const it = await operated(t);
  const id = await startGrant(it);
  t.deepEqual((await it.look(id)).legalEvents, ['DENY']);
  t.like(await it.send(id, 'START'), { status: 400, reason: 'EVENT_NOT_LEGAL' });
  t.is((await it.send(id, 'APPROVE')).reason, 'INVALID_FIELD');
  t.is((await it.send(id, 'DENY', 'phishing')).status, 200);
  const denied = await it.look(id);
  t.deepEqual(
    denied.transitions.map(({ event, from, to, cause }) => [event, from, to, cause.note]),
    [
      ['DENY', 'pending', 'denied', 'phishing'],
      ['CREATE', '', 'pending', 'asked for by the command line'],
    ],
  );
  t.deepEqual([denied.state, denied.legalEvents, denied.definition.id], ['denied', [], 'deviceGrant']);
  t.is((await it.send(id, 'DENY')).reason, 'EVENT_NOT_LEGAL');
  const text = JSON.stringify(denied);
  const [row] = await it.store.query<{ deviceHash: string; userHmac: string }>('SELECT * FROM "grants"');
  t.false(text.includes(row!.deviceHash) || text.includes(row!.userHmac));
});

test('redacted removes secrets from a snapshot by field name and by content', (t) => {
  const mixed = {
    rconPassword: 'x',
    deviceHash: 'x',
    password: null,
    lines: ['rcon.password=hunter2 next', 'Authorization: Bearer abc', `key dmk_${'a'.repeat(38)} used`],
    failure: { code: 'out_of_memory' },
  };
  t.deepEqual(redacted(mixed), {
    rconPassword: '[redacted]',
    deviceHash: '[redacted]',
    password: null,
    lines: ['rcon.password=[redacted] next', 'Authorization: [redacted]', 'key [redacted] used'],
    failure: { code: 'out_of_memory' },
  });
});

/** Starts a grant of the command line and returns its id. */
async function startGrant(it: ApiUnderTest): Promise<string> {
  const { grants } = it.services;
  await grants.start({ clientId: null, scope: '', ip: '127.0.0.1', userAgent: 'test' });
  const [row] = await it.store.query<{ id: string }>('SELECT "id" FROM "grants" ORDER BY "createdAt" DESC');
  return row!.id;
}
