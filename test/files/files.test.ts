import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import test from 'ava';
import { type Answer } from '../support/api-harness.ts';
import { filesApi } from './files-api.ts';

test('tiny files, empty files and directories count against the quota, whichever operation creates them', async (t) => {
  const { post, upload, put, disk, tree } = await filesApi(t, 1_000_000);
  const many = Array.from({ length: 20 }, (_, index) => `tiny/${index}`);
  for (const path of many) put(path, '1');
  await post(':archive', { paths: ['tiny'], to: 'tiny.zip' });
  const ways: Record<string, () => Promise<Answer>> = {
    mkdir: () => post(':mkdir', { path: 'a/b/c/d/e/f' }),
    write: () => post('', { path: 'g/h/new', content: '' }),
    upload: () => upload('i/j/new', '1'),
    copy: () => post(':copy', { from: 'tiny', to: 'copied' }),
    extract: () => post(':extract', { path: 'tiny.zip', to: 'extracted' }),
  };
  const entries = [6, 3, 3, 21, 22];
  for (const [index, [way, work]] of Object.entries(ways).entries()) {
    const full = entries[index]! * 4_096;
    disk.usedBytes = 0;
    disk.limitBytes = full - 1;
    const before = tree();
    t.is((await work()).reason, 'DISK_QUOTA_EXCEEDED', way);
    t.is(disk.openBytes, 0);
    if (way === 'copy' || way === 'extract') t.deepEqual(tree(), before, way);
    disk.limitBytes = 1_000_000;
    disk.usedBytes = 0;
    t.is((await work()).status, 200, way);
    t.true(disk.usedBytes > 0 && disk.usedBytes <= full, way);
  }
});

test('every operation that stores bytes checks the quota before it changes the tree', async (t) => {
  const { post, upload, put, disk, root, tree } = await filesApi(t, 2_000_000);
  put('kept', randomBytes(1_000_000));
  await post(':archive', { paths: ['kept'], to: 'kept.tar' });
  put('zeros', Buffer.alloc(1_000_000));
  await post(':archive', { paths: ['zeros'], to: 'zeros.tar.zst' });
  disk.usedBytes = 1_500_000;
  const before = tree();
  const ways: Record<string, () => Promise<Answer>> = {
    write: () => post('', { path: 'new', content: randomBytes(600_000).toString('base64') }),
    upload: () => upload('new', randomBytes(600_000)),
    'overwriting upload': () => upload('kept', randomBytes(600_000), { overwrite: true }),
    copy: () => post(':copy', { from: 'kept', to: 'new' }),
    archive: () => post(':archive', { paths: ['kept'], to: 'new.tar.gz' }),
    'archive as zip': () => post(':archive', { paths: ['kept'], to: 'new.zip' }),
    extract: () => post(':extract', { path: 'zeros.tar.zst', to: 'new' }),
  };
  for (const [way, work] of Object.entries(ways)) {
    t.is((await work()).reason, 'DISK_QUOTA_EXCEEDED', way);
    t.deepEqual([disk.usedBytes, disk.openBytes], [1_500_000, 0], way);
    t.deepEqual(tree(), before, way);
    t.deepEqual(readdirSync(join(root, '.dormouse-tmp')), [], way);
  }
  disk.limitBytes = 10_000_000;
  disk.freedTimes = 0;
  const used = async (work: () => Promise<Answer>) => {
    const before = disk.usedBytes;
    const answer = await work();
    t.is(answer.status, 200, answer.text);
    t.is(disk.openBytes, 0);
    return disk.usedBytes - before;
  };
  const blocks = (bytes: number) => Math.ceil(bytes / 4_096) * 4_096;
  t.is(await used(() => upload('new', randomBytes(600_000))), blocks(600_000));
  t.is(await used(() => upload('new', randomBytes(700_000), { overwrite: true })), blocks(700_000) - blocks(600_000));
  t.is(await used(() => upload('new', 'little', { overwrite: true })), 0);
  t.is(disk.freedTimes, 1, 'a smaller file frees space');
  t.is(await used(() => post(':copy', { from: 'kept', to: 'copy' })), blocks(1_000_000));
  t.is(await used(() => post(':extract', { path: 'zeros.tar.zst', to: 'new-dir' })), 4_096 + blocks(1_000_000));
  t.true((await used(() => post(':extract', { path: 'zeros.tar.zst', to: 'new-dir' }))) <= 8_192, 'files are replaced');
  t.is(disk.freedTimes, 3, 'each replacement is measured again');
  const size = statSync(join(root, 'kept.tar')).size;
  t.is(await used(() => post(':archive', { paths: ['kept'], to: 'again.tar' })), blocks(size));
});

test('a copy stops when its caller disconnects, and leaves no files behind', async (t) => {
  const { put, root, port, key, until, disk, logged } = await filesApi(t, 1024 ** 4);
  put('huge', '');
  truncateSync(join(root, 'huge'), 64 * 1024 ** 3);
  const headers = { 'x-api-key': key };
  const copying = request({ port, path: '/v1/servers/abc/file:copy', method: 'POST', headers });
  copying.on('error', () => {});
  copying.end(JSON.stringify({ from: 'huge', to: 'copy' }));
  await until(() => disk.openBytes > 0);
  copying.destroy();
  await until(() => disk.openBytes === 0 && readdirSync(join(root, '.dormouse-tmp')).length === 0);
  t.false(existsSync(join(root, 'copy')));
  t.false(logged.some((line) => line.includes('request failed')));
});
