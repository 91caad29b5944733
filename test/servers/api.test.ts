import test from 'ava';
import type { ServerState } from '../../machines/server-types.ts';
import { ConsoleError } from '../../src/engines/console/console.ts';
import { sandboxVersions } from '../../src/sandbox/versions.ts';
import { Server } from '../../src/servers/api/messages.ts';
import { PROXY_ADDRESS } from '../fakes/engine.ts';
import { api } from '../support/api-harness.ts';
import { turns } from '../support/turns.ts';

/** The fields of a server, in the order of the reference. */
const SERVER_FIELDS = `id name hostname accountId addr container state type version ramMb plan region nodeLabel motd
  properties idleTimeoutMinutes awakeHours awakeTimeZone ignoredPlayers tags alertWebhookUrl bakedAt createdAt updatedAt lastActiveAt ports modpackPlatform modpackRef
  modpackVersion installError installErrorCode installErrorSummary installErrorSuggestion startError startErrorCode
  startErrorSummary startErrorSuggestion startupPhase startupPercent diskUsageMb diskUsageKnown diskQuotaOverrideMb
  diskQuotaEffectiveMb quotaExceeded sftpEnabled publicStatusEnabled publicShowAddress publicSlug
  waitingRoom network clientVersions jvmPreset jvmOptions builds refusedBuild update startupEtaSeconds startupItem
  stopsAt stopIsRestart`.split(/\s+/);

const SMALL = { name: 'My World', ramMb: 256 };

test('a server is created asleep from a name and RAM alone, with every documented field', async (t) => {
  const { ok, clock } = await api(t);
  const server = await ok('POST', '/v1/servers', SMALL);
  t.deepEqual(Object.keys(server), SERVER_FIELDS);
  const now = new Date(clock.now()).toISOString();
  t.like(server, {
    id: 'my-world',
    name: 'My World',
    hostname: 'my-world',
    accountId: 'acc_test',
    addr: 'my-world.play.example',
    container: 'my-world',
    state: 'hibernated',
    type: 'sandbox',
    version: sandboxVersions()[0],
    ramMb: 256,
    plan: 'metered',
    region: 'na',
    nodeLabel: 'node-1',
    bakedAt: null,
    createdAt: now,
    updatedAt: now,
    lastActiveAt: null,
    startupPhase: '',
    startupPercent: 0,
    diskUsageMb: '0',
    diskUsageKnown: false,
    quotaExceeded: false,
  });
  t.deepEqual(server['ports'], []);
  t.deepEqual(server['properties'], {});
  t.deepEqual(await ok('GET', '/v1/servers/my-world'), { ...server, role: 'owner' });
  t.deepEqual(await ok('GET', '/v1/servers'), { servers: [server] });
});

test('the reply schema has the documented fields in order', (t) => {
  t.deepEqual(Object.keys(Server.shape), SERVER_FIELDS);
  t.deepEqual(Object.keys(Server.parse({})), SERVER_FIELDS);
});

test('the address includes the port unless it is the game’s default', async (t) => {
  const { ok } = await api(t, { playersPort: 25_570 });
  t.is((await ok('POST', '/v1/servers', SMALL))['addr'], 'my-world.play.example:25570');
});

test('a taken name gets a numbered id, and a taken explicit id is refused', async (t) => {
  const { ok, call } = await api(t);
  const created = await Promise.all([1, 2, 3].map(() => ok('POST', '/v1/servers', SMALL)));
  t.is(
    created
      .map(({ id }) => id)
      .toSorted((a, b) => String(a).localeCompare(String(b)))
      .join(' '),
    'my-world my-world-2 my-world-3',
  );
  const taken = await call('POST', '/v1/servers', { body: { ...SMALL, id: 'my-world' } });
  t.is(taken.status, 409);
  t.is(taken.json['code'], 6);
  const long = { name: 'x'.repeat(60), ramMb: 256 };
  t.is((await ok('POST', '/v1/servers', long))['id'], 'x'.repeat(40));
  t.is((await ok('POST', '/v1/servers', long))['id'], `${'x'.repeat(37)}-2`);
});

