import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import * as fc from '../support/property.ts';
import { formatProperties, parseProperties } from '../../src/game/properties/format.ts';
import { requireProc } from '../../src/jail/descriptors.ts';
import { type Jail, type JailFile, type JailOptions, openJail } from '../../src/jail/jail.ts';
import { joinNames, parsePath } from '../../src/jail/path.ts';
import { maskProperties } from '../../src/jail/secrets.ts';
import { StatusError } from '../../src/kernel/status.ts';

interface Cage {
  jail: Jail;
  /** The data root. */
  root: string;
  /** A directory beside it that nothing may reach, with a `secret` in it. */
  outside: string;
  put: (path: string, content?: string) => void;
  see: (path: string) => string;
}

async function cage(t: ExecutionContext, options?: JailOptions): Promise<Cage> {
  const folder = mkdtempSync(join(tmpdir(), 'dormouse-jail-'));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const [root, outside] = [join(folder, 'root'), join(folder, 'root-sibling')];
  mkdirSync(root);
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret'), 'OUTSIDE');
  const jail = await openJail(root, options);
  t.teardown(() => jail.close());
  return {
    jail,
    root,
    outside,
    put(path, content = '') {
      mkdirSync(join(root, posix.dirname(path)), { recursive: true });
      writeFileSync(join(root, path), content);
    },
    see: (path) => readFileSync(join(root, path), 'utf8'),
  };
}

async function read(jail: Jail, path: string): Promise<string> {
  return await text((await jail.open(path)).stream());
}

async function write(jail: Jail, path: string, content: string): Promise<void> {
  await using replacement = await jail.replace(path);
  await replacement.write(Buffer.from(content));
  await replacement.commit();
}

async function names(jail: Jail, path: string): Promise<string[]> {
  const all: string[] = [];
  for await (const batch of jail.entries(path)) all.push(...batch.map(({ name }) => name));
  return all.sort();
}

async function each<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Everything that takes a path, by name. What reads is given an existing path, what writes any. */
const EVERY: Record<string, (jail: Jail, path: string) => Promise<unknown>> = {
  stat: (jail, path) => jail.stat(path),
  entries: (jail, path) => each(jail.entries(path)),
  tree: (jail, path) => each(jail.tree(path)),
  read: (jail, path) => read(jail, path),
  open: async (jail, path) => (await jail.open(path, { write: true, create: true, truncate: true })).close(),
  replace: (jail, path) => write(jail, path, 'x'),
  mkdir: (jail, path) => jail.mkdir(path),
  'rename from': (jail, path) => jail.rename(path, 'target'),
  'rename to': (jail, path) => jail.rename('there', path, { replace: true }),
  'copy from': (jail, path) => jail.copy(path, 'target'),
  'copy to': (jail, path) => jail.copy('there', path),
  remove: (jail, path) => jail.remove(path),
  rmdir: (jail, path) => jail.rmdir(path),
  setAttributes: (jail, path) => jail.setAttributes(path, { mode: 0o777, modifiedAt: 0 }),
  merge: async (jail, path) => {
    await using stage = await jail.stage();
    await (await stage.create('x')).close();
    await stage.mergeInto(path);
  },
};

/** Whoever calls it is refused with one of the reasons, and what lies outside is as it was. */
async function refused(t: ExecutionContext, work: () => Promise<unknown>, reasons: string[], about: string) {
  const error = await t.throwsAsync<StatusError>(work, { instanceOf: StatusError }, about);
  t.true(reasons.includes(error.reason), `${about}: ${String(error)}`);
}

async function refusedEverywhere(t: ExecutionContext, paths: string[], reasons: string[]): Promise<void> {
  const { jail, put, outside } = await cage(t);
  put('there', 'x');
  for (const [name, work] of Object.entries(EVERY))
    for (const path of paths) await refused(t, () => work(jail, path), reasons, `${name} ${path.slice(0, 40)}`);
  t.deepEqual(readdirSync(outside), ['secret']);
}

