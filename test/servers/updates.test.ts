import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { CoreBuilds } from '../../src/engines/process/cores/core-builds.ts';
import { noteBuild } from '../../src/game/installed-build.ts';
import { createClosers } from '../../src/kernel/closers.ts';
import { createLog } from '../../src/kernel/log.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { HOUR_MS } from '../../src/kernel/units.ts';
import type { PendingUpdate, ServerRow } from '../../src/servers/rows.ts';
import { Updates } from '../../src/servers/updates.ts';
import { type ApiTestOptions, api } from '../support/api-harness.ts';
import { plant } from '../support/tree.ts';
import { STEVE, world } from '../support/world.ts';

const PAPER = { type: 'paper', version: '1.21.8', ramMb: 1_024 } as const;
const FAILS = { print: ['[12:00:00 ERROR]: Encountered an unexpected exception'], exitCode: 1 };
const WORKS = {};

const NEWER: PendingUpdate = {
  from: { type: 'paper', version: '1.21.8', build: '60' },
  to: { type: 'paper', version: '1.21.8', build: '61' },
  backupId: '',
  automatic: true,
  modsWithoutVersion: [],
};

/** A sleeping Paper server `abc` with a world, on the recorded build 60. `newest` is the build that its source offers. */
async function paper(t: ExecutionContext, fields: Partial<ServerRow> = {}, options: ApiTestOptions = {}) {
  const source = { newest: '60' as string | undefined, asked: 0, fetched: [] as string[] };
  const builds: CoreBuilds = {
    newest: async () => {
      source.asked += 1;
      return source.newest;
    },
    fetch: async ({ build }) => void source.fetched.push(build),
  };
  const it = await api(t, { builds, ...options });
  await it.create('abc', { ...PAPER, ...fields });
  const root = join(it.dataDir, 'servers/abc');
  await plant(root, { 'world/level.dat': 'old', 'plugins/shop.jar': 'shop 1' });
  await noteBuild(root, { ...PAPER, modpackPlatform: '' }, { tenant: 'acc_test', build: '60' });
  const server = () => it.ok('GET', '/v1/servers/abc');
  const row = async () => (await it.servers.get('abc'))!.row;
  const audited = async (action: string) => {
    const { entries } = (await it.ok('GET', '/v1/servers/abc/audit')) as {
      entries?: { action: string; detail: string }[];
    };
    return (entries ?? []).filter((entry) => entry.action === action).map(({ detail }) => detail);
  };
  const wake = async (state: 'running' | 'start_failed') => {
    await it.command('abc', 'START');
    await it.reach('abc', state);
    return it.engine.specs.at(-1)?.build;
  };
  const sleep = async () => {
    await it.command('abc', 'STOP');
    await it.reach('abc', 'hibernated');
  };
  const update = (body: object) => it.ok('POST', '/v1/servers/abc:updateVersion', body);
  const pinned = async () =>
    (JSON.parse(await readFile(join(root, '.dormouse-build.json'), 'utf8')) as { build: string }).build;
  return { ...it, source, root, server, row, audited, wake, sleep, update, pinned };
}

test('an update says what changes, and a dry run changes nothing', async (t) => {
  const it = await paper(t);
  it.source.newest = '5';
  const update = {
    from: { type: 'paper', version: '1.21.8', build: '60' },
    to: { type: 'paper', version: '1.21.11', build: '5' },
    backupId: '',
    automatic: false,
    modsWithoutVersion: [],
  };
  t.deepEqual((await it.update({ version: '1.21.11', dryRun: true }))['update'], update);
  t.like(await it.server(), { version: '1.21.8', update: null });
  t.deepEqual((await it.ok('GET', '/v1/servers/abc/backups'))['backups'], []);
  const changed = await it.update({ version: '1.21.11' });
  const { backups } = (await it.ok('GET', '/v1/servers/abc/backups')) as { backups: { id: string; label: string }[] };
  t.deepEqual(
    backups.map(({ label }) => label),
    ['before the update to Paper 1.21.11 build 5'],
  );
  t.deepEqual(changed['update'], { ...update, backupId: backups[0]?.id });
  t.regex((await it.audited('server.version'))[0] ?? '', /paper 1\.21\.8 → paper 1\.21\.11 build 5$/);
  const { servers } = (await it.ok('GET', '/v1/servers')) as { servers: object[] };
  t.like(servers, [{ id: 'abc', update: { ...update, backupId: backups[0]?.id } }]);
  t.is(await it.wake('running'), '5');
  t.is(await it.pinned(), '5');
  await it.command('abc', 'KILL');
  await it.reach('abc', 'hibernated');
  t.not((await it.server())['update'], null, 'a killed run proves nothing');
  await it.wake('running');
  await it.sleep();
  t.is((await it.server())['update'], null, 'a run has ended in order');
});