test('create keeps every given field, but not a given state', async (t) => {
  const { ok } = await api(t);
  const given = {
    id: 'survival',
    hostname: 'surv',
    container: 'surv_1',
    name: 'Überleben',
    type: 'paper',
    version: '1.21.8',
    ramMb: 2048,
    plan: 'flat',
    region: 'na',
    accountId: 'acc_test',
    motd: '§aHello',
    properties: { difficulty: 'hard', 'level-seed': 'a=b c' },
  };
  t.like(await ok('POST', '/v1/servers', given), { ...given, addr: 'surv.play.example', state: 'hibernated' });
  const snake = await ok('POST', '/v1/servers', {
    name: 'snake',
    ram_mb: '512',
    modpack_platform: null,
    state: 'running',
  });
  t.like(snake, { id: 'snake', ramMb: 512, state: 'hibernated' });
});

const refused = test.macro({
  exec: async (t, body: Record<string, unknown>, field: string) => {
    const { call } = await api(t);
    const { status, json, reason } = await call('POST', '/v1/servers', { body: { ...SMALL, ...body } });
    t.is(status, 400);
    t.is(json['code'], 3);
    t.is(reason, 'INVALID_FIELD');
    const [, bad] = json['details'] as { '@type': string; fieldViolations: { field: string }[] }[];
    t.is(bad?.['@type'], 'type.googleapis.com/google.rpc.BadRequest');
    t.true(
      bad?.fieldViolations.some((violation) => violation.field === field),
      JSON.stringify(bad),
    );
    t.deepEqual((await call('GET', '/v1/servers')).json, { servers: [] });
  },
  title: (_, body, field) => `create refuses ${JSON.stringify(body).slice(0, 60)} for its ${String(field)}`,
});

test(refused, { name: undefined }, 'name');
test(refused, { name: null }, 'name');
test(refused, { name: '  ' }, 'name');
test(refused, { name: 'x'.repeat(65) }, 'name');
test(refused, { name: 'a\nb' }, 'name');
test(refused, { name: '日本' }, 'id');
test(refused, { name: 7 }, 'name');
test(refused, { id: '-x' }, 'id');
test(refused, { id: 'admin' }, 'id');
test(refused, { hostname: 'a.b' }, 'hostname');
test(refused, { container: '../x' }, 'container');
test(refused, { ramMb: undefined }, 'ramMb');
test(refused, { ramMb: null }, 'ramMb');
test(refused, { ramMb: 1.5 }, 'ramMb');
test(refused, { ramMb: 2_147_483_648 }, 'ramMb');
test(refused, { ramMb: '' }, 'ramMb');
test(refused, { ramMb: 100 }, 'ramMb');
test(refused, { ramMb: 256, type: 'paper', version: '1.21.8' }, 'ramMb');
test(refused, { type: 'bedrock' }, 'type');
test(refused, { type: 'custom', ramMb: 1024 }, 'version');
test(refused, { type: 'custom', ramMb: 1024, version: '1.21.8', modpackPlatform: 'modrinth', modpackRef: 'a' }, 'type');
test(refused, { type: 'paper', ramMb: 1024 }, 'version');
test(refused, { type: 'paper', ramMb: 1024, version: 'LATEST' }, 'version');
test(refused, { type: 'paper', ramMb: 1024, version: '1.21;reboot' }, 'version');
test(refused, { type: 'magma', ramMb: 1024, version: '1.12.2' }, 'version');
test(refused, { type: 'arclight', ramMb: 1024, version: '1.12.2' }, 'version');
test(refused, { type: 'pufferfish', ramMb: 1024, version: '1.16.5' }, 'version');
test(refused, { type: 'neoforge', ramMb: 1024, version: '1.19.4' }, 'version');
test(refused, { version: '1.0.0' }, 'version');
test(refused, { plan: 'gold' }, 'plan');
test(refused, { region: 'moon' }, 'region');
test(refused, { motd: 'a\r\nb' }, 'motd');
test(refused, { motd: 'x'.repeat(257) }, 'motd');
test(refused, { properties: { difficulty: 3 } }, 'properties.difficulty');
test(refused, { properties: { difficulty: 'a\nenable-rcon=true' } }, 'properties.difficulty');
test(refused, { properties: { 'rcon.password': 'x' } }, 'properties.rcon.password');
test(refused, { properties: { 'a\nb': 'x' } }, 'properties');
test(refused, { properties: [] }, 'properties');
test(refused, { modpackRef: 'pack' }, 'modpackPlatform');
test(refused, { modpackPlatform: 'modrinth', type: 'fabric', ramMb: 1024 }, 'modpackRef');
test(
  refused,
  { modpackPlatform: 'modrinth', modpackRef: 'https://evil/x.zip', type: 'fabric', ramMb: 1024 },
  'modpackRef',
);
test(refused, { modpackPlatform: 'modrinth', modpackRef: 'pack', ramMb: 1024 }, 'type');

