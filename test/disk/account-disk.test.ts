import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type ApiUnderTest, api } from '../support/api-harness.ts';
import { plant } from '../support/tree.ts';

const MIB = 2 ** 20;

/** An account that may take 3 MB, with two servers. */
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
  /** The error of a backup, '' for one that was made. */
  const backUp = async (id: string) => {
    const backup = (await it.ok('POST', `/v1/servers/${id}/backups`))['id'] as string;
    return (await it.services.backups.finished({ serverId: id, id: backup }, new AbortController().signal)).error;
  };
  return { ...it, upload, remove, backUp };
}

test('B-03 what all servers of an account take with their backups has an end, however many they are', async (t) => {
  const it = await bench(t);
  t.is(await it.upload('one', 'a', 1.2 * MIB), 'done');
  t.is(await it.upload('two', 'b', 1.2 * MIB), 'done');
  t.is(await it.upload('two', 'c', MIB), '429 ACCOUNT_DISK_EXCEEDED');
  t.is(
    (await it.call('POST', '/v1/servers/one/file:copy', { body: { from: 'a', to: 'd' } })).reason,
    'ACCOUNT_DISK_EXCEEDED',
  );
  t.regex(await it.backUp('one'), /may take 3 MB of the disk together/);
  await it.remove('two', 'b');
  t.is(await it.backUp('one'), '');
  await it.clock.advance(6_000);
  t.is(await it.upload('two', 'c', MIB), '429 ACCOUNT_DISK_EXCEEDED', 'the backup counts');
  t.is(await it.upload('two', 'c', MIB / 2), 'done');
});

test('B-03 what is written side by side counts before it has landed', async (t) => {
  const it = await bench(t);
  const all = Array.from({ length: 6 }, (_, n) => it.upload(n % 2 === 0 ? 'one' : 'two', `${n}`, 1.2 * MIB));
  const answers = (await Promise.all(all)).toSorted();
  t.deepEqual(answers, [...Array<string>(4).fill('429 ACCOUNT_DISK_EXCEEDED'), 'done', 'done']);
});

test('B-03 no server of an account beyond its limit starts, until something is deleted', async (t) => {
  const it = await bench(t);
  t.is(await it.upload('two', 'b', MIB), 'done');
  // As a game does, which asks nobody.
  await plant(join(it.dataDir, 'servers/one'), { world: Buffer.alloc(2.5 * MIB), small: '' });
  await it.remove('one', 'small');
  const start = () => it.call('POST', '/v1/servers/two:start');
  // Looked at without a start, which could come before the measuring and would then never be refused.
  await it.until(async () => (await it.upload('one', 'probe', 1)) === '429 ACCOUNT_DISK_EXCEEDED');
  const refused = await start();
  t.is(refused.reason, 'ACCOUNT_DISK_EXCEEDED');
  t.is(refused.status, 400);
  t.regex(refused.text, /may take 3 MB .* take 4 MB\. Delete something, then start it\./);
  await it.remove('one', 'world');
  await it.until(async () => (await start()).status === 200);
  await it.reach('two', 'running');
});

test('B-03 operators have no limit of their own', async (t) => {
  const it = await bench(t);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1', [1]));
  t.is(await it.upload('one', 'a', 4 * MIB), 'done');
  t.is((await it.call('POST', '/v1/servers/one:start')).status, 200);
});