test('a source that does not respond leaves the build open, and the update goes on', async (t) => {
  const newest = async () => {
    throw new StatusError('UNAVAILABLE', 'REGISTRY_UNAVAILABLE', 'no answer');
  };
  const it = await paper(t, {}, { builds: { newest } });
  const { update } = (await it.update({ version: '1.21.11' })) as { update: { to: object } };
  t.deepEqual(update.to, { type: 'paper', version: '1.21.11', build: '' });
  t.is(await it.wake('running'), undefined, 'the engine chooses');
});

test('if the backup fails, the update is refused with the reason', async (t) => {
  const it = await paper(t, {}, { world: { room: { quotaBytes: 10 } } });
  const { status, reason, text } = await it.call('POST', '/v1/servers/abc:updateVersion', {
    body: { version: '1.21.11' },
  });
  t.deepEqual([status, reason], [400, 'BACKUP_FAILED']);
  t.regex(text, /The backup failed, so nothing was changed: /);
  t.like(await it.server(), { version: '1.21.8', update: null });
  t.is(await it.pinned(), '60');
});

test('after a failed start, the backup leads back to the version, the build, the files and the mods', async (t) => {
  const it = await paper(t);
  await it.update({ version: '1.21.11' });
  await plant(it.root, { 'world/level.dat': 'upgraded', 'plugins/shop.jar': 'shop 2' });
  it.engine.script('abc', FAILS);
  await it.wake('start_failed');
  // Another version does not help either. The way back still leads to the software that ran last.
  const again = (await it.update({ version: '1.21.10' })) as { update: { from: object; backupId: string } };
  t.like(again.update.from, { version: '1.21.8', build: '60' });
  await it.wake('start_failed');
  const { backupId } = again.update;
  await it.during(it.ok('POST', `/v1/servers/abc/backups/${backupId}:restore`));
  t.like(await it.server(), { state: 'hibernated', version: '1.21.8', update: null, startErrorSummary: '' });
  t.is(await readFile(join(it.root, 'world/level.dat'), 'utf8'), 'old');
  t.is(await readFile(join(it.root, 'plugins/shop.jar'), 'utf8'), 'shop 1');
  it.engine.script('abc', WORKS);
  t.is(await it.wake('running'), '60');
});