test('another account’s id is refused on create and list', async (t) => {
  const { call } = await api(t);
  for (const answer of [
    await call('POST', '/v1/servers', { body: { ...SMALL, accountId: 'acc_other' } }),
    await call('GET', '/v1/servers?accountId=acc_other'),
  ]) {
    t.is(answer.status, 403);
    t.is(answer.reason, 'ACCOUNT_MISMATCH');
  }
  t.is((await call('GET', '/v1/servers?accountId=acc_test')).status, 200);
  t.is((await call('GET', '/v1/servers?accountId=')).status, 200);
});

test('only one of several racing creates gets the last server slot of an account', async (t) => {
  const { call, ok } = await api(t, { config: { maxServersPerAccount: 2 } });
  await ok('POST', '/v1/servers', SMALL);
  const answers = await Promise.all(Array.from({ length: 8 }, () => call('POST', '/v1/servers', { body: SMALL })));
  t.is(answers.filter(({ status }) => status === 200).length, 1);
  const { status, reason, json } = answers.find((answer) => answer.status !== 200)!;
  t.deepEqual([status, reason, json['code']], [429, 'MAX_SERVERS', 8]);
  const types = (json['details'] as { '@type': string }[]).map((detail) => detail['@type'].split('.').at(-1));
  t.deepEqual(types, ['ErrorInfo', 'QuotaFailure']);
});

test('repeating a create with the same id creates one server and returns SERVER_EXISTS, even to a stranger', async (t) => {
  const it = await api(t, { config: { maxServersPerAccount: 1 } });
  const body = { ...SMALL, id: 'mine' };
  const answers = await Promise.all(Array.from({ length: 5 }, () => it.call('POST', '/v1/servers', { body })));
  const said = answers.map(({ status, reason }) => `${status} ${reason}`).toSorted();
  t.deepEqual(said, ['200 ', ...Array<string>(4).fill('409 SERVER_EXISTS')]);
  t.is((await it.call('POST', '/v1/servers', { body: { ...SMALL, id: 'other' } })).reason, 'MAX_SERVERS');
  t.like(await it.ok('GET', '/v1/servers/mine'), { id: 'mine' });
  const key = await it.stranger();
  t.is((await it.call('POST', '/v1/servers', { body, key })).reason, 'SERVER_EXISTS');
  t.is((await it.call('GET', '/v1/servers/mine', { key })).status, 404, 'a stranger cannot read it');
});

test('a server with more RAM than its account’s limit is refused with MAX_RAM', async (t) => {
  const { call } = await api(t, { config: { maxRamMb: 1024 } });
  const { status, reason } = await call('POST', '/v1/servers', { body: { ...SMALL, ramMb: 1025 } });
  t.deepEqual([status, reason], [429, 'MAX_RAM']);
});

test('the account’s RAM limit covers all its servers, on create, create from a template and resize', async (t) => {
  const { ok, call, reach } = await api(t, { config: { maxRamMb: 1_200 } });
  const create = (id: string, ramMb: number) =>
    call('POST', '/v1/servers', { body: { ...SMALL, id, name: id, ramMb } });
  const refused = async (answer: ReturnType<typeof call>) => {
    const { status, reason, json } = await answer;
    t.deepEqual([status, reason], [429, 'MAX_RAM']);
    t.regex(String(json['message']), /can have 1200 MB of RAM in total/);
  };
  t.is((await create('one', 512)).status, 200);
  await refused(create('two', 689));
  t.is((await create('two', 600)).status, 200);
  await refused(call('POST', '/v1/templates/sandbox:createServer', { body: { name: 'three' } }));
  await refused(call('POST', '/v1/servers/one:update', { body: { ramMb: 601 } }));
  t.like(await ok('GET', '/v1/servers/one'), { ramMb: 512 });
  t.like(await ok('POST', '/v1/servers/one:update', { ramMb: 600 }), { ramMb: 600 });
  await ok('DELETE', '/v1/servers/two');
  await reach('two', 'gone');
  t.is((await create('three', 600)).status, 200);
});

