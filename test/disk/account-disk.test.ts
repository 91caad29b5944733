import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openDisks } from '../../src/disk/disks.ts';
import { createOpenFiles } from '../../src/jail/open-files.ts';
import { createLog } from '../../src/kernel/log.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';
import { plant } from '../support/tree.ts';

const MIB = 2 ** 20;

/** An account with two servers and a disk limit of 3 MB. */
async function bench(t: ExecutionContext) {
  const it: ApiUnderTest = await api(t, { accountDiskMb: 3 });
  await it.create('one');
  await it.create('two');
  const upload = async (id: string, path: string, bytes: number) => {
    const raw = randomBytes(bytes);
    const { status, reason } = await it.call('POST', `/v1/servers/${id}/file:upload?path=${path}`, { raw });
    return status === 200 ? 'done' : `${status} ${reason}`;
  };
  const remove = (id: string, path: string) => it.ok('POST', `/v1/servers/${id}/file:delete`, { path });
  /** Creates a backup. Returns its error, or '' on success. */
  const backUp = async (id: string) => {
    const backup = (await it.ok('POST', `/v1/servers/${id}/backups`))['id'] as string;
    return (await it.services.backups.finished({ serverId: id, id: backup }, new AbortController().signal)).error;
  };
  return { ...it, upload, remove, backUp };
}

test('an account’s disk limit covers all its servers and their backups', async (t) => {
  const it = await bench(t);
  t.is(await it.upload('one', 'a', 1.2 * MIB), 'done');
  t.is(await it.upload('two', 'b', 1.2 * MIB), 'done');
  t.is(await it.upload('two', 'c', MIB), '429 ACCOUNT_DISK_EXCEEDED');
  t.is(
    (await it.call('POST', '/v1/servers/one/file:copy', { body: { from: 'a', to: 'd' } })).reason,
    'ACCOUNT_DISK_EXCEEDED',
  );
  t.regex(await it.backUp('one'), /servers and backups of this account use \d MB of disk\. The limit is 3 MB\./);
  await it.remove('two', 'b');
  t.is(await it.backUp('one'), '');
  await it.clock.advance(6_000);
  t.is(await it.upload('two', 'c', MIB), '429 ACCOUNT_DISK_EXCEEDED', 'the backup counts against the limit');
  t.is(await it.upload('two', 'c', MIB / 2), 'done');
});

test('concurrent uploads count against the account’s disk limit before they finish', async (t) => {
  const it = await bench(t);
  const all = Array.from({ length: 6 }, (_, n) => it.upload(n % 2 === 0 ? 'one' : 'two', `${n}`, 1.2 * MIB));
  const answers = (await Promise.all(all)).toSorted();
  t.deepEqual(answers, [...Array<string>(4).fill('429 ACCOUNT_DISK_EXCEEDED'), 'done', 'done']);
});

test('an account over its disk limit cannot start a server until something is deleted', async (t) => {
  const it = await bench(t);
  t.is(await it.upload('two', 'b', MIB), 'done');
  // Games write without a check against the limit.
  await plant(join(it.dataDir, 'servers/one'), { world: Buffer.alloc(2.5 * MIB), small: '' });
  await it.remove('one', 'small');
  const start = () => it.call('POST', '/v1/servers/two:start');
  // Probe with uploads. A start before the measurement would be admitted.
  await it.until(async () => (await it.upload('one', 'probe', 1)) === '429 ACCOUNT_DISK_EXCEEDED');
  const refused = await start();
  t.is(refused.reason, 'ACCOUNT_DISK_EXCEEDED');
  t.is(refused.status, 400);
  t.regex(refused.text, /use 4 MB of disk\. The limit is 3 MB\. Delete files or backups, then try again\./);
  await it.remove('one', 'world');
  await it.until(async () => (await start()).status === 200);
  await it.reach('two', 'running');
});

test('operators have no account disk limit', async (t) => {
  const it = await bench(t);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1', [1]));
  t.is(await it.upload('one', 'a', 4 * MIB), 'done');
  t.is((await it.call('POST', '/v1/servers/one:start')).status, 200);
});

test('a game that exceeds its account’s disk limit is stopped, while one that writes little plays on', async (t) => {
  let usedBytes = 0;
  const it: ApiUnderTest = await api(t, { accountDiskMb: 4, usedBytes: async () => usedBytes });
  const { clock, games } = it;
  const until = (holds: () => boolean | Promise<boolean>) => it.until(holds);
  for (const id of ['greedy', 'quiet', 'asleep']) await it.create(id);
  for (const id of ['greedy', 'quiet']) {
    await it.command(id, 'START');
    await it.reach(id, 'running');
    // A player keeps the server awake.
    games.players.set(id, 1);
  }
  const exceeded = async (id: string) => (await it.ok('GET', `/v1/servers/${id}`))['quotaExceeded'];
  const passing = (holds: () => boolean | Promise<boolean>) =>
    until(async () => {
      await clock.advance(1_000);
      return await holds();
    });
  const told: unknown[] = [];
  const play = (event: { type: string; data: object } | null) =>
    void (event?.type === 'quota' && told.push(event.data));
  it.serverEvents.follow((await it.servers.get('asleep'))!, { quota: {}, alert: null }, '', play);
  await passing(async () => (await it.ok('GET', '/v1/servers/quiet'))['diskUsageKnown'] === true);
  t.false(await exceeded('greedy'));

  await plant(join(it.dataDir, 'servers/greedy'), { world: Buffer.alloc(5 * MIB) });
  usedBytes += 5 * MIB;
  await passing(() => games.commands.some((line) => line.startsWith("greedy: say This server's disk is full.")));
  for (const id of ['greedy', 'quiet', 'asleep']) t.true(await exceeded(id), id);
  await passing(async () => (await it.servers.get('greedy'))?.state === 'hibernated');
  const { transitions } = await it.ok('GET', '/v1/servers/greedy/machine');
  const stop = (transitions as { to: string; cause: object }[]).find(({ to }) => to === 'stopping');
  t.like(stop?.cause, { kind: 'system', id: 'quota', note: 'the disk space of its account is used up' });
  await plant(join(it.dataDir, 'servers/quiet'), { 'logs/latest.log': Buffer.alloc(MIB / 4) });
  usedBytes += MIB / 4;
  for (let minute = 0; minute < 6; minute++) await clock.advance(60_000);
  t.is((await it.servers.get('quiet'))?.state, 'running');
  t.is((await it.call('POST', '/v1/servers/asleep:start')).reason, 'ACCOUNT_DISK_EXCEEDED');
  t.like(told.at(-1), { quotaExceeded: true });

  // The next process knows the usage before its first measurement.
  const { store, servers, dataDir } = it;
  await until(async () => {
    const log = createLog({ level: 'silent' });
    const next = await openDisks({ store, servers, clock, log }, dataDir, createOpenFiles(), [], 4);
    await next.usage.close();
    return next.accounts.overBytes('acc_test') > 0;
  });

  await it.ok('POST', '/v1/servers/greedy/file:delete', { path: 'world' });
  await until(async () => !(await exceeded('asleep')));
  await until(() => told.length === 2);
  t.like(told.at(-1), { quotaExceeded: false });
  const actions = async () => {
    const { entries } = await it.ok('GET', '/v1/accounts/acc_test/audit');
    return (entries as { action: string }[]).map(({ action }) => action).filter((action) => action.includes('disk'));
  };
  await until(async () => (await actions()).length === 2);
  t.deepEqual(await actions(), ['account.diskFreed', 'account.diskExceeded']);
});