test('the pages show an update before it is confirmed, and lead back after its failure', async (t) => {
  const it = await paper(t, {}, { site: '127.0.0.1' });
  it.source.newest = '5';
  const owner = await it.browser('usr_test');
  const headers = { accept: 'text/html' };
  const page = async (path: string) => (await owner.call('GET', `/servers/abc${path}`, { headers })).text;
  const submit = async (path: string, fields: Record<string, string> = {}) => {
    const body = new URLSearchParams({ csrf: owner.csrf, ...fields });
    const sent = { cookie: owner.cookie, origin: it.origin, ...headers };
    const to = `${it.origin}/servers/abc${path}`;
    return (await fetch(to, { method: 'POST', redirect: 'manual', headers: sent, body })).status;
  };
  t.notRegex(await page('/settings/version'), /The last update/);
  t.regex(await page('/settings/version?type=paper&version=1.21.11'), /Build: from 60 to 5\./);
  t.is(await submit('/settings/version/change', { type: 'paper', version: '1.21.11' }), 303);
  // A busy machine takes longer than the page waits.
  await it.until(async () => (await it.row()).pendingUpdate !== null);
  t.regex(await page('/settings/version'), /From Paper 1\.21\.8 build 60 to <b>Paper 1\.21\.11 build 5<\/b>/);
  t.regex(await page(''), /Paper 1\.21\.11 build 5 <small>updated from Paper 1\.21\.8 build 60/);
  t.regex(await page('/backups'), /before the update to Paper 1\.21\.11 build 5 ·/);
  it.engine.script('abc', FAILS);
  await it.wake('start_failed');
  t.regex(await page(''), /<summary>Back to 1\.21\.8</);
  t.is(await it.during(submit('/back')), 303);
  await it.until(async () => (await it.row()).version === '1.21.8');
  t.notRegex(await page(''), /Back to/);
  t.is(await submit('/settings/version/builds', { builds: 'latest-when-asleep' }), 303);
  t.regex(await page('/settings/version'), /value="latest-when-asleep" checked/);
  t.is(await submit('/settings/version/builds', { builds: 'nightly' }), 400);
  await it.servers.patch('abc', { refusedBuild: '61' });
  t.regex(await page(''), /build 61 failed and was taken back/);
  t.regex(await page('/settings/version'), /Build 61 failed to start, so the server runs the build before it again/);
});

test('the backup from before an update is kept until a run confirms the update', async (t) => {
  const it = await paper(t);
  await it.ok('POST', '/v1/servers/abc/backups:setRetention', {
    keepLast: 1,
    daily: 0,
    weekly: 0,
    hourly: 0,
    monthly: 0,
  });
  const { update } = (await it.update({ version: '1.21.11' })) as { update: { backupId: string } };
  const make = async () => {
    const { id } = (await it.ok('POST', '/v1/servers/abc/backups')) as { id: string };
    await it.services.backups.finished({ serverId: 'abc', id }, AbortSignal.timeout(60_000));
  };
  const ids = async () => (await it.services.backups.list('abc')).map(({ id }) => id);
  await it.clock.advance(60_000);
  await make();
  t.true((await ids()).includes(update.backupId));
  await it.wake('running');
  await it.sleep();
  await it.clock.advance(60_000);
  await make();
  await it.until(async () => !(await ids()).includes(update.backupId));
});

test('an update of a running server is refused before its sources are asked', async (t) => {
  const it = await paper(t);
  await it.wake('running');
  const { status, reason } = await it.call('POST', '/v1/servers/abc:updateVersion', { body: { version: '1.21.11' } });
  t.deepEqual([status, reason, it.source.asked], [400, 'SERVER_NOT_STOPPED', 0]);
  t.is(((await it.update({ version: '1.21.11', dryRun: true })) as { version: string }).version, '1.21.11');
});

test('a build that is adopted during an update gives way to it, and builds: pinned gives it up', async (t) => {
  const adopt = () => it.servers.patch('abc', { pendingUpdate: NEWER });
  const newest = async () => {
    await adopt();
    return '61';
  };
  const it = await paper(t, { builds: 'latest-when-asleep' }, { builds: { newest } });
  await it.update({ version: '1.21.11' });
  t.like((await it.row()).pendingUpdate, { automatic: false, to: { version: '1.21.11' } });
  await adopt();
  await it.ok('POST', '/v1/servers/abc:update', { builds: 'pinned' });
  t.is((await it.row()).pendingUpdate, null);
});

test('an update after one without a backup leads back to the software whose files it backs up', async (t) => {
  const it = await paper(t, { pendingUpdate: { ...NEWER, automatic: false } });
  await noteBuild(it.root, { ...PAPER, modpackPlatform: '' }, { tenant: 'acc_test', build: '61' });
  const { update } = (await it.update({ version: '1.21.11' })) as { update: PendingUpdate };
  t.deepEqual(update.from, { type: 'paper', version: '1.21.8', build: '61' });
  t.not(update.backupId, '');
});