test('a server with a mod pack installs it first', async (t) => {
  const { ok, engine, reach } = await api(t);
  engine.script('pack', { exitCode: 0 });
  const pack = { modpackPlatform: 'modrinth', modpackRef: 'cobblemon', type: 'fabric', ramMb: 2048 };
  t.like(await ok('POST', '/v1/servers', { name: 'pack', ...pack }), { state: 'installing', modpackRef: 'cobblemon' });
  t.truthy(await reach('pack', 'hibernated'));
});

test('start, stop, restart, keepAwake and kill return the server, and repeating start or stop is no error', async (t) => {
  const { ok, reach } = await api(t);
  await ok('POST', '/v1/servers', SMALL);
  t.like(await ok('POST', '/v1/servers/my-world:stop'), { state: 'hibernated' });
  t.like(await ok('POST', '/v1/servers/my-world:start'), { state: 'starting', startupPhase: 'starting' });
  t.like(await ok('POST', '/v1/servers/my-world:start', {}), { state: 'starting' });
  await reach('my-world', 'running');
  const running = await ok('GET', '/v1/servers/my-world');
  t.like(running, { state: 'running', startupPhase: '', startupPercent: 100 });
  t.regex(String(running['bakedAt']), /^\d{4}-.*Z$/);
  t.regex(String(running['lastActiveAt']), /^\d{4}-.*Z$/);
  t.deepEqual(Object.keys(running), [...SERVER_FIELDS, 'role', 'playersOnline']);
  t.like(running, { role: 'owner', playersOnline: 0 });
  t.like(await ok('POST', '/v1/servers/my-world:start'), { state: 'running' });
  t.like(await ok('POST', '/v1/servers/my-world:restart'), { state: 'stopping' });
  await reach('my-world', 'running');
  t.like(await ok('POST', '/v1/servers/my-world:keepAwake', { minutes: 30 }), { state: 'running' });
  t.like(await ok('POST', '/v1/servers/my-world:kill'), { state: 'stopping' });
  await reach('my-world', 'hibernated');
});

test('the colon of a verb may be percent-encoded', async (t) => {
  const { ok, call, reach } = await api(t);
  await ok('POST', '/v1/servers', SMALL);
  t.like((await call('POST', '/v1/servers/my-world%3Astart')).json, { state: 'starting' });
  await reach('my-world', 'running');
});

test('commands that the state does not allow fail with FAILED_PRECONDITION and change nothing', async (t) => {
  const { ok, call } = await api(t);
  await ok('POST', '/v1/servers', SMALL);
  for (const verb of ['restart', 'retryInstall', 'keepAwake']) {
    const { status, json } = await call('POST', `/v1/servers/my-world:${verb}`);
    t.deepEqual([status, json['code']], [400, 9], verb);
    const types = (json['details'] as { '@type': string }[]).map((detail) => detail['@type'].split('.').at(-1));
    t.deepEqual(types, ['ErrorInfo', 'PreconditionFailure'], verb);
  }
  t.is((await call('POST', '/v1/servers/my-world:keepAwake', { body: { minutes: 1441 } })).reason, 'INVALID_FIELD');
  t.like(await ok('GET', '/v1/servers/my-world'), { state: 'hibernated' });
});