test('P01, P15, P19: what leaves the root is refused, whatever is done with it', async (t) => {
  const paths = ['../../etc/passwd', '..', 'a/../..', '../root-sibling/secret', '/../root-sibling', 'there/../../x'];
  await refusedEverywhere(t, paths, ['INVALID_PATH']);
});

test('P06, P07: NUL, long names, long and deep paths are refused, whatever is done with them', async (t) => {
  const deep = `${'d/'.repeat(64)}d`;
  await refusedEverywhere(
    t,
    ['a\0.txt', '\0', 'n'.repeat(256), 'é'.repeat(128), 'ab/'.repeat(1_667), deep, '\ud800'],
    ['INVALID_PATH'],
  );
});

const plainName = test.macro({
  title: (id = '') => id,
  async exec(t: ExecutionContext, paths: string[]) {
    const { jail, root } = await cage(t);
    for (const path of paths) {
      await write(jail, path, path);
      t.is(await read(jail, path), path);
    }
    const below = new Set(readdirSync(root, { recursive: true, encoding: 'utf8' }));
    for (const path of paths) t.true(below.has(path), path);
    for (const path of paths) await jail.remove(path);
  },
});

test('P02: a backslash is a plain character', plainName, [String.raw`..\..\windows\win.ini`, String.raw`a\b`]);
test('P03: percent signs are not decoded', plainName, ['%2e%2e%2f', '%2e%2e/x', '%00']);
test('P04: more than two dots are a name', plainName, ['....//....//x'.replaceAll('//', '/'), '...', '..a', 'a..']);
test('P17: names that only Windows knows are allowed', plainName, ['CON', 'NUL', 'AUX', 'COM1', 'dot.', 'space ']);
test('P18: drives, shares and streams are names', plainName, [String.raw`C:\x`, String.raw`\\host\share`, 'x:ads']);

test('P05: an absolute path is taken relative to the root', async (t) => {
  const { jail, see } = await cage(t);
  await refused(t, () => read(jail, '/etc/passwd'), ['PATH_NOT_FOUND'], 'read');
  await write(jail, '/etc/passwd', 'mine');
  t.is(see('etc/passwd'), 'mine');
});

/** Where a link can stand in a path, and what may then be said. */
const LINKED = ['PATH_IS_LINK', 'NOT_A_DIRECTORY', 'PATH_EXISTS', 'PATH_NOT_FOUND', 'NOT_A_FILE'];

test('P08, P09, F-02: links are followed by nothing, wherever they point', async (t) => {
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
  t.is(lstatSync(join(outside, 'secret')).mode & 0o777, 0o644, 'F-05');
  t.deepEqual(readdirSync(outside), ['secret']);
  // The link itself is the owner's to see, move and remove.
  t.is((await jail.stat('dir')).kind, 'link');
  await jail.rename('dir', 'moved');
  t.is(readlinkSync(join(root, 'moved')), outside);
  await jail.remove('moved');
  t.deepEqual(readdirSync(outside), ['secret']);
});