test('two updates at once: the second is refused', async (t) => {
  const it = await paper(t);
  const both = ['1.21.10', '1.21.11'].map((version) =>
    it.call('POST', '/v1/servers/abc:updateVersion', { body: { version } }),
  );
  const answers = await Promise.all(both);
  t.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 409],
  );
  t.is(answers.find(({ status }) => status === 409)?.reason, 'OPERATION_IN_PROGRESS');
});

test('builds: latest-when-asleep adopts a newer build when the server goes to sleep, and while it sleeps', async (t) => {
  const it = await paper(t);
  await it.ok('POST', '/v1/servers/abc:update', { builds: 'latest-when-asleep' });
  t.is(await it.wake('running'), '60');
  it.source.newest = '61';
  await it.ok('POST', '/v1/servers/abc:keepAwake', { minutes: 600 });
  await it.clock.advance(2 * HOUR_MS);
  t.is((await it.row()).pendingUpdate, null, 'not while it is awake');
  await it.sleep();
  await it.until(async () => (await it.row()).pendingUpdate?.to.build === '61');
  it.source.newest = '62';
  await it.clock.advance(HOUR_MS);
  await it.until(async () => (await it.row()).pendingUpdate?.to.build === '62');
  t.deepEqual(it.source.fetched, ['61', '62'], 'downloaded before it is adopted');
  const { backups } = (await it.ok('GET', '/v1/servers/abc/backups')) as { backups: { id: string; label: string }[] };
  t.deepEqual(
    backups.map(({ label }) => label),
    ['before the update to Paper 1.21.8 build 61'],
    'one backup, because the server did not run in between',
  );
  t.is((await it.row()).pendingUpdate?.backupId, backups[0]?.id);
  t.is(await it.pinned(), '60');
  t.is(await it.wake('running'), '62');
  t.is(await it.pinned(), '62');
  await it.sleep();
  await it.until(async () => (await it.row()).pendingUpdate === null);
  t.regex((await it.audited('server.newBuild'))[0] ?? '', /^paper 1\.21\.8, build 60 → 62$/);
});

test('builds: a server that cannot be backed up keeps its build, and tries again a day later', async (t) => {
  const it = await paper(t, { builds: 'latest-when-asleep' }, { world: { room: { quotaBytes: 10 } } });
  it.source.newest = '61';
  await it.clock.advance(HOUR_MS);
  await it.until(() => it.source.fetched.length > 0);
  const backups = () => it.store.query('SELECT * FROM "backups"');
  await it.until(async () => (await backups()).length > 0);
  for (let hours = 0; hours < 3; hours++) await it.clock.advance(HOUR_MS);
  t.is((await backups()).length, 1);
  await it.clock.advance(24 * HOUR_MS);
  await it.until(() => it.source.fetched.length > 1);
  t.is((await it.row()).pendingUpdate, null);
});

test('a deleted backup is no way back, but another version still leads back', async (t) => {
  const it = await paper(t);
  const { update } = (await it.update({ version: '1.21.11' })) as { update: PendingUpdate };
  await it.ok('POST', `/v1/servers/abc/backups/${update.backupId}:delete`);
  t.deepEqual((await it.server())['update'], { ...update, backupId: '' });
});

test('builds: an older build, a pinned server and a server whose build is unknown change nothing', async (t) => {
  const it = await paper(t, { builds: 'latest-when-asleep' });
  it.source.newest = '59';
  await it.create('pinned', PAPER);
  await it.create('fresh', { ...PAPER, builds: 'latest-when-asleep' });
  await it.clock.advance(HOUR_MS);
  await it.until(() => it.source.asked > 0);
  await it.clock.advance(HOUR_MS);
  for (const id of ['abc', 'pinned', 'fresh']) t.is((await it.servers.get(id))?.row.pendingUpdate, null, id);
  t.deepEqual(it.source.fetched, []);
});

