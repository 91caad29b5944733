import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type ReadEntry, readTree } from '../../src/jail/read-tree.ts';
import { LISTS } from '../../src/jail/secrets.ts';
import * as fc from '../support/property.ts';
import { type Cage, cage, each } from './cage.ts';
import { isThorough } from '../support/needs.ts';

async function rootOf(t: ExecutionContext, { jail }: Cage): Promise<number> {
  const dir = await jail.directory('');
  t.teardown(() => dir[Symbol.asyncDispose]());
  return dir.descriptor;
}

function contentOf({ sizeBytes, read }: ReadEntry): string {
  const content = Buffer.alloc(sizeBytes);
  return content.toString('utf8', 0, read(content, 0, sizeBytes, 0));
}

const namesOf = (entries: Iterable<ReadEntry>) => Array.from(entries, ({ path }) => path).sort();

test.runIf(isThorough)('readTree returns the same entries and content as the jail’s tree walk', async (t) => {
  const it = await cage(t);
  const name = fc.string({ unit: fc.constantFrom('a', 'B', ' ', '.', 'ü', '漢', '\n'), minLength: 1, maxLength: 6 });
  const path = fc.array(
    name.filter((each) => !['.', '..'].includes(each)),
    { minLength: 1, maxLength: 4 },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(path, fc.string()), { maxLength: 12 }), async (files) => {
      for (const left of readdirSync(it.root)) rmSync(join(it.root, left), { recursive: true });
      for (const [names, content] of files) {
        try {
          it.put(names.join('/'), content);
        } catch {
          // A file already has the name of a folder in this path.
        }
      }
      await using dir = await it.jail.directory('');
      const read = Array.from(readTree(dir.descriptor), (entry) => ({
        ...pick(entry),
        content: entry.kind === 'file' ? contentOf(entry) : '',
      }));
      const walked: typeof read = [];
      for (const entry of await each(it.jail.tree(''))) {
        walked.push({ ...pick(entry), content: entry.kind === 'file' ? it.see(entry.path) : '' });
      }
      t.deepEqual(read, walked);
    }),
    { numRuns: 40 },
  );
});

function pick({
  path,
  kind,
  sizeBytes,
  mode,
  modifiedAt,
}: Pick<ReadEntry, 'path' | 'sizeBytes' | 'mode' | 'modifiedAt'> & { kind: string }) {
  return { path, kind, sizeBytes, mode, modifiedAt };
}

test('readTree omits service files except the lists and masks secrets, at the top level only', async (t) => {
  const it = await cage(t);
  const secret = 'motd=x\nrcon.password=hunter2\n';
  const hidden = ['.rcon-cli.env', '.dormouse-tmp/upload', '.dormouse-other'];
  for (const path of [...hidden, ...LISTS, 'sub/.dormouse-other', 'plain']) it.put(path, path);
  for (const path of ['server.properties', 'server.properties.old', 'sub/server.properties']) it.put(path, secret);
  it.put('server.properties.huge', `${secret}${'#'.repeat(1_048_576)}`);
  const root = await rootOf(t, it);
  const shown = secret.replace('hunter2', '*******');
  const found = Object.fromEntries(Array.from(readTree(root), (entry) => [entry.path, contentOf(entry)]));
  t.deepEqual(found, {
    ...Object.fromEntries([...LISTS, 'sub/.dormouse-other', 'plain'].map((path) => [path, path])),
    sub: '',
    'server.properties': shown,
    'server.properties.old': shown,
    'sub/server.properties': secret,
  });
});

test('readTree skips links, pipes, sockets and entries replaced during the walk', async (t) => {
  const it = await cage(t);
  for (const path of ['a/there', 'dir/inside', 'file']) it.put(path, 'x');
  symlinkSync(it.outside, join(it.root, 'to-dir'));
  symlinkSync(join(it.outside, 'secret'), join(it.root, 'to-file'));
  execFileSync('mkfifo', [join(it.root, 'pipe')]);
  const socket = createServer().listen(join(it.root, 'socket'));
  t.teardown(() => socket.close());
  const root = await rootOf(t, it);
  const links: string[] = [];
  const tree = readTree(root, (path) => links.push(path));
  t.deepEqual(namesOf(tree), ['a', 'a/there', 'dir', 'dir/inside', 'file']);
  t.deepEqual(links.toSorted(), ['to-dir', 'to-file']);

  // The walk reads all names first, and each entry only when it reaches it.
  const found: string[] = [];
  for (const { path } of readTree(root)) {
    found.push(path);
    if (found.length > 1) continue;
    for (const name of ['a', 'dir', 'file'].filter((name) => name !== path)) {
      renameSync(join(it.root, name), join(it.outside, name));
      symlinkSync(it.outside, join(it.root, name));
    }
  }
  t.deepEqual(
    found.filter((path) => !path.includes('/')),
    [found[0]],
  );
});

test.runIf(isThorough)(
  'readTree closes every descriptor, even if its reader stops early or the tree is too deep',
  async (t) => {
    const it = await cage(t);
    const root = await rootOf(t, it);
    for (let n = 0; n < 20; n++) it.put(`d/e/f/${n}`, 'x');
    const ours = () =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(it.root);
        } catch {
          return false;
        }
      }).length;
    const before = ours();
    for (const { path } of readTree(root)) if (path.startsWith('d/e/f/')) break;
    t.is(ours(), before);
    const script = `mkdir deep && cd deep && for i in $(seq 512); do mkdir d && cd d || exit 1; done; : > f`;
    execFileSync('sh', ['-c', script], { cwd: it.root });
    t.throws(() => namesOf(readTree(root)), { message: /more than 512 levels/ });
    t.is(ours(), before);
  },
);

test('readTree keeps the raw bytes of names that are not UTF-8', async (t) => {
  const it = await cage(t);
  const name = Buffer.from([0x61, 0xff, 0x62]);
  mkdirSync(join(it.root, 'd'));
  writeFileSync(Buffer.concat([Buffer.from(`${it.root}/d/`), name]), 'bytes');
  const [, file] = readTree(await rootOf(t, it));
  t.is(file?.path, 'd/a\ufffdb');
  t.deepEqual(file?.bytes, Buffer.concat([Buffer.from('d/'), name]));
});