test('a directory is removed by itself only where nothing is in it', async (t) => {
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

test('F-03: removing a directory removes the links in it, never what they point to', async (t) => {
  const { jail, root, outside, put } = await cage(t);
  put('world/region/a');
  symlinkSync(outside, join(root, 'world/region/link'));
  symlinkSync(join(outside, 'secret'), join(root, 'world/file'));
  await jail.remove('world');
  t.false(existsSync(join(root, 'world')));
  t.deepEqual(readdirSync(outside), ['secret']);
});

test('P10, F-04: a directory swapped for a link under 10 000 calls gives nothing away', async (t) => {
  const { jail, root, outside, put } = await cage(t);
  t.timeout(120_000);
  put('there', 'x');
  put('dir/secret', 'INSIDE');
  put('dir/sub/secret', 'INSIDE');
  mkdirSync(join(outside, 'sub'));
  writeFileSync(join(outside, 'sub/secret'), 'OUTSIDE');
  const ended = new Int32Array(new SharedArrayBuffer(4));
  const workerData = { directory: join(root, 'dir'), outside, ended };
  const worker = new Worker(new URL('swapper.ts', import.meta.url), { workerData });
  const over = once(worker, 'exit');
  t.teardown(() => worker.terminate());
  await once(worker, 'online');
  // The race is a real one: who trusts a path falls for it.
  let fooled = 0;
  for (let round = 0; round < 2_000; round++) {
    const seen = await readFile(join(root, 'dir/secret'), 'utf8').catch(() => '');
    if (seen === 'OUTSIDE') fooled++;
  }
  t.true(fooled > 0, 'the swapping thread swaps');
  const works: ((round: number) => Promise<unknown>)[] = [
    () => read(jail, 'dir/secret'),
    () => read(jail, 'dir/sub/secret'),
    async () => {
      await using file = await jail.open('dir/secret', { write: true });
      await file.write(0, Buffer.from('inside'));
    },
    async (round) => (await jail.open(`dir/new-${round}`, { write: true, create: true })).close(),
    async () => (await each(jail.tree('dir'))).map(({ path }) => path),
    () => jail.setAttributes('dir/secret', { mode: 0o600 }),
    (round) => (round % 20 === 5 ? write(jail, `dir/whole-${round}`, 'x') : jail.stat('dir/secret')),
    (round) => (round % 20 === 6 ? jail.mkdir(`dir/made-${round}`) : jail.stat('dir/sub')),
    (round) => (round % 20 === 7 ? jail.copy('dir/sub', `copy-${round}`) : read(jail, 'dir/sub/secret')),
    (round) => (round % 20 === 8 ? jail.remove(`dir/made-${round - 2}`) : jail.stat('dir/sub/secret')),
  ];
  let done = 0;
  const call = async (round: number): Promise<void> => {
    const seen = await works[round % works.length]!(round).then(
      (value) => ((done += 1), value),
      (error: unknown) => {
        if (!(error instanceof StatusError)) throw error;
      },
    );
    if (typeof seen === 'string') t.regex(seen, /^inside$/i);
  };
  let round = 0;
  const caller = async (): Promise<void> => {
    while (round < 10_000) await call(round++);
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  Atomics.store(ended, 0, 1);
  await over;
  t.true(done > 1_000, `${done} calls met the directory itself`);
  t.deepEqual(
    new Set(readdirSync(outside, { recursive: true, encoding: 'utf8' })),
    new Set(['secret', 'sub', 'sub/secret']),
  );
  for (const path of ['secret', 'sub/secret']) {
    t.is(readFileSync(join(outside, path), 'utf8'), 'OUTSIDE');
    t.is(lstatSync(join(outside, path)).mode & 0o777, 0o644);
  }
});

test('P11: a hard link to a foreign inode is not written to', async (t) => {
  const { jail, root, outside } = await cage(t);
  linkSync(join(outside, 'secret'), join(root, 'linked'));
  for (const name of ['open', 'replace', 'setAttributes'])
    await refused(t, () => EVERY[name]!(jail, 'linked'), ['PATH_IS_LINK'], name);
  await refused(t, async () => jail.open('linked', { write: true }), ['PATH_IS_LINK'], 'in place');
  t.is(readFileSync(join(outside, 'secret'), 'utf8'), 'OUTSIDE');
  await jail.remove('linked');
  t.true(existsSync(join(outside, 'secret')));
});

test('P12: pipes, devices and sockets are refused, without a hang', async (t) => {
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

test('P13: the root itself is not moved, removed, written or changed', async (t) => {
  const { jail, root, put } = await cage(t);
  put('there', 'x');
  for (const path of ['', '.', '/', 'there/..', '../hosting/'])
    for (const name of ['rename from', 'rename to', 'remove', 'replace', 'open', 'mkdir', 'copy to', 'setAttributes'])
      await refused(t, () => EVERY[name]!(jail, path), ['INVALID_PATH', 'PATH_WITHIN_ITSELF'], `${name} '${path}'`);
  t.true(statSync(root).isDirectory());
  t.is((await jail.stat('/')).kind, 'directory');
});

test('P14: a directory goes neither into itself nor below', async (t) => {
  const { jail, put } = await cage(t);
  put('a/b/c', 'x');
  for (const to of ['a/x', 'a/b/x', 'a/b/c/x']) {
    for (const work of [() => jail.copy('a', to), () => jail.rename('a', to)]) {
      const error = await t.throwsAsync<StatusError>(work, { instanceOf: StatusError });
      t.is(error.code, 'FAILED_PRECONDITION');
    }
  }
  await refused(t, () => jail.copy('a', 'a'), ['PATH_EXISTS'], 'onto itself');
  await jail.rename('a', 'a');
  await jail.rename('a', 'ab');
  t.is(await read(jail, 'ab/b/c'), 'x');
});

test('P16: composed and decomposed names are two, each as it is stored', async (t) => {
  const { jail } = await cage(t);
  const [composed, decomposed] = ['é'.normalize('NFC'), 'é'.normalize('NFD')];
  await write(jail, composed, 'one');
  await write(jail, decomposed, 'two');
  t.is(await read(jail, composed), 'one');
  t.is(await read(jail, decomposed), 'two');
  t.deepEqual((await names(jail, '')).length, 2);
});

test('any text is either refused or stays within the root', (t) => {
  const piece = fc.constantFrom('..', '.', '', '/', '\\', 'a', '%2e', '\0', ' ', '…', 'world', '\ud800');
  const path = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(piece, { maxLength: 12 }).map((all) => all.join('/')),
  );
  const check = () =>
    fc.assert(
      fc.property(path, (given) => {
        let parsed: readonly string[];
        try {
          parsed = parsePath(given);
        } catch (error) {
          return error instanceof StatusError && error.code === 'INVALID_ARGUMENT';
        }
        const plain = parsed.every((name) => !['', '.', '..'].includes(name) && !/[/\0]/.test(name));
        const normal = posix.join('/', given).replace(/\/$/, '');
        const same = normal === `${parsed.length > 0 ? '/' : ''}${joinNames(parsed)}`;
        return plain && same && joinNames(parsePath(joinNames(parsed))) === joinNames(parsed);
      }),
      { numRuns: 2_000 },
    );
  t.notThrows(check);
});

test('F-08: a secret property is starred out however it is spelled, and nothing else is', (t) => {
  const key = fc.constantFrom('rcon.password', 'management-server-secret', 'motd', 'rcon.port', 'a b', 'rcon');
  const entry = fc.tuple(key, fc.string({ unit: fc.constantFrom('a', '\\', '=', ' ', '\n', 'é', '#', 'S') }));
  fc.assert(
    fc.property(fc.array(entry), fc.constantFrom('\n', '\r\n', '\r'), (entries, end) => {
      const properties = new Map(entries);
      const file = Buffer.from(`#comment${end}${formatProperties(properties).replaceAll('\n', end)}`, 'latin1');
      const masked = maskProperties(file);
      const seen = parseProperties(masked.toString('latin1'));
      t.is(masked.length, file.length);
      for (const [key, value] of parseProperties(file.toString('latin1'))) {
        if (!['rcon.password', 'management-server-secret'].includes(key)) t.is(seen.get(key), value);
        else t.regex(seen.get(key) ?? '', /^\**$/);
      }
    }),
  );
  const odd = [
    'rcon.password=hunter2',
    '  rcon.password : hunter2',
    'rcon.password hunter2',
    'rcon.password\thunter2',
    String.raw`rcon\u002epassword=hunter2`,
    String.raw`\rcon.password=hunter2`,
    'rcon.pass\\\n   word=hunter2',
    'rcon.password=hun\\\nter2',
    'rcon.password=\\\r\n  hunter2\nmotd=x',
    '!c\\\nrcon.password=hunter2',
    'rcon.password=a\nrcon.password=hunter2\\',
  ];
  for (const text of odd) {
    const seen = maskProperties(Buffer.from(text)).toString();
    t.notRegex(seen, /hunter2|hun|ter2/, text);
    t.is(seen.length, text.length);
  }
});

test('F-08: server.properties is shown without its secrets, by every way out', async (t) => {
  const { jail, put, see, root } = await cage(t);
  const file = 'motd=Castle\nrcon.password=hunter2\nview-distance=10\n';
  const shown = 'motd=Castle\nrcon.password=*******\nview-distance=10\n';
  put('server.properties', file);
  put('server.properties.0123456789ab.tmp', file);
  t.is(await read(jail, 'server.properties'), shown);
  t.is(await read(jail, 'server.properties.0123456789ab.tmp'), shown, 'left by a kill');
  t.is((await jail.stat('server.properties')).sizeBytes, shown.length);
  await using opened = await jail.open('server.properties');
  t.is((await opened.read(12, 100)).toString(), shown.slice(12));
  await t.throwsAsync(async () => opened.write(0, Buffer.from('x')));
  await jail.copy('server.properties', 'copy.txt');
  t.is(see('copy.txt'), shown);
  for await (const entry of jail.tree('')) {
    if (!entry.name.startsWith('server.properties')) continue;
    await using found = await entry.open();
    t.is((await found.read(0, 100)).toString(), shown);
  }
  // Moved or half overwritten it could be read: neither is done.
  await refused(t, () => jail.rename('server.properties', 'x.txt'), ['PATH_PROTECTED'], 'moved');
  for (const how of [{}, { create: true }, { exclusive: true }])
    await refused(
      t,
      async () => jail.open('server.properties', { write: true, ...how }),
      ['PATH_PROTECTED'],
      'in place',
    );
  await jail.rename('server.properties', 'server.properties.old');
  t.is(await read(jail, 'server.properties.old'), shown);
  // Written whole it is the owner's; Dormouse sets its own entries at each boot.
  await write(jail, 'server.properties', 'motd=New\n');
  t.is(see('server.properties'), 'motd=New\n');
  await jail.remove('server.properties');
  put('server.properties', 'x'.repeat(2 * 1024 * 1024));
  await refused(t, () => read(jail, 'server.properties'), ['PATH_PROTECTED'], 'too large to be one');
  await using service = await openJail(root, { secrets: 'open' });
  t.is(await read(service, 'server.properties.old'), file, 'the service itself sees it');
});

test('F-08: what only the service reads is not there', async (t) => {
  for (const path of ['.rcon-cli.env', '.rcon-cli.yaml', '.dormouse-properties', '.dormouse-tmp']) {
    const { jail, put, see } = await cage(t);
    if (path !== '.dormouse-tmp') put(path, 'password=hunter2');
    else put(`${path}/x`, 'hunter2');
    put('there', 'x');
    put('sub/there', 'x');
    for (const name of ['stat', 'entries', 'tree', 'read', 'rename from', 'copy from', 'remove'])
      await refused(t, () => EVERY[name]!(jail, path), ['PATH_NOT_FOUND'], `${name} ${path}`);
    for (const name of ['open', 'replace', 'mkdir', 'rename to', 'copy to', 'setAttributes'])
      await refused(t, () => EVERY[name]!(jail, `/./${path}`), ['PATH_PROTECTED', 'PATH_NOT_FOUND'], `${name} ${path}`);
    t.deepEqual(await names(jail, ''), ['sub', 'there']);
    t.deepEqual((await each(jail.tree(''))).map((entry) => entry.path).sort(), ['sub', 'sub/there', 'there']);
    if (path !== '.dormouse-tmp') t.is(see(path), 'password=hunter2');
  }
});

test('F-08: what the image runs as shell may be read and removed, not written', async (t) => {
  for (const path of [
    '.install-modrinth.env',
    '.install-fabric.env',
    '.run-forge.env',
    '.paper.env',
    '.mc-health.env',
  ]) {
    const { jail, put, see } = await cage(t);
    put(path, 'VERSION=1');
    put('there', 'x');
    t.is(await read(jail, path), 'VERSION=1');
    for (const name of ['open', 'replace', 'mkdir', 'rename to', 'copy to', 'setAttributes'])
      await refused(t, () => EVERY[name]!(jail, path), ['PATH_PROTECTED'], `${name} ${path}`);
    await refused(
      t,
      async () => {
        await using stage = await jail.stage();
        await (await stage.create(path)).close();
        await stage.mergeInto('');
      },
      ['PATH_PROTECTED'],
      'by an archive',
    );
    t.is(see(path), 'VERSION=1');
    await jail.remove(path);
    await refused(t, () => write(jail, path, 'x'), ['PATH_PROTECTED'], 'made anew');
  }
});

test('F-08: eula.txt and the lists are their owner’s', async (t) => {
  const { jail, see } = await cage(t);
  for (const path of ['eula.txt', 'ops.json', 'whitelist.json', 'banned-players.json', 'sub/.rcon-cli.env']) {
    await write(jail, path, 'mine');
    await jail.rename(path, 'x');
    await jail.rename('x', path);
    t.is(see(path), 'mine');
  }
});

test('F-07: a file is replaced whole, or stays as it was', async (t) => {
  const { jail, root, put, see } = await cage(t);
  put('run.sh', 'old');
  chmodSync(join(root, 'run.sh'), 0o750);
  {
    await using begun = await jail.replace('run.sh');
    await begun.write(Buffer.from('half of the n'));
    t.is(see('run.sh'), 'old');
  }
  t.is(see('run.sh'), 'old');
  t.deepEqual(readdirSync(join(root, '.dormouse-tmp')), [], 'nothing is left behind');
  await using one = await jail.replace('run.sh');
  await using two = await jail.replace('run.sh');
  await one.write(Buffer.from('one'));
  await two.write(Buffer.from('two, longer'));
  t.is((await two.commit()).replacedBytes, 3);
  t.is((await one.commit()).replacedBytes, 11);
  t.is(see('run.sh'), 'one');
  t.is(statSync(join(root, 'run.sh')).mode & 0o777, 0o750, 'and keeps its mode');
  await refused(t, async () => jail.replace('run.sh', { exclusive: true }), ['PATH_EXISTS'], 'exclusive');
  await using late = await jail.replace('new', { exclusive: true });
  put('new', 'was quicker');
  await refused(t, () => late.commit(), ['PATH_EXISTS'], 'exclusive at the end too');
});

test('of two that come to one free name, one gets it and the other is told; nothing is lost', async (t) => {
  const { jail, root, put, see } = await cage(t);
  const outcomes = async (...works: Promise<unknown>[]) => {
    const ended = await Promise.allSettled(works);
    for (const end of ended) {
      if (end.status === 'rejected') t.is((end.reason as StatusError).reason, 'PATH_EXISTS');
    }
    return ended.map(({ status }) => status).toSorted();
  };
  const upload = async (content: string) => {
    await using replacement = await jail.replace('upload', { exclusive: true });
    await replacement.write(Buffer.from(content));
    await replacement.commit();
  };
  put('a', 'a');
  put('b', 'b');
  put('from-a/file', 'a');
  put('from-b/file', 'b');
  mkdirSync(join(root, 'empty-a'));
  mkdirSync(join(root, 'empty-b'));
  symlinkSync('a', join(root, 'link-a'));
  symlinkSync('b', join(root, 'link-b'));
  const one = ['fulfilled', 'rejected'];
  t.deepEqual(await outcomes(jail.rename('a', 'file'), jail.rename('b', 'file')), one, 'files');
  t.deepEqual(await outcomes(jail.rename('from-a', 'dir'), jail.rename('from-b', 'dir')), one, 'directories');
  t.deepEqual(await outcomes(jail.rename('empty-a', 'none'), jail.rename('empty-b', 'none')), one, 'empty ones');
  t.deepEqual(await outcomes(jail.rename('link-a', 'link'), jail.rename('link-b', 'link')), one, 'links');
  t.deepEqual(await outcomes(jail.rename('file', 'mixed'), jail.rename('dir', 'mixed')), one, 'a file and a directory');
  const all = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const files = all.filter((name) => lstatSync(join(root, name)).isFile());
  t.deepEqual(files.map(see).toSorted(), ['a', 'a', 'b', 'b']);
  t.deepEqual(await outcomes(upload('1'), upload('2')), one, 'uploads');
  t.is(statSync(join(root, 'upload')).nlink, 1, 'with one name');
  t.deepEqual(await outcomes(jail.copy('upload', 'copied'), jail.copy('upload', 'copied')), one, 'copies');
  t.deepEqual(readdirSync(join(root, '.dormouse-tmp')), []);
});

test('what a killed process left is removed at the next use; what is under way is not', async (t) => {
  const { jail, root, put } = await cage(t);
  put('.dormouse-tmp/0123456789ab-0123456789ab/world/level.dat', 'x');
  put('.dormouse-tmp/0123456789ab-aaaaaaaaaaaa', 'x');
  await using upload = await jail.replace('a');
  await upload.write(Buffer.from('x'));
  await (await openJail(root)).close();
  t.is(readdirSync(join(root, '.dormouse-tmp')).length, 1);
  await upload.commit();
  t.deepEqual(readdirSync(root).sort(), ['.dormouse-tmp', 'a']);
});

test('the place for temporary files may be a link of a plugin’s, and is not followed', async (t) => {
  const { jail, root, outside } = await cage(t);
  symlinkSync(outside, join(root, '.dormouse-tmp'));
  await (await openJail(root)).close();
  await write(jail, 'a', 'x');
  t.deepEqual(readdirSync(outside), ['secret']);
  t.false(lstatSync(join(root, '.dormouse-tmp')).isSymbolicLink());
});

test('F-11: what is made belongs to the game at once', async (t) => {
  if (process.getuid?.() !== 0) {
    t.pass('only root gives files away');
    return;
  }
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

test('a stage is joined with what is there, or not at all', async (t) => {
  const { jail, root, put, see } = await cage(t);
  put('world/level.dat', 'old');
  put('world/keep', 'kept');
  put('file', 'x');
  const staged = async (files: Record<string, string>, into: string) => {
    await using stage = await jail.stage();
    for (const [path, content] of Object.entries(files)) {
      await using file = await stage.create(path);
      await file.write(0, Buffer.from(content));
    }
    await stage.mergeInto(into);
  };
  await staged({ 'level.dat': 'new', 'region/r.0.0.mca': 'r' }, 'world');
  t.is(see('world/level.dat'), 'new');
  t.is(see('world/keep'), 'kept');
  t.is(see('world/region/r.0.0.mca'), 'r');
  await refused(t, () => staged({ a: 'x', 'file/x': 'x' }, ''), ['NOT_A_DIRECTORY'], 'a directory for a file');
  await refused(t, () => staged({ a: 'x', 'world/region': 'x' }, ''), ['NOT_A_FILE'], 'a file for a directory');
  t.false(existsSync(join(root, 'a')), 'nothing of it was moved');
  t.deepEqual(readdirSync(join(root, '.dormouse-tmp')), []);
});

test('however deep a tree is, it can be removed', async (t) => {
  const { jail, root } = await cage(t);
  const script = 'for i in $(seq 300); do mkdir dddddddddd && cd dddddddddd && : > f || exit 1; done';
  execFileSync('sh', ['-c', script], { cwd: root });
  await refused(t, () => jail.copy('dddddddddd', 'x'), ['TREE_TOO_DEEP'], 'copied');
  await jail.remove('dddddddddd');
  t.deepEqual(readdirSync(root), ['.dormouse-tmp']);
  t.deepEqual(readdirSync(join(root, '.dormouse-tmp')), []);
});

test('what a path can name is carried: a folder at the deepest level, and nothing is moved or copied below it', async (t) => {
  const { jail, root } = await cage(t);
  const path = (name: string, levels: number) => Array.from({ length: levels }, () => name).join('/');
  await jail.mkdir(path('d', 64));
  let met = 0;
  for await (const _ of jail.tree('')) met += 1;
  t.is(met, 64);
  await jail.mkdir('e/e');
  await refused(t, () => jail.rename('e', `${path('d', 63)}/e`), ['TREE_TOO_DEEP'], 'moved');
  await refused(t, () => jail.copy('e', `${path('d', 63)}/e`), ['TREE_TOO_DEEP'], 'copied');
  await jail.rename('e', `${path('d', 62)}/e`);
  // Not deep, but too long to be named.
  const long = 'l'.repeat(240);
  await jail.mkdir(path(long, 15));
  await jail.mkdir(`m/${path(long, 15)}`);
  await refused(t, () => jail.rename(long, `m/${path(long, 15)}/x`), ['TREE_TOO_DEEP'], 'moved');
  await jail.rename(long, 'm/x');
  t.deepEqual(readdirSync(join(root, 'm')).sort(), [long, 'x'].sort());
});

test('folders that a plugin has locked are removed as well; what cannot be removed keeps nobody from the files', async (t) => {
  if (process.getuid?.() !== 0) {
    t.pass('only root can become somebody else');
    return;
  }
  const { root, put } = await cage(t);
  put('.dormouse-tmp/0123456789ab-aaaaaaaaaaaa/file', 'root’s');
  const nobody = 65_534;
  for (const path of ['', '.dormouse-tmp']) chownSync(join(root, path), nobody, nobody);
  chmodSync(join(root, '..'), 0o755);
  const script = join(import.meta.dirname, 'unprivileged.ts');
  const said = execFileSync(process.execPath, [script, root], { uid: nobody, gid: nobody, encoding: 'utf8' });
  t.deepEqual(JSON.parse(said), {
    left: [['.dormouse-tmp', 'uploaded'], ['0123456789ab-aaaaaaaaaaaa']],
    warnings: ['what an earlier run left in a server’s files could not be removed'],
  });
});

test('names that are no text are listed, copied and removed', async (t) => {
  const { jail, root } = await cage(t);
  const name = Buffer.concat([Buffer.from(`${root}/d/`), Buffer.from([0x61, 0xff, 0x62])]);
  mkdirSync(join(root, 'd'));
  writeFileSync(name, 'bytes');
  t.deepEqual(await names(jail, 'd'), ['a\ufffdb']);
  t.is(await jail.copy('d', 'e'), 5);
  await jail.remove('d');
  t.false(existsSync(join(root, 'd')));
});

test('what a walk meets may be opened while it goes on, also out of directories that it is leaving', async (t) => {
  const { jail, put } = await cage(t);
  const paths = Array.from({ length: 600 }, (_, n) => (n < 300 ? `many/${n}` : `d${n}/inside/${n}`));
  for (const path of paths) put(path, path);
  const files: { path: string; opening: Promise<JailFile> }[] = [];
  for await (const entry of jail.tree('')) {
    if (entry.kind === 'file') files.push({ path: entry.path, opening: entry.open() });
  }
  for (const { path, opening } of files) {
    await using file = await opening;
    t.is((await file.read(0, 100)).toString(), path);
  }
  t.is(files.length, paths.length);
});

test('every descriptor is closed, whatever happens', async (t) => {
  const { jail, root, put } = await cage(t);
  put('there', 'x');
  put('dir/a', 'x');
  symlinkSync('/etc', join(root, 'link'));
  const ours = () =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(root);
      } catch {
        return false;
      }
    }).length;
  const before = ours();
  const paths = ['dir/a', 'dir', 'none', 'none/x', 'there/x', 'link', 'link/x', '.rcon-cli.env', '..', 'new'];
  for (const work of Object.values(EVERY)) for (const path of paths) await work(jail, path).catch(() => {});
  for await (const _ of jail.tree('')) break;
  for await (const _ of jail.entries('')) break;
  await write(jail, 'last', 'x');
  (await jail.open('last')).stream().destroy();
  // Those of streams are closed when what others do with files lets them.
  for (const end = Date.now() + 30_000; ours() > before && Date.now() < end;) await delay(5);
  t.is(ours(), before);
});

test('where there is no /proc to walk by, files are refused, in words', (t) => {
  for (const [platform, descriptors] of [
    ['darwin', '/proc/self/fd'],
    ['linux', '/proc/none'],
  ] as const)
    t.throws(() => requireProc(platform, descriptors), { instanceOf: StatusError, message: /need Linux with \/proc/ });
});
