import { randomBytes } from 'node:crypto';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { extract, pack } from 'tar-stream';
import { tarOf } from '../../src/backups/pack.ts';
import { namedInArchive } from '../../src/files/archives/format.ts';
import type { ReadEntry } from '../../src/jail/read-tree.ts';
import { MIB } from '../../src/kernel/units.ts';
import * as fc from '../support/property.ts';

const run = promisify(execFile);

function entry(path: string, given: Partial<ReadEntry> & { content?: Buffer } = {}): ReadEntry {
  const { content = Buffer.alloc(0), ...rest } = given;
  const read = (buffer: Buffer, offset: number, length: number, position: number) =>
    content.subarray(position, position + length).copy(buffer, offset);
  return { path, kind: 'file', sizeBytes: content.length, mode: 0o644, modifiedAt: 0, read, ...rest };
}

/** Concatenates the blocks of a tar, copying each before the next is requested. */
function whole(entries: Iterable<ReadEntry>): Buffer {
  return Buffer.concat(
    Array.from(
      tarOf(entries, () => {}),
      (block) => Buffer.from(block),
    ),
  );
}

async function byTarStream(entries: readonly ReadEntry[]): Promise<Buffer> {
  const tar = pack();
  const chunks: Buffer[] = [];
  const read = (async () => {
    for await (const chunk of tar) chunks.push(chunk as Buffer);
  })();
  for (const each of entries) {
    const content = Buffer.alloc(each.sizeBytes);
    each.read(content, 0, content.length, 0);
    const { mode, modifiedAt, kind } = each;
    const header = { ...namedInArchive(each), mode, mtime: new Date(modifiedAt), type: kind };
    if (kind === 'file') tar.entry(header, content);
    else tar.entry(header);
  }
  tar.finalize();
  await read;
  return Buffer.concat(chunks);
}

const name = fc.oneof(
  fc.string({
    unit: fc.constantFrom('a', 'Z', '0', ' ', '.', '-', '\n', '=', 'ü', '漢', '😀'),
    minLength: 1,
    maxLength: 20,
  }),
  fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 60, maxLength: 255 }),
);
const anEntry = fc.record({
  path: fc.array(name, { minLength: 1, maxLength: 6 }).map((names) => names.join('/')),
  isText: fc.boolean(),
  isFile: fc.boolean(),
  mode: fc.integer({ min: 1, max: 0o777 }),
  modifiedAt: fc.integer({ min: 0, max: 2 ** 31 * 1_000 - 1 }),
  sizeBytes: fc.oneof(fc.nat(2_000), fc.constantFrom(0, 511, 512, 513, MIB - 512, MIB - 511, MIB, 2 * MIB + 3)),
});

test('a tar is byte-identical to the output of tar-stream for any entry names and sizes', async (t) => {
  const bytes = randomBytes(3 * MIB);
  await fc.assert(
    fc.asyncProperty(fc.array(anEntry, { maxLength: 12 }), async (given) => {
      const entries = given.map(({ path, isText, isFile, mode, modifiedAt, sizeBytes }) =>
        entry(path, {
          ...(!isText && { bytes: Buffer.concat([Buffer.from(path), Buffer.from([0xff])]) }),
          ...(isFile ? { content: bytes.subarray(0, sizeBytes) } : { kind: 'directory' }),
          mode,
          modifiedAt,
        }),
      );
      const ours = whole(entries);
      t.true(ours.equals(await byTarStream(entries)));
    }),
    { numRuns: 100 },
  );
});

test('GNU tar reads long names, many small files, and times before 1970, after 2038 and in far years', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-tar-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const long = 'n'.repeat(90);
  const small = Array.from({ length: 3_000 }, (_, n) =>
    entry(`s${n}`, { content: Buffer.from(`${n}`.repeat(n % 300)) }),
  );
  const entries = [
    entry('dir', { kind: 'directory', mode: 0o750 }),
    entry('dir/ümlaut 漢字', { content: Buffer.from('x'), mode: 0o600 }),
    entry(`${long}/${long}/${long}/${long}`, { content: Buffer.from('deep') }),
    entry('later', { modifiedAt: Date.UTC(2100, 0) }),
    entry('before', { modifiedAt: -5_000 }),
    entry('far', { modifiedAt: Date.UTC(9999, 0) }),
    entry('locked', { mode: 0 }),
    ...small,
  ];
  const path = join(folder, 'a.tar');
  await writeFile(path, whole(entries));
  const out = await mkdtemp(join(folder, 'out-'));
  await run('tar', ['-C', out, '-xf', path]);
  t.is(await readFile(join(out, 'dir/ümlaut 漢字'), 'utf8'), 'x');
  t.is(await readFile(join(out, long, long, long, long), 'utf8'), 'deep');
  t.is((await stat(join(out, 'later'))).mtimeMs, Date.UTC(2100, 0));
  t.deepEqual([(await stat(join(out, 'before'))).mtimeMs, (await stat(join(out, 'locked'))).mode & 0o777], [0, 0]);
  t.is((await stat(join(out, 'far'))).mtimeMs, (8 ** 11 - 1) * 1_000, 'the latest time that a header can hold');
  t.is((await readdir(out)).length, small.length + 6);
  for (const n of [0, 1, 299, 2_999]) t.is(await readFile(join(out, `s${n}`), 'utf8'), `${n}`.repeat(n % 300));
});

test('a tar header states the size of a file larger than 8 GiB', async (t) => {
  const sizeBytes = 9 * 2 ** 30 + 7;
  // The header is enough; the content is never produced.
  const [block] = tarOf([entry('huge', { sizeBytes })], () => {});
  const tar = extract();
  const found = new Promise((resolve) => void tar.once('entry', ({ size }) => resolve(size)));
  tar.write(Buffer.from(block!.subarray(0, 512)));
  t.is(await found, sizeBytes);
  tar.destroy();
});