test('a failed start shows its cause, and a failed install can be retried', async (t) => {
  const { ok, engine, reach } = await api(t);
  engine.script('my-world', { refuse: 'core_unavailable' });
  await ok('POST', '/v1/servers', SMALL);
  await ok('POST', '/v1/servers/my-world:start');
  await reach('my-world', 'start_failed');
  const failed = await ok('GET', '/v1/servers/my-world');
  t.not(failed['startErrorCode'], '');
  t.not(failed['startErrorSummary'], '');
  t.not(failed['startError'], '', 'also if the game printed no output');
  t.is(failed['installErrorCode'], '');

  engine.script('pack', { exitCode: 1 });
  const pack = { modpackPlatform: 'modrinth', modpackRef: 'cobblemon', type: 'fabric', ramMb: 2048 };
  await ok('POST', '/v1/servers', { name: 'pack', ...pack });
  await reach('pack', 'install_failed');
  t.not((await ok('GET', '/v1/servers/pack'))['installErrorCode'], '');
  engine.script('pack', { exitCode: 0 });
  await ok('POST', '/v1/servers/pack:retryInstall');
  await reach('pack', 'hibernated');
  t.like(await ok('GET', '/v1/servers/pack'), { installErrorCode: '' });
  t.deepEqual(engine.installs, ['pack', 'pack']);
});

test('a deleted server disappears from reads and commands at once', async (t) => {
  const { ok, call } = await api(t);
  await ok('POST', '/v1/servers', SMALL);
  t.deepEqual(await ok('DELETE', '/v1/servers/my-world'), {});
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', ':start'],
    ['GET', '/logs'],
    ['GET', '/machine'],
  ] as const) {
    t.is((await call(method, `/v1/servers/my-world${path}`)).reason, 'SERVER_NOT_FOUND', method + path);
  }
  t.deepEqual(await ok('GET', '/v1/servers'), { servers: [] });
});

test('the waiting room is off by default and can be changed at any time', async (t) => {
  const { ok, call, reach } = await api(t);
  t.like(await ok('POST', '/v1/servers', SMALL), { waitingRoom: false });
  const path = '/v1/servers/my-world:update';
  t.like(await ok('POST', path, { waitingRoom: true }), { name: 'My World', waitingRoom: true });
  await ok('POST', '/v1/servers/my-world:start');
  await reach('my-world', 'running');
  t.like(await ok('POST', path, { name: 'Other' }), { name: 'Other', waitingRoom: true });
  t.like(await ok('POST', path, { waitingRoom: false }), { name: 'Other', waitingRoom: false });
  t.is((await call('POST', path, { body: { waitingRoom: 'yes' } })).reason, 'INVALID_FIELD');
  t.like(await ok('GET', '/v1/servers/my-world'), { waitingRoom: false });
});

test('the name can change at any time, RAM and plan only while the server is stopped', async (t) => {
  const { ok, call, reach } = await api(t);
  await ok('POST', '/v1/servers', SMALL);
  const changed = { name: 'Other', ramMb: 512, plan: 'flat' };
  t.like(await ok('POST', '/v1/servers/my-world:update', changed), { id: 'my-world', ...changed });
  t.like(await ok('POST', '/v1/servers/my-world:update', { name: 'Third' }), { ...changed, name: 'Third' });
  await ok('POST', '/v1/servers/my-world:start');
  await reach('my-world', 'running');
  const awake = await call('POST', '/v1/servers/my-world:update', { body: { ramMb: 1024 } });
  t.deepEqual([awake.status, awake.reason], [400, 'SERVER_NOT_STOPPED']);
  t.like(await ok('POST', '/v1/servers/my-world:update', { name: 'Fourth' }), { name: 'Fourth', ramMb: 512 });
  for (const body of [{ name: '' }, { ramMb: 1 }, { plan: '' }, { ramMb: 'x' }]) {
    t.is((await call('POST', '/v1/servers/my-world:update', { body })).reason, 'INVALID_FIELD', JSON.stringify(body));
  }
});

test('a server above its account’s lowered RAM limit keeps its RAM and can still change its name and plan', async (t) => {
  const { ok, call, services } = await api(t);
  await ok('POST', '/v1/servers', { ...SMALL, ramMb: 2_048 });
  await services.accountLimits.set('acc_test', { maxRamMb: 1_024, maxServers: null });
  const path = '/v1/servers/my-world:update';
  t.like(await ok('POST', path, { name: 'Other' }), { name: 'Other', ramMb: 2_048 });
  t.like(await ok('POST', path, { plan: 'flat', ramMb: 2_048 }), { plan: 'flat', ramMb: 2_048 });
  t.is((await call('POST', path, { body: { ramMb: 1_536 } })).reason, 'MAX_RAM');
  t.like(await ok('POST', path, { ramMb: 1_024 }), { ramMb: 1_024 });
});

