import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import test from 'ava';
import { requireProc } from '../../src/jail/descriptors.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { runs } from '../support/property.ts';
import { cage, write, each, EVERY, refused } from './cage.ts';
import { swappedUnderCalls } from './swap-race.ts';

/** The reasons that may refuse a path with a link in it. */
const LINKED = ['PATH_IS_LINK', 'NOT_A_DIRECTORY', 'PATH_EXISTS', 'PATH_NOT_FOUND', 'NOT_A_FILE'];

test('file operations never follow links, wherever they point', async (t) => {
  const { jail, root, outside, put } = await cage(t);
  put('there', 'x');
  put('inner/secret', 'INSIDE');
  const targets = { file: join(outside, 'secret'), dir: outside, up: '..', self: 'self', none: '/none', in: 'inner' };
  for (const [name, target] of Object.entries(targets)) symlinkSync(target, join(root, name));
  for (const [name, work] of Object.entries(EVERY)) {
    for (const link of Object.keys(targets)) {
      await refused(t, () => work(jail, `${link}/secret`), LINKED, `${name} ${link}/secret`);
      if (!['stat', 'rename from', 'remove'].includes(name))
        await refused(t, () => work(jail, link), LINKED, `${name} ${link}`);
    }
  }
  t.is(readFileSync(join(outside, 'secret'), 'utf8'), 'OUTSIDE');
  t.is(lstatSync(join(outside, 'secret')).mode & 0o777, 0o644);
  t.deepEqual(readdirSync(outside), ['secret']);
  // The owner may stat, move and remove the link itself.
  t.is((await jail.stat('dir')).kind, 'link');
  await jail.rename('dir', 'moved');
  t.is(readlinkSync(join(root, 'moved')), outside);
  await jail.remove('moved');
  t.deepEqual(readdirSync(outside), ['secret']);
});

test('rmdir removes only empty directories', async (t) => {
  const { jail, root, put } = await cage(t);
  put('full/file');
  mkdirSync(join(root, 'empty'));
  symlinkSync('empty', join(root, 'link'));
  await refused(t, () => jail.rmdir('full'), ['DIRECTORY_NOT_EMPTY'], 'full');
  await refused(t, () => jail.rmdir('full/file'), ['NOT_A_DIRECTORY'], 'a file');
  await refused(t, () => jail.rmdir('link'), ['NOT_A_DIRECTORY'], 'a link');
  await refused(t, () => jail.rmdir('none'), ['PATH_NOT_FOUND'], 'nothing');
  await refused(t, () => jail.rmdir('.dormouse-tmp'), ['PATH_NOT_FOUND'], 'hidden');
  await jail.rmdir('empty');
  t.deepEqual(readdirSync(root).toSorted(), ['full', 'link']);
});

test('removing a directory removes the links in it but not their targets', async (t) => {
  const { jail, root, outside, put } = await cage(t);
  put('world/region/a');
  symlinkSync(outside, join(root, 'world/region/link'));
  symlinkSync(join(outside, 'secret'), join(root, 'world/file'));
  await jail.remove('world');
  t.false(existsSync(join(root, 'world')));
  t.deepEqual(readdirSync(outside), ['secret']);
});

test('swapping a directory for a link during thousands of calls does not escape the jail', async (t) => {
  const it = await cage(t);
  await swappedUnderCalls(t, it, { seen: it.root, calls: runs(10_000) });
});

test('writes to a hard link of an outside file are refused', async (t) => {
  const { jail, root, outside } = await cage(t);
  linkSync(join(outside, 'secret'), join(root, 'linked'));
  for (const name of ['open', 'replace', 'setAttributes'])
    await refused(t, () => EVERY[name]!(jail, 'linked'), ['PATH_IS_LINK'], name);
  await refused(t, async () => jail.open('linked', { write: true }), ['PATH_IS_LINK'], 'in place');
  t.is(readFileSync(join(outside, 'secret'), 'utf8'), 'OUTSIDE');
  await jail.remove('linked');
  t.true(existsSync(join(outside, 'secret')));
});

test('pipes, devices and sockets are refused without hanging', async (t) => {
  const { jail, root, put } = await cage(t);
  put('there', 'x');
  const paths = ['pipe', 'socket'];
  execFileSync('mkfifo', [join(root, 'pipe')]);
  const listening = createServer().listen(join(root, 'socket'));
  t.teardown(() => listening.close());
  await once(listening, 'listening');
  try {
    execFileSync('mknod', [join(root, 'device'), 'c', '1', '5'], { stdio: 'ignore' });
    paths.push('device');
  } catch {
    t.log('devices need root');
  }
  for (const path of paths) {
    t.is((await jail.stat(path)).kind, 'other');
    for (const name of ['read', 'open', 'replace', 'rename to', 'copy from', 'copy to', 'entries', 'setAttributes'])
      await refused(
        t,
        () => EVERY[name]!(jail, path),
        ['NOT_A_FILE', 'NOT_A_DIRECTORY', 'PATH_EXISTS', 'PATH_NOT_ACCESSIBLE'],
        `${name} ${path}`,
      );
  }
  t.deepEqual(
    (await each(jail.tree(''))).map(({ path }) => path),
    ['there'],
  );
});

test.runIf(process.getuid?.() === 0)('new files and directories belong to the game’s user at once', async (t) => {
  const owner = { uid: 1_000, gid: 1_000 };
  const { jail, root } = await cage(t, { owner });
  await write(jail, 'a/b/c', 'x');
  await jail.mkdir('d/e');
  await jail.copy('a', 'copied');
  await (await jail.open('opened', { write: true, create: true })).close();
  await using stage = await jail.stage();
  await (await stage.create('f/g')).close();
  await stage.mergeInto('staged');
  for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const { uid, gid } = lstatSync(join(root, path));
    t.deepEqual({ uid, gid }, owner, path);
  }
});

test('the jail reports a clear error on a platform without /proc', (t) => {
  for (const [platform, descriptors] of [
    ['darwin', '/proc/self/fd'],
    ['linux', '/proc/none'],
  ] as const)
    t.throws(() => requireProc(platform, descriptors), { instanceOf: StatusError, message: /need Linux with \/proc/ });
});
