import { mkdir, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { AuditRow } from '../../src/audit/audit.ts';
import { KEY_SCOPES } from '../../src/http/scopes.ts';
import type { TypedEvent } from '../../src/insight/events.ts';
import { Routing } from '../../src/joining/routing.ts';
import { createLog } from '../../src/kernel/log.ts';
import { Orphans } from '../../src/operators/orphans.ts';
import { Suspensions } from '../../src/operators/suspensions.ts';
import { insertServer } from '../../src/servers/rows.ts';
import { type Answer, type ApiTestOptions, type ApiUnderTest, api } from '../support/api-harness.ts';
import { OPEN_POLICY } from '../support/join-policy.ts';
import { STEVE, serverRow } from '../support/world.ts';

const MIB = 1_048_576;

interface NodeUnderTest extends ApiUnderTest {
  /** Calls as an operator. */
  operate: (path: string, body?: unknown) => Promise<Answer>;
  running: (id: string) => Promise<void>;
  /** Writes into a server's folder, as its game might. */
  fill: (id: string, name: string, bytes: number) => Promise<void>;
  /** Returns the kick message of a player who joins. */
  kicked: (id: string) => Promise<string>;
  actions: (accountId: string) => Promise<string[]>;
}

async function node(t: ExecutionContext, options: ApiTestOptions = {}): Promise<NodeUnderTest> {
  let filled = 0;
  const it = await api(t, { usedBytes: async () => 500e9 + filled, ...options });
  const { servers, clock, store, engine, dataDir } = it;
  await store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  const { key } = await it.mint(KEY_SCOPES);
  const log = createLog({ level: 'silent' });
  const routing = new Routing({
    servers,
    clock,
    log,
    publicHost: 'play.example',
    sleepers: [],
    joinPolicy: OPEN_POLICY,
  });
  t.teardown(() => routing.close());
  return {
    ...it,
    operate: (path, body) => it.call(body === undefined ? 'GET' : 'POST', `/v1/operator/${path}`, { key, body }),
    async running(id) {
      await it.until(() => engine.boots.includes(id));
      await it.reach(id, 'running');
    },
    async fill(id, name, bytes) {
      await mkdir(join(dataDir, 'servers', id), { recursive: true });
      await writeFile(join(dataDir, 'servers', id, name), '');
      await truncate(join(dataDir, 'servers', id, name), bytes);
      filled += bytes;
    },
    async kicked(id) {
      const player = { name: 'Steve', protocol: 769 } as Parameters<typeof routing.wake>[1];
      const error = await t.throwsAsync(routing.wake(id, player, AbortSignal.timeout(60_000)));
      return error.message;
    },
    async actions(accountId) {
      const sql = 'SELECT * FROM "audit" WHERE "accountId" = $1 ORDER BY "id"';
      const rows = await store.query<AuditRow>(sql, [accountId]);
      return rows.map((row) => `${row.action}: ${row.through}; ${row.detail}`);
    },
  };
}

test('a running server over its disk quota warns, saves and sleeps until space is freed', async (t) => {
  const it = await node(t, { diskQuota: [{ ramMb: Infinity, quotaMb: 40 }] });
  const { clock, servers, games } = it;
  await it.create('full');
  const events: TypedEvent[] = [];
  it.serverEvents.follow(
    (await servers.get('full'))!,
    { quota: {}, alert: null },
    '',
    (event) => void (event?.type === 'quota' && events.push(event)),
  );
  await it.command('full', 'START');
  await it.running('full');
  await it.fill('full', 'world', 41 * MIB);
  const shown = () => it.ok('GET', '/v1/servers/full');
  await it.until(async () => {
    await clock.advance(1_000);
    return (await shown())['quotaExceeded'] === true;
  });
  await it.until(() =>
    games.commands.includes("full: say This server's disk is full. It saves and goes to sleep in 10 seconds."),
  );
  t.is((await shown())['state'], 'running');
  // A restart counts as a new start.
  t.is((await it.call('POST', '/v1/servers/full:restart')).reason, 'QUOTA_EXCEEDED');
  await it.reach('full', 'hibernated');
  t.deepEqual(
    games.commands.filter((line) => !line.includes('say')),
    ['full: save-all flush', 'full: stop'],
  );
  t.like(await shown(), { diskUsageMb: '42', diskUsageKnown: true, diskQuotaEffectiveMb: '40', quotaExceeded: true });
  const machine = await it.ok('GET', '/v1/servers/full/machine');
  const [, stop] = machine['transitions'] as { cause: object }[];
  t.like(stop?.cause, { kind: 'system', id: 'quota' });

  const refused = await it.call('POST', '/v1/servers/full:start');
  t.deepEqual([refused.status, refused.json['code'], refused.reason], [400, 9, 'QUOTA_EXCEEDED']);
  t.is(refused.json['message'], 'The server uses 42 MB of disk. Its quota is 40 MB. Delete files, then try again.');
  t.is(await it.kicked('full'), "This server's disk is full. Ask its owner.");
  t.is(it.engine.boots.length, 1);

  // Delete the world directly in the folder: the start measures the disk usage itself.
  await rm(join(it.dataDir, 'servers/full/world'));
  t.is((await it.call('POST', '/v1/servers/full:start')).status, 200);
  await it.until(() => it.engine.boots.length === 2);
  await it.reach('full', 'running');
  t.deepEqual(
    events.map(({ data }) => (data as { quotaExceeded: boolean }).quotaExceeded),
    [true, false],
  );
  const actions = (await it.actions('acc_test')).filter((line) => line.startsWith('server.quota'));
  t.deepEqual(actions, [
    'server.quotaExceeded: system quota; 42 MB of 40 MB',
    'server.quotaFreed: system quota; 1 MB of 40 MB',
  ]);
});

test('freed disk space counts at once, and an operator’s larger quota allows a start', async (t) => {
  const it = await node(t, { diskQuota: [{ ramMb: Infinity, quotaMb: 4 }] });
  await it.create('full');
  await it.fill('full', 'a', 3 * MIB);
  await it.fill('full', 'b', 3 * MIB);
  // The folder may have been measured while it was empty.
  it.services.disk.freed('full');
  await it.until(async () => (await it.ok('GET', '/v1/servers/full'))['quotaExceeded'] === true);
  t.is((await it.call('POST', '/v1/servers/full:start')).reason, 'QUOTA_EXCEEDED');
  await rm(join(it.dataDir, 'servers/full/a'));
  it.services.disk.freed('full');
  await it.until(async () => (await it.ok('GET', '/v1/servers/full'))['quotaExceeded'] === false);

  const granted = await it.operate('servers/full:setDiskQuota', { quotaMb: 2, reason: 'less' });
  t.like(granted.json, { diskQuotaOverrideMb: '2', diskQuotaEffectiveMb: '2', quotaExceeded: true });
  t.is((await it.call('POST', '/v1/servers/full:start')).reason, 'QUOTA_EXCEEDED');
  await it.operate('servers/full:setDiskQuota', { quotaMb: 100, reason: 'large modpack' });
  t.is((await it.call('POST', '/v1/servers/full:start')).status, 200);
  await it.running('full');
  // Lower the quota while the server runs.
  await it.operate('servers/full:setDiskQuota', { quotaMb: 0, reason: 'as all' });
  t.is((await it.ok('GET', '/v1/servers/full'))['quotaExceeded'], false);
  await it.operate('servers/full:setDiskQuota', { quotaMb: 1, reason: 'no' });
  await it.reach('full', 'hibernated');
  t.true(
    (await it.actions('acc_test')).some((line) =>
      /^server\.setDiskQuota: key key_\w+; 100 MB: large modpack$/.test(line),
    ),
  );
  const bad = [
    { quotaMb: -1, reason: 'x' },
    { quotaMb: 1, reason: ' ' },
    { reason: 'x' },
    { quotaMb: 1.5, reason: 'x' },
  ];
  for (const body of bad) t.is((await it.operate('servers/full:setDiskQuota', body)).status, 400);
  t.is((await it.operate('servers/none:setDiskQuota', { quotaMb: 1, reason: 'x' })).reason, 'SERVER_NOT_FOUND');
});

test('a quota below a sleeping server’s disk usage applies at once, even if that was never measured', async (t) => {
  const it = await node(t, {});
  await it.create('full');
  await it.fill('full', 'world', 3 * MIB);
  const lowered = await it.operate('servers/full:setDiskQuota', { quotaMb: 1, reason: 'less' });
  t.like(lowered.json, { diskQuotaEffectiveMb: '1', diskUsageMb: '3', quotaExceeded: true });
  t.like(await it.ok('GET', '/v1/servers/full'), { quotaExceeded: true });
  const actions = (await it.actions('acc_test')).filter((line) => line.startsWith('server.quota'));
  t.deepEqual(actions, ['server.quotaExceeded: system quota; 3 MB of 1 MB']);
});

test('a server far over its disk quota stops without grace, and is killed if it keeps growing', async (t) => {
  const it = await node(t, { diskQuota: [{ ramMb: Infinity, quotaMb: 4 }] });
  await it.create('fast');
  it.engine.script('fast', { ignoreStop: true });
  await it.command('fast', 'START');
  await it.running('fast');
  it.games.silent.add('fast');
  await it.fill('fast', 'world', 80 * MIB);
  const begun = it.clock.now();
  await it.reach('fast', 'stopping');
  t.true(it.clock.now() - begun < 10_000);
  await it.fill('fast', 'more', 480 * MIB);
  const stopping = it.clock.now();
  await it.reach('fast', 'hibernated');
  t.true(it.clock.now() - stopping < 40_000, 'killed before the usual stop limit');
  const actions = (await it.actions('acc_test')).filter((line) => line.includes('server.kill'));
  t.deepEqual(actions, ['server.kill: system quota; ']);
});

test('50 parallel creates for an account’s last server create exactly one', async (t) => {
  const it = await node(t, { config: { maxServersPerAccount: 3 } });
  await it.create('one');
  await it.create('two');
  const create = (nth: number) => it.call('POST', '/v1/servers', { body: { name: `Race ${nth}`, ramMb: 256 } });
  const answers = await Promise.all(Array.from({ length: 50 }, (_, nth) => create(nth)));
  t.is(answers.filter(({ status }) => status === 200).length, 1);
  t.is(answers.filter(({ status, reason }) => status === 429 && reason === 'MAX_SERVERS').length, 49);
  t.is((await it.servers.listByAccount('acc_test')).length, 3);
});

test('a suspended server stops, shows the reason to its owner, and cannot start until it is unsuspended', async (t) => {
  const it = await node(t);
  await it.create('bad');
  await it.command('bad', 'JOIN', STEVE);
  await it.running('bad');
  const suspended = await it.operate('servers/bad:suspend', { reason: 'abuse report 4711' });
  t.like(suspended.json, {
    state: 'stopping',
    startErrorCode: 'suspended',
    startErrorSummary: 'Suspended: abuse report 4711',
    startError: 'Suspended: abuse report 4711',
  });
  await it.reach('bad', 'hibernated');
  t.is(await it.kicked('bad'), 'This server is suspended by the host. Ask its owner.');
  t.true(it.games.commands.includes('bad: say This server is suspended. It saves and stops now.'));
  t.true(it.games.commands.includes('bad: save-all flush'));
  const refused = await it.call('POST', '/v1/servers/bad:start');
  t.deepEqual([refused.status, refused.reason], [400, 'SERVER_SUSPENDED']);
  t.is(refused.json['message'], 'The server is suspended by the operator: abuse report 4711');
  t.notRegex(await it.kicked('bad'), /4711/);
  t.is(it.engine.boots.length, 1);

  await it.operate('servers/bad:unsuspend', { reason: 'settled' });
  t.like(await it.ok('GET', '/v1/servers/bad'), { startErrorCode: '', startErrorSummary: '' });
  t.is((await it.call('POST', '/v1/servers/bad:start')).status, 200);
  const actions = (await it.actions('acc_test')).filter((line) => /^server\.(un)?suspend:/.test(line));
  t.is(actions.length, 2);
  t.regex(
    actions.join('\n'),
    /server\.suspend: key key_\w+; abuse report 4711\nserver\.unsuspend: key key_\w+; settled/,
  );
  t.is((await it.operate('servers/none:suspend', { reason: 'x' })).reason, 'SERVER_NOT_FOUND');
});

test('suspending a stopping server cancels its queued restart and refuses a new one', async (t) => {
  const it = await node(t);
  await it.create('slow');
  it.engine.script('slow', { ignoreStop: true });
  await it.command('slow', 'START');
  await it.running('slow');
  it.games.silent.add('slow');
  await it.command('slow', 'RESTART');
  t.truthy((await it.servers.get('slow'))?.context.queued);
  await it.operate('servers/slow:suspend', { reason: 'abuse' });
  t.is((await it.servers.get('slow'))?.state, 'stopping');
  t.is((await it.call('POST', '/v1/servers/slow:restart')).reason, 'SERVER_SUSPENDED');
  t.regex(await it.kicked('slow'), /^This server is suspended by the host/);
  await it.reach('slow', 'hibernated');
  t.is(it.engine.boots.length, 1);
});

test('a suspended server, or one over its quota, cannot retry its install', async (t) => {
  const it = await node(t, { diskQuota: [{ ramMb: Infinity, quotaMb: 4 }] });
  it.engine.script('pack', { refuse: 'install_failed' });
  await it.create('pack', { type: 'fabric', modpackPlatform: 'modrinth', modpackRef: 'a-pack' });
  await it.until(async () => (await it.servers.get('pack'))?.state === 'install_failed');
  await it.fill('pack', 'mods', 5 * MIB);
  const retry = async () => (await it.call('POST', '/v1/servers/pack:retryInstall')).reason;
  await it.until(async () => (await retry()) === 'QUOTA_EXCEEDED');
  await rm(join(it.dataDir, 'servers/pack/mods'));
  await it.operate('servers/pack:suspend', { reason: 'abuse' });
  t.is(await retry(), 'SERVER_SUSPENDED');
  await it.operate('servers/pack:unsuspend', { reason: 'settled' });
  t.is(await retry(), '');
});

test('a suspension survives a restart, even if the service died before the server’s stop', async (t) => {
  const it = await node(t);
  await it.create('bad');
  await it.create('asleep');
  await it.command('bad', 'START');
  await it.running('bad');
  // Store only the suspensions, as if the service died after this first write.
  const row = { reason: 'abuse', userId: 'usr_test', at: it.clock.now() };
  for (const serverId of ['bad', 'asleep']) await it.services.suspensions.set({ serverId, ...row }, async () => {});
  const again = await Suspensions.open(it.store, it.clock, it.servers);
  await it.reach('bad', 'hibernated');
  t.is(again.of('asleep')?.reason, 'abuse');
  await it.command('asleep', 'DELETE');
  await it.reach('asleep', 'gone');
  await it.until(() => again.of('asleep') === undefined);
  await it.until(async () => {
    const rows = await it.store.query(`SELECT * FROM "suspensions" WHERE "serverId" = 'asleep'`);
    return rows.length === 0;
  });
  t.pass();
});

test('a drained node refuses starts and new servers, while awake servers stay and can restart', async (t) => {
  const it = await node(t);
  await it.create('awake');
  await it.create('asleep');
  await it.command('awake', 'START');
  await it.running('awake');
  t.like((await it.operate('nodes')).json, { nodes: [{ node: 'node-1', reachable: true, drained: false }] });
  const drained = await it.operate('nodes:drain', { node: 'node-1', reason: 'new disks' });
  t.like(drained.json, { drained: true, drainReason: 'new disks', drainedAt: new Date(it.clock.now()).toISOString() });
  const refused = await it.call('POST', '/v1/servers/asleep:start');
  t.deepEqual([refused.status, refused.reason], [400, 'NODE_DRAINED']);
  t.is(refused.json['message'], 'Starts on node-1 are paused: new disks');
  t.is(await it.kicked('asleep'), 'Starts are paused here. Try again later.');
  const created = await it.call('POST', '/v1/servers', { body: { name: 'New', ramMb: 256 } });
  t.deepEqual([created.status, created.reason], [400, 'REGION_UNAVAILABLE']);
  t.like(await it.ok('GET', '/v1/capacity'), { available: false, activeServers: 1 });
  t.like(await it.ok('GET', '/v1/regions'), { regions: [{ available: false }] });
  t.is((await it.call('POST', '/v1/servers/awake:restart')).status, 200);
  await it.reach('awake', 'running');
  // The drain is stored for the next run of the service.
  const kept = await it.store.query<{ value: string }>(`SELECT "value" FROM "meta" WHERE "key" = 'node-drain'`);
  t.is(kept.length, 1);
  t.is((await it.operate('nodes:drain', { node: 'node-2', reason: 'x' })).reason, 'NODE_NOT_FOUND');
  t.like((await it.operate('nodes:resume', { node: 'node-1', reason: 'done' })).json, {
    drained: false,
    drainedAt: null,
  });
  t.is((await it.call('POST', '/v1/servers/asleep:start')).status, 200);
  t.like(await it.ok('GET', '/v1/capacity'), { available: true });
  const actions = (await it.actions('acc_test')).filter((line) => line.startsWith('node.'));
  t.is(actions.length, 2);
  t.regex(actions[0] ?? '', /^node\.drain: key key_\w+; node-1: new disks$/);
});

test('an operator can list and remove orphans, but not the files of an existing server', async (t) => {
  const it = await node(t);
  await it.create('mine');
  await it.fill('mine', 'world', 10);
  await it.fill('lost', 'world', 10);
  await mkdir(join(it.dataDir, 'backups/lost'), { recursive: true });
  await writeFile(join(it.dataDir, 'servers/README'), 'not a folder');
  // A game of an earlier run, with a lost database.
  const spec = {
    serverId: 'lost',
    core: 'sandbox',
    version: '1.21.4',
    ramMb: 256,
    cpus: 1,
    ports: [],
    image: '',
    dataDir: '/',
    env: {},
  };
  await it.engine.boot(spec, AbortSignal.timeout(60_000));
  const list = async () => {
    const { orphans } = (await it.operate('orphans')).json as { orphans: { kind: string; id: string; up: boolean }[] };
    return orphans.map(({ kind, id, up }) => `${kind} ${id}${up ? ' up' : ''}`);
  };
  t.deepEqual(await list(), ['game lost up', 'data lost', 'backups lost']);
  const remove = async (kind: string, id: string) => {
    const { reason, status } = await it.operate('orphans:remove', { kind, id, reason: 'left in 2024' });
    return reason || status;
  };
  t.is(await remove('data', 'lost'), 'ORPHAN_IN_USE');
  t.is(await remove('game', 'lost'), 200);
  t.is(await remove('data', 'lost'), 200);
  for (const [kind, id] of [
    ['data', 'mine'],
    ['data', 'lost'],
    ['data', '../servers/mine'],
    ['data', '..'],
    ['servers', 'mine'],
    ['__proto__', 'mine'],
    ['backups', 'mine'],
    ['game', 'mine'],
  ] as const) {
    t.is(await remove(kind, id), 'ORPHAN_NOT_FOUND', `${kind} ${id}`);
  }
  t.deepEqual(await list(), ['backups lost']);
  await it.until(async () => (await readdir(join(it.dataDir, 'servers'))).every((name) => !name.startsWith('.')));
  t.true((await readdir(join(it.dataDir, 'servers/mine'))).includes('world'));
  t.is((await it.engine.list()).length, 0);
  const actions = (await it.actions('acc_test')).filter((line) => line.startsWith('orphan'));
  t.regex(
    actions.join('\n'),
    /^orphan\.remove: key key_\w+; game lost: left in 2024\norphan\.remove: .*; data lost: left in 2024$/,
  );

  // While the engine is away, a game may still use the files.
  it.engine.away();
  const away = (await it.operate('orphans')).json;
  t.deepEqual(away['unread'], ['game']);
  t.is(await remove('backups', 'lost'), 'NODE_UNREACHABLE');
});

test('the previous and staged folders of an existing server are not orphans', async (t) => {
  const it = await node(t);
  await it.create('lobby');
  for (const name of ['lobby', 'lobby.previous', 'lobby.staged', 'lost.previous']) await it.fill(name, 'world', 10);
  const list = async () => (await it.operate('orphans')).json['orphans'] as { kind: string; id: string }[];
  const remove = async (id: string) => {
    const { reason, status } = await it.operate('orphans:remove', { kind: 'data', id, reason: 'x' });
    return reason || status;
  };
  t.like(await list(), [{ kind: 'data', id: 'lost.previous' }]);
  t.is((await list()).length, 1);
  t.is(await remove('lobby.previous'), 'ORPHAN_NOT_FOUND');
  const late = it.services.orphans.remove('data', 'lost.previous', async () => {});
  await it.store.write((tx) => insertServer(tx, serverRow('lost', 'acc_test', { snapshot: '{}' })));
  await t.throwsAsync(late, { message: /no such orphan/ });
  const kept = (await readdir(join(it.dataDir, 'servers'))).toSorted();
  t.deepEqual(kept, ['lobby', 'lobby.previous', 'lobby.staged', 'lost.previous']);
});

test('a folder is no orphan once a server has its name, and a restart finishes an interrupted removal', async (t) => {
  const it = await node(t);
  await it.fill('lost', 'world', 10);
  await it.fill('.removing-old-aaaa', 'world', 10);
  await it.store.write((tx) => insertServer(tx, serverRow('lost', 'acc_test', { snapshot: '{}' })));
  const { orphans } = it.services;
  const late = orphans.remove('data', 'lost', async () => {});
  await t.throwsAsync(late, { message: /no such orphan/ });
  await Orphans.open({ ...it, log: it.services.log });
  await it.until(async () => (await readdir(join(it.dataDir, 'servers'))).join() === 'lost');
  t.pass();
});

test('while the engine is unreachable, running servers keep their state, and starts fail until it returns', async (t) => {
  const it = await node(t);
  await it.create('awake');
  await it.create('asleep');
  await it.command('awake', 'START');
  await it.running('awake');
  it.engine.away();
  await it.clock.advance(120_000);
  const state = async (id: string) => (await it.ok('GET', `/v1/servers/${id}`))['state'];
  t.is(await state('awake'), 'running');
  t.like(await it.ok('GET', '/v1/servers'), { servers: [{ state: 'hibernated' }, { state: 'running' }] });
  t.like((await it.operate('nodes')).json, { nodes: [{ reachable: false, capacity: { available: false } }] });
  t.like(await it.ok('GET', '/v1/regions'), { regions: [{ available: false }] });
  const refused = await it.call('POST', '/v1/servers/asleep:start');
  t.deepEqual([refused.status, refused.reason], [503, 'NODE_UNREACHABLE']);
  t.is(refused.headers.get('retry-after'), '2');
  t.is((await it.call('POST', '/v1/servers/awake:restart')).reason, 'NODE_UNREACHABLE');
  t.is(await state('asleep'), 'hibernated');
  const reads = ['/logs', '/logs/stream', '/metrics', '/diagnostics', '/machine', '/audit', '/usage', '/events/stream'];
  for (const path of reads) {
    const { status, reason } = await it.call('GET', `/v1/servers/awake${path}`);
    t.true(status === 200 || status === 503, `${path}: ${status} ${reason}`);
  }
  // A stop is accepted now and carried out once the engine is back.
  t.is((await it.call('POST', '/v1/servers/awake:stop')).status, 200);
  await it.clock.advance(20_000);
  t.is(await state('awake'), 'stopping');
  it.engine.back();
  await it.reach('awake', 'hibernated');
  t.is((await it.call('POST', '/v1/servers/asleep:start')).status, 200);
  await it.running('asleep');
  t.deepEqual([...it.engine.boots], ['awake', 'asleep']);
});

test('a node that cannot confine games refuses uploaded code, and only operators see the fix', async (t) => {
  const it = await node(t, { trusted: { refusal: 'Games run as root: run chmod o+x /root.' } });
  const body = { name: 'Mine', ramMb: 2_048, type: 'paper', version: '1.21.8' };
  const own = await it.call('POST', '/v1/servers', { body });
  t.like(own, { status: 403, reason: 'UPLOADED_CODE_NOT_ALLOWED' });
  t.is(own.json['message'], 'Games run as root: run chmod o+x /root.');
  const others = await it.call('POST', '/v1/servers', { key: await it.stranger(), body });
  t.like(others, { status: 403, reason: 'UPLOADED_CODE_NOT_ALLOWED' });
  t.regex(String(others.json['message']), /^Only the type sandbox is available here\. The operator can find the fix/);
});

test('on a process engine, only operators can run uploaded code', async (t) => {
  const it = await node(t, { trusted: 'operators' });
  const stranger = await it.stranger();
  const create = (key: string, fields: object) =>
    it.call('POST', '/v1/servers', { key, body: { name: 'Mine', ramMb: 2_048, ...fields } });
  const java = { type: 'paper', version: '1.21.8' };
  for (const refused of [
    await create(stranger, java),
    await create(stranger, { type: 'custom', version: '1.21.8' }),
    await create(stranger, { type: 'fabric', modpackPlatform: 'modrinth', modpackRef: 'pack' }),
  ]) {
    t.like(refused, { status: 403, reason: 'UPLOADED_CODE_NOT_ALLOWED' });
    t.regex(String(refused.json['message']), /only operators can have them\. .*sandbox/);
  }
  t.is((await create(stranger, { id: 'lobby' })).status, 200);
  const changed = await it.call('POST', '/v1/servers/lobby:updateVersion', { key: stranger, body: java });
  t.like(changed, { status: 403, reason: 'UPLOADED_CODE_NOT_ALLOWED' });
  t.is((await it.call('POST', '/v1/servers/lobby:start', { key: stranger })).status, 200);
  t.is((await create(it.key, { ...java, id: 'ours' })).status, 200);
  t.is((await it.call('POST', '/v1/servers/ours:start')).status, 200);
  t.is((await create(it.key, { type: 'custom', version: '1.21.8', id: 'own-jar' })).status, 200);
  // A server created under other rules.
  await it.create('old', { accountId: 'acc_other', ...java, ramMb: 2_048 });
  const started = await it.call('POST', '/v1/servers/old:start', { key: stranger });
  t.like(started, { status: 403, reason: 'UPLOADED_CODE_NOT_ALLOWED' });
  t.is(await it.kicked('old'), "This host can't run this type of server. Ask its owner.");
  t.false(it.engine.boots.includes('old'));
});

test('on a process engine, a member of an operator’s server cannot put code into its files', async (t) => {
  const it = await node(t, { trusted: 'operators' });
  const stranger = await it.stranger();
  await it.create('ours', { type: 'paper', version: '1.21.8', ramMb: 2_048 });
  await it.share('ours', 'member');
  const file = '/v1/servers/ours/file?path=plugins/evil.jar';
  for (const [path, body] of [
    ['/v1/servers/ours/file', { path: 'plugins/evil.jar', content: 'AAAA' }],
    ['/v1/servers/ours/mods', { projectId: 'evil' }],
    ['/v1/servers/ours:setModpack', { platform: 'modrinth', ref: 'evil' }],
  ] as const)
    t.like(await it.call('POST', path, { key: stranger, body }), { status: 403, reason: 'UPLOADED_CODE_NOT_ALLOWED' });
  t.is((await it.call('GET', file, { key: stranger })).status, 404);
  t.is((await it.call('GET', '/v1/servers/ours/mods', { key: stranger })).status, 200);
  const own = { path: 'plugins/own.jar', content: 'AAAA' };
  t.is((await it.call('POST', '/v1/servers/ours/file', { body: own })).status, 200);
});