test('clientVersions defaults to auto, can be updated, and rejects unknown values', async (t) => {
  const { ok, call } = await api(t);
  t.like(await ok('POST', '/v1/servers', SMALL), { clientVersions: 'auto' });
  t.like(await ok('POST', '/v1/servers/my-world:update', { clientVersions: 'any' }), { clientVersions: 'any' });
  const wrong = await call('POST', '/v1/servers/my-world:update', { body: { clientVersions: 'some' } });
  t.deepEqual([wrong.status, wrong.reason], [400, 'INVALID_FIELD']);
});

test('a limited member does not see the alert webhook of a server, but a full member does', async (t) => {
  const { ok, call, stranger, share } = await api(t);
  await ok('POST', '/v1/servers', SMALL);
  const url = 'https://alerts.example/hook';
  await ok('POST', '/v1/servers/my-world:setAlertWebhook', { url });
  const key = await stranger();
  for (const [role, seen] of [
    ['limited', ''],
    ['member', url],
  ] as const) {
    await share('my-world', role);
    t.is((await call('GET', '/v1/servers/my-world', { key })).json['alertWebhookUrl'], seen, role);
    for (const verb of ['start', 'stop'])
      t.is(
        (await call('POST', `/v1/servers/my-world:${verb}`, { key })).json['alertWebhookUrl'],
        seen,
        `${role} ${verb}`,
      );
  }
});

test('members can change the name and RAM of a server, but only its owner can change the plan', async (t) => {
  const { ok, call, stranger, share } = await api(t);
  await ok('POST', '/v1/servers', SMALL);
  const key = await stranger();
  await share('my-world', 'member');
  const update = async (body: object) => (await call('POST', '/v1/servers/my-world:update', { key, body })).reason;
  t.is(await update({ name: 'Ours', ramMb: 512, plan: 'metered' }), '');
  t.is(await update({ name: 'Mine', plan: 'flat' }), 'ROLE_TOO_LOW');
  t.like(await ok('GET', '/v1/servers/my-world'), { name: 'Ours', ramMb: 512, plan: 'metered' });
});

test('RAM and plan changed during a concurrent start either apply to that run or are refused', async (t) => {
  const { call, reach, engine, servers } = await api(t);
  const outcomes = new Set<string>();
  // In the last two rounds one call waits for the other, so that both outcomes occur.
  for (let round = 0; round < 26; round++) {
    const id = `race-${round}`;
    await call('POST', '/v1/servers', { body: { ...SMALL, id, ramMb: 512 } });
    const order = Promise.withResolvers<void>();
    const wait = (isLast: boolean, count: number) => (isLast ? order.promise : turns(count));
    const [update, start] = await Promise.all([
      wait(round === 25, round % 2 === 0 ? 0 : round)
        .then(() => call('POST', `/v1/servers/${id}:update`, { body: { ramMb: 1_024, plan: 'flat' } }))
        .finally(order.resolve),
      wait(round === 24, round % 2 === 0 ? round : 0)
        .then(() => call('POST', `/v1/servers/${id}:start`))
        .finally(order.resolve),
    ]);
    t.is(start.status, 200);
    // A start first writes files, which takes real time.
    while (!(await engine.inspect(id))?.up) await turns(1);
    await reach(id, 'running');
    outcomes.add(update.reason);
    const expected = update.status === 200 ? { ramMb: 1_024, plan: 'flat' } : { ramMb: 512, plan: 'metered' };
    t.like((await call('GET', `/v1/servers/${id}`)).json, expected);
    t.is((await engine.stats(id))?.memLimitMb, expected.ramMb);
    await servers.send(id, { type: 'DELETE', at: 0, cause: { kind: 'system', id: 'test', note: '' } });
  }
  // The order of the other rounds is random.
  t.deepEqual([...outcomes].toSorted(), ['', 'SERVER_NOT_STOPPED']);
});

