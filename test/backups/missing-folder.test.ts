import { rm } from 'node:fs/promises';
import test from 'ava';
import { backUp, backupsOf, ended, rootOf, running, sleeping } from './parts.ts';

test('a backup of a server that has run fails while its folder is missing', async (t) => {
  const it = await running(t);
  await it.command('lobby', 'STOP');
  await it.reach('lobby', 'hibernated');
  const good = await backUp(it, 'lobby');
  await rm(rootOf(it, 'lobby'), { recursive: true });
  const { id } = (await it.ok('POST', '/v1/servers/lobby/backups')) as { id: string };
  const failed = await ended(it, 'lobby', id);
  t.is(failed.state, 'failed');
  t.regex(failed.error, /^The server’s folder is missing/);
  const ready = (await backupsOf(it, 'lobby')).filter(({ state }) => state === 'ready');
  t.deepEqual(
    ready.map((each) => each.id),
    [good.id],
  );
});

test('a server that has never run is backed up without a folder', async (t) => {
  const it = await sleeping(t);
  await rm(rootOf(it, 'lobby'), { recursive: true });
  t.is((await backUp(it, 'lobby')).state, 'ready');
});
