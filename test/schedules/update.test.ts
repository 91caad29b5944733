import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { noteBuild } from '../../src/game/installed-build.ts';
import { api } from '../support/api-harness.ts';
import { plant } from '../support/tree.ts';

const PAPER = { type: 'paper', version: '1.21.8', ramMb: 1_024 } as const;
const PATH = '/v1/servers/abc/schedules';

/** A sleeping Paper server on build 60 with a world, and a schedule that updates it. */
async function paper(t: ExecutionContext) {
  const source = { newest: '60' };
  const it = await api(t, { builds: { newest: async () => source.newest } });
  await it.create('abc', PAPER);
  const root = join(it.dataDir, 'servers/abc');
  await plant(root, { 'world/level.dat': 'old' });
  await noteBuild(root, { ...PAPER, modpackPlatform: '' }, { tenant: 'acc_test', build: '60' });
  const { id: scheduleId } = await it.ok('POST', PATH, { kind: 'update', cronExpr: '0 4 * * *' });
  const run = () => it.ok('POST', `${PATH}:run`, { scheduleId });
  const backups = async () => ((await it.ok('GET', '/v1/servers/abc/backups'))['backups'] as object[]).length;
  return { ...it, source, run, backups };
}

test('a scheduled update backs the server up, and its next start runs the newest build, with a way back', async (t) => {
  const it = await paper(t);
  it.source.newest = '61';
  t.like(await it.run(), { lastStatus: 'ok' });
  const { update } = (await it.ok('GET', '/v1/servers/abc')) as { update: { backupId: string } };
  t.like(update, { from: { build: '60' }, to: { version: '1.21.8', build: '61' } });
  t.not(update.backupId, '');
  t.is(await it.backups(), 1);
  const { entries } = (await it.ok('GET', '/v1/servers/abc/audit')) as {
    entries: { action: string; detail: string; through: string }[];
  };
  const change = entries.find(({ action }) => action === 'server.version');
  t.regex(change?.through ?? '', /^schedule sch_/);
  t.is(change?.detail, 'paper 1.21.8 → paper 1.21.8 build 61');
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  t.is(it.engine.specs.at(-1)?.build, '61');
});

test('a scheduled update is skipped without a newer build, for the same build again, and while the server is awake', async (t) => {
  const it = await paper(t);
  t.like(await it.run(), { lastStatus: 'skipped', lastError: 'No newer build of Paper 1.21.8 is known.' });
  t.is(await it.backups(), 0);
  it.source.newest = '61';
  t.like(await it.run(), { lastStatus: 'ok' });
  t.like(await it.run(), { lastStatus: 'skipped' });
  t.is(await it.backups(), 1);
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  it.source.newest = '62';
  t.like(await it.run(), { lastStatus: 'skipped', lastError: 'Stop the server to change this.' });
});