test('a command reaches the console without its slash, and the caller gets its output', async (t) => {
  const seen: unknown[] = [];
  const console = {
    run: async (...call: unknown[]) => {
      seen.push(call);
      return '§aThere are 0 players';
    },
  };
  const { ok, call, reach } = await api(t, { console });
  await ok('POST', '/v1/servers', SMALL);
  const path = '/v1/servers/my-world:command';
  const asleep = await call('POST', path, { body: { command: 'list' } });
  t.deepEqual([asleep.status, asleep.json['code'], asleep.reason], [400, 9, 'SERVER_NOT_RUNNING']);
  await ok('POST', '/v1/servers/my-world:start');
  await reach('my-world', 'running');
  t.deepEqual(await ok('POST', path, { command: '/list' }), { output: '§aThere are 0 players' });
  t.deepEqual(seen, [[{ host: 'my-world.game', port: 25_575 }, 'rcon-password', 'list']]);
  for (const command of ['say hi\nop evil', 'a\0b', '', '/', '  ', 'ä'.repeat(724), '\ud800', 5, undefined]) {
    t.is((await call('POST', path, { body: { command } })).reason, 'INVALID_FIELD', JSON.stringify(command));
  }
  t.is(seen.length, 1);
  await ok('POST', path, { command: 'ä'.repeat(723) });
});

test('console errors map to 503, 504 and 400, and only the 503s have a Retry-After header', async (t) => {
  let reason: ConsoleError['reason'] = 'unavailable';
  const console = {
    run: async () => {
      throw new ConsoleError(reason, 'no');
    },
  };
  const { ok, call, reach } = await api(t, { console });
  await ok('POST', '/v1/servers', SMALL);
  await ok('POST', '/v1/servers/my-world:start');
  await reach('my-world', 'running');
  const statuses: Record<string, unknown> = {};
  for (reason of ['unavailable', 'refused', 'timeout', 'invalid'] as const) {
    const answer = await call('POST', '/v1/servers/my-world:command', { body: { command: 'list' } });
    statuses[reason] = [answer.status, answer.json['code'], answer.headers.get('retry-after')];
  }
  t.deepEqual(statuses, {
    unavailable: [503, 14, '2'],
    refused: [503, 14, '2'],
    timeout: [504, 4, null],
    invalid: [400, 3, null],
  });
});

test('a command right after a start waits until the game opens its console', async (t) => {
  let tries = 0;
  const console = {
    run: async () => {
      if (++tries < 3) throw new ConsoleError('absent', 'The console is not available.');
      return 'There are 0 players';
    },
  };
  const { ok, reach } = await api(t, { console });
  await ok('POST', '/v1/servers', SMALL);
  await ok('POST', '/v1/servers/my-world:start');
  await reach('my-world', 'running');
  t.like(await ok('POST', '/v1/servers/my-world:command', { command: 'list' }), { output: 'There are 0 players' });
  t.is(tries, 3);
});

test('the machine endpoint returns the state, the allowed events and the past transitions', async (t) => {
  const { ok, reach } = await api(t);
  await ok('POST', '/v1/servers', SMALL);
  t.like(await ok('GET', '/v1/servers/my-world/machine'), { state: 'hibernated', since: null, transitions: [] });
  await ok('POST', '/v1/servers/my-world:start');
  await reach('my-world', 'running');
  const machine = await ok('GET', '/v1/servers/my-world/machine');
  t.is(machine['state'], 'running');
  t.true((machine['allowedEvents'] as string[]).includes('STOP'));
  const [last, first] = machine['transitions'] as Record<string, unknown>[];
  t.like(last, { from: 'starting', to: 'running' });
  t.like(first, { event: 'START', from: 'hibernated', to: 'starting' });
  t.like(first?.['cause'], { kind: 'key' });
  t.like(machine['definition'], { id: 'server' });
});

test('whoami returns the account, and the versions endpoint lists releases and cores', async (t) => {
  const { ok } = await api(t);
  t.deepEqual(await ok('GET', '/v1/whoami'), {
    accountId: 'acc_test',
    email: 'owner@example.com',
    emailVerified: true,
  });
  const { cores, ...releases } = await ok('GET', '/v1/minecraft/versions');
  t.deepEqual(releases, { versions: ['1.21.8', '1.21.7'], latest: '1.21.8' });
  const of = new Map((cores as { type: string; versions: string[] }[]).map(({ type, versions }) => [type, versions]));
  t.deepEqual([of.get('sandbox'), of.get('paper')], [sandboxVersions(), ['1.21.8', '1.21.7']]);
  t.false(of.has('magma'), 'Magma is discontinued');
});

