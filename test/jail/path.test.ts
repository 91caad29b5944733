import { readdirSync, statSync } from 'node:fs';
import { posix } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import * as fc from '../support/property.ts';
import { joinNames, parsePath } from '../../src/jail/path.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { cage, read, write, names, EVERY, refused, refusedEverywhere } from './cage.ts';

test('every operation refuses a path that leaves the root', async (t) => {
  const paths = ['../../etc/passwd', '..', 'a/../..', '../root-sibling/secret', '/../root-sibling', 'there/../../x'];
  await refusedEverywhere(t, paths, ['INVALID_PATH']);
});

test('every operation refuses NUL bytes, lone surrogates, long names, and long or deep paths', async (t) => {
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

test('a backslash is a plain character', plainName, [String.raw`..\..\windows\win.ini`, String.raw`a\b`]);
test('percent signs are not decoded', plainName, ['%2e%2e%2f', '%2e%2e/x', '%00']);
test('names may contain consecutive dots', plainName, ['....//....//x'.replaceAll('//', '/'), '...', '..a', 'a..']);
test('names reserved on Windows are allowed', plainName, ['CON', 'NUL', 'AUX', 'COM1', 'dot.', 'space ']);
test('Windows drives, shares and streams are plain names', plainName, [
  String.raw`C:\x`,
  String.raw`\\host\share`,
  'x:ads',
]);

test('an absolute path is relative to the root', async (t) => {
  const { jail, see } = await cage(t);
  await refused(t, () => read(jail, '/etc/passwd'), ['PATH_NOT_FOUND'], 'read');
  await write(jail, '/etc/passwd', 'mine');
  t.is(see('etc/passwd'), 'mine');
});

test('the root itself cannot be moved, removed, written or changed', async (t) => {
  const { jail, root, put } = await cage(t);
  put('there', 'x');
  for (const path of ['', '.', '/', 'there/..', '../hosting/'])
    for (const name of ['rename from', 'rename to', 'remove', 'replace', 'open', 'mkdir', 'copy to', 'setAttributes'])
      await refused(t, () => EVERY[name]!(jail, path), ['INVALID_PATH', 'PATH_WITHIN_ITSELF'], `${name} '${path}'`);
  t.true(statSync(root).isDirectory());
  t.is((await jail.stat('/')).kind, 'directory');
});

test('a directory cannot be moved or copied into itself or below itself', async (t) => {
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

test('composed and decomposed Unicode names are separate files', async (t) => {
  const { jail } = await cage(t);
  const [composed, decomposed] = ['é'.normalize('NFC'), 'é'.normalize('NFD')];
  await write(jail, composed, 'one');
  await write(jail, decomposed, 'two');
  t.is(await read(jail, composed), 'one');
  t.is(await read(jail, decomposed), 'two');
  t.deepEqual((await names(jail, '')).length, 2);
});

test('any path text is either refused or stays within the root', (t) => {
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