test('builds: a build whose first start fails is taken back, and the server starts again with the one before', async (t) => {
  const it = await paper(t, { builds: 'latest-when-asleep' });
  it.source.newest = '61';
  await it.clock.advance(HOUR_MS);
  await it.until(async () => (await it.row()).pendingUpdate !== null);
  const { boot } = it.engine;
  it.engine.boot = (spec, ...given) => {
    it.engine.script('abc', spec.build === '61' ? FAILS : WORKS);
    return boot(spec, ...given);
  };
  await it.command('abc', 'START', STEVE);
  await it.reach('abc', 'running');
  t.deepEqual(
    it.engine.specs.map(({ build }) => build),
    ['61', '60'],
  );
  t.is(await it.pinned(), '60');
  t.like(await it.server(), { refusedBuild: '61', update: null, version: '1.21.8' });
  t.regex((await it.audited('server.buildTakenBack'))[0] ?? '', /^paper 1\.21\.8, build 61 → 60: /);
  const { entries } = (await it.ok('GET', '/v1/servers/abc/diagnostics')) as { entries: { kind: string }[] };
  t.like(entries, [{ kind: 'start' }]);
  await it.sleep();
  await it.clock.advance(2 * HOUR_MS);
  t.is((await it.row()).pendingUpdate, null, 'a refused build is not adopted again');
  it.source.newest = '62';
  await it.clock.advance(HOUR_MS);
  await it.until(async () => (await it.row()).pendingUpdate?.to.build === '62');
});

test('builds: a build that could not be downloaded is taken back, and tried again later', async (t) => {
  const it = await paper(t, { builds: 'latest-when-asleep', pendingUpdate: NEWER });
  it.engine.script('abc', { refuse: 'download_failed' });
  await it.command('abc', 'START');
  await it.until(async () => (await it.row()).pendingUpdate === null);
  t.is((await it.row()).refusedBuild, '');
});

test('builds: a crash soon after the first start with a build takes it back', async (t) => {
  const it = await paper(t, { builds: 'latest-when-asleep' });
  it.source.newest = '61';
  await it.clock.advance(HOUR_MS);
  await it.until(async () => (await it.row()).pendingUpdate !== null);
  t.is(await it.wake('running'), '61');
  it.engine.crash('abc', { code: 1 });
  await it.passUntil(async () => (await it.row()).refusedBuild === '61', 100);
  await it.reach('abc', 'running');
  t.is(it.engine.specs.at(-1)?.build, '60');
});

test('builds: a service that was killed after the failed start takes the build back when it starts', async (t) => {
  const w = await world(t);
  const pendingUpdate = NEWER;
  await w.create('abc', { ...PAPER, builds: 'latest-when-asleep', pendingUpdate });
  w.engine.script('abc', FAILS);
  await w.command('abc', 'START');
  await w.reach('abc', 'start_failed');
  await w.killAndRestart();
  const closers = createClosers();
  t.teardown(closers.close);
  const { store, clock, dataDir } = w;
  await Updates.open({
    store,
    servers: w.servers,
    clock,
    log: createLog({ level: 'silent' }),
    onClose: closers.onClose,
    builds: { newest: async () => '61' },
    dataDir,
    owner: undefined,
    worlds: { backUp: async () => '' },
    mods: { withoutVersion: async () => [] },
  });
  const row = async () => (await w.servers.get('abc'))?.row;
  await w.until(async () => (await row())?.pendingUpdate === null);
  t.like(await row(), { refusedBuild: '61', state: 'start_failed' });
  w.engine.script('abc', WORKS);
  await w.command('abc', 'START');
  await w.reach('abc', 'running');
  t.is(w.engine.specs.at(-1)?.build, '60');
});

test('builds: a wait for room, and failures of the machine, do not take a build back', async (t) => {
  const it = await paper(t, { builds: 'latest-when-asleep', pendingUpdate: NEWER });
  for (const refuse of ['no_room', 'port_in_use'] as const) {
    it.engine.script('abc', { refuse });
    await it.command('abc', 'START');
    await it.reach('abc', 'start_failed');
    t.deepEqual((await it.row()).pendingUpdate, NEWER, refuse);
    await it.command('abc', 'STOP');
  }
  it.engine.script('abc', WORKS);
  t.is(await it.wake('running'), '61');
});