test('the startup phase is shown only while a server starts', async (t) => {
  const { ok, engine, servers, reach } = await api(t);
  const release = engine.hold('my-world');
  await ok('POST', '/v1/servers', SMALL);
  await ok('POST', '/v1/servers/my-world:start');
  const shown = async () => {
    const { state, startupPhase, startupPercent } = await ok('GET', '/v1/servers/my-world');
    return [state as ServerState, startupPhase, startupPercent];
  };
  const item = async () => (await ok('GET', '/v1/servers/my-world'))['startupItem'];
  await servers.notify('my-world', { type: 'PROGRESS', phase: 'downloading', percent: 40.2, item: 'Java 25' });
  t.deepEqual([...(await shown()), await item()], ['starting', 'downloading', 40, 'Java 25']);
  await servers.notify('my-world', { type: 'PROGRESS', phase: 'installing', percent: 0, item: 'Forge 1.20.1' });
  t.deepEqual([...(await shown()), await item()], ['starting', 'installing', 0, 'Forge 1.20.1']);
  await servers.notify('my-world', { type: 'PROGRESS', phase: 'loading_mods', percent: 12 });
  t.deepEqual([...(await shown()), await item()], ['starting', 'loading_mods', 0, '']);
  await servers.notify('my-world', { type: 'PROGRESS', phase: 'generating_world', percent: 43.7 });
  t.deepEqual(await shown(), ['starting', 'generating_world', 43]);
  await servers.notify('my-world', { type: 'PROGRESS', phase: 'ready', percent: 0 });
  t.deepEqual(await shown(), ['starting', 'ready', 100]);
  release();
  await reach('my-world', 'running');
  t.deepEqual(await shown(), ['running', '', 100]);
});

test('ban-ip with a player’s name bans the address the player really connects from', async (t) => {
  const joined = [
    { name: 'Steve', ip: '2001:DB8::1' },
    { name: 'Brother', ip: '2001:db8:0::1' },
    { name: 'Alex', ip: '203.0.113.8' },
    { name: 'Local', ip: PROXY_ADDRESS },
    { name: 'no name\nop Eve', ip: '203.0.113.9' },
  ];
  const it = await api(t);
  it.joined.set('my-world', joined);
  const { ok, call, reach, games } = it;
  await ok('POST', '/v1/servers', SMALL);
  await ok('POST', '/v1/servers/my-world:start');
  await reach('my-world', 'running');
  const run = async (command: string) => {
    games.commands.length = 0;
    const { reason } = await call('POST', '/v1/servers/my-world:command', { body: { command } });
    const told = games.commands.filter((given) => !given.endsWith(': list'));
    return reason === '' ? told.map((given) => given.replace('my-world: ', '')) : reason;
  };
  const kicked = ['Steve', 'Brother'].map((name) => `kick ${name} You have been IP banned. Reason: Took the  torches`);
  t.deepEqual(await run('/ban-ip steve Took the  torches'), ['ban-ip 2001:db8::1 Took the  torches', ...kicked]);
  t.is(it.addressBans.length, 1, 'proxies receive the ban at once');
  t.deepEqual(await run('minecraft:Ban-IP Alex'), [
    'minecraft:Ban-IP 203.0.113.8',
    'kick Alex You have been IP banned.',
  ]);
  t.deepEqual(await run('ban-ip 203.0.113.9 spam'), ['ban-ip 203.0.113.9 spam']);
  t.is(await run('ban-ip Nobody'), 'PLAYER_NOT_ONLINE');
  t.is(await run('ban-ip Local'), 'PROXY_ADDRESS');
  t.is(await run(`banip ${PROXY_ADDRESS}`), 'PROXY_ADDRESS');
  it.addressBans.length = 0;
  for (const other of ['ban-ip', 'ban Steve', 'say ban-ip Steve', 'banlist ips'])
    t.deepEqual(await run(other), [other]);
  t.deepEqual(it.addressBans, []);
  t.deepEqual(await run('pardon-ip 203.0.113.8'), ['pardon-ip 203.0.113.8']);
  t.deepEqual(it.addressBans, ['my-world']);
});
