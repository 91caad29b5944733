import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { crc32, createGzip, gzipSync } from 'node:zlib';
import test from 'ava';
import { pack as tarPack } from 'tar-stream';
import { type ArchivePiece, readArchive } from '../../src/files/archives/read-job.ts';
import { unpack } from '../../src/files/archives/read.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { filesApi, tar, zip } from './files-api.ts';
import { isThorough } from '../support/needs.ts';

for (const ending of ['zip', 'tar', 'tar.gz', 'tgz', 'tar.zst'])
  test(`files packed into .${ending} are extracted unchanged`, async (t) => {
    const { put, post, root, see, tree } = await filesApi(t);
    const content = randomBytes(700_000);
    put('world/region/r.0.0.mca', content);
    put('world/é ☃.txt', 'snow');
    put('world/empty.txt', '');
    put(`world/${'long/'.repeat(40)}name`, 'deep');
    mkdirSync(join(root, 'world/none'));
    put('plugins/a.jar', 'jar');
    symlinkSync('/etc/passwd', join(root, 'world/link'));
    const packed = await post(':archive', { paths: ['/world', 'plugins/a.jar'], to: `out/pack.${ending}` });
    t.is(packed.status, 200, packed.text);
    const { size, mtimeMs } = statSync(join(root, `out/pack.${ending}`));
    t.deepEqual(packed.json, {
      name: `pack.${ending}`,
      isDir: false,
      size: String(size),
      // Node's dates have no fractions of a millisecond.
      modifiedAt: new Date(Math.trunc(mtimeMs)).toISOString(),
    });
    // The format is detected by content, whatever the file name.
    await post(':rename', { from: `out/pack.${ending}`, to: 'out/packed' });
    const extracted = await post(':extract', { path: 'out/packed', to: 'again/here' });
    t.deepEqual(extracted.json, { extracted: String(content.length + 4 + 4 + 3) }, extracted.text);
    t.true(readFileSync(join(root, 'again/here/world/region/r.0.0.mca')).equals(content));
    t.is(see('again/here/world/é ☃.txt'), 'snow');
    t.is(see('again/here/plugins/a.jar'), 'jar');
    t.true(statSync(join(root, 'again/here/world/none')).isDirectory());
    t.false(tree().includes('again/here/world/link'));
    t.is((await post(':archive', { paths: ['world'], to: `out/packed.${ending}` })).status, 200);
    t.is((await post(':archive', { paths: ['world'], to: `out/packed.${ending}` })).reason, 'PATH_EXISTS');
  });

async function zipNamed(name: string): Promise<Buffer> {
  const plain = 'n'.repeat(name.length);
  return Buffer.from((await zip([plain, 'x'])).toString('latin1').replaceAll(plain, name), 'latin1');
}

/** Changes the general purpose flags of a zip's one entry, in its local header and in the directory. */
function reflagged(bytes: Buffer, change: (flags: number) => number): Buffer {
  for (const [mark, offset] of [
    ['PK\x03\x04', 6],
    ['PK\x01\x02', 8],
  ] as const) {
    const at = bytes.indexOf(mark, 0, 'latin1') + offset;
    bytes.writeUInt16LE(change(bytes.readUInt16LE(at)), at);
  }
  return bytes;
}

const HOSTILE: Record<string, () => Promise<Buffer>> = {
  'a zip that climbs out': () => zipNamed('../../x'),
  'a zip that begins at the root': () => zipNamed('/etc/x'),
  'a zip that climbs by backslashes': () => zipNamed(String.raw`..\..\x`),
  'a tar that climbs out': () => tar([{ name: '../../x' }, 'x']),
  'a tar that climbs within': () => tar([{ name: 'a/../x' }, 'x']),
  'a symlink in a tar': () => tar([{ name: 'a', type: 'symlink', linkname: '/' }], [{ name: 'a/etc/x' }, 'x']),
  'a chain of links in a tar': () =>
    tar(
      [{ name: 'c', type: 'directory' }],
      [{ name: 'c/up', type: 'symlink', linkname: '../..' }],
      [{ name: 'escape', type: 'symlink', linkname: 'c/up/..' }],
      [{ name: 'hard', type: 'link', linkname: 'escape/x' }],
    ),
  'a hard link in a tar': () => tar([{ name: 'hard', type: 'link', linkname: '/etc/passwd' }]),
  'a device in a tar': () => tar([{ name: 'zero', type: 'character-device', devmajor: 1, devminor: 5 }]),
  'a pipe in a tar': () => tar([{ name: 'pipe', type: 'fifo' }]),
  'a symlink in a zip': () => zip(['link', '/etc/passwd', 0o120777]),
  'a device in a zip': () => zip(['zero', '', 0o020666]),
  'a name of 256 bytes': () => zip(['n'.repeat(256), 'x']),
  '65 levels': () => tar([{ name: `${'d/'.repeat(64)}d` }, 'x']),
  'a tar.gz that ends early': async () => gzipSync(await tar([{ name: 'x' }, randomBytes(50_000)])).subarray(0, 30_000),
  'a tar that ends early': async () => (await tar([{ name: 'x' }, randomBytes(50_000)])).subarray(0, 30_000),
  'a zip that ends early': async () => (await zip(['x', 'y'.repeat(500)])).subarray(0, -30),
  'an encrypted zip': async () => {
    return reflagged(await zip(['x', 'secret']), (flags) => flags | 1);
  },
  'an unknown compression': async () => {
    const bytes = await zip(['x', 'y'.repeat(500)]);
    bytes.writeUInt16LE(99, bytes.indexOf('PK\x01\x02', 0, 'latin1') + 10);
    return bytes;
  },
  'a zip entry larger than it declares': async () => {
    const bytes = await zip(['x', 'y'.repeat(5_000)]);
    bytes.writeUInt32LE(1, bytes.indexOf('PK\x01\x02', 0, 'latin1') + 24);
    return bytes;
  },
  'random bytes': async () => randomBytes(2_000),
  'an empty file': async () => Buffer.alloc(0),
};

for (const [title, make] of Object.entries(HOSTILE))
  test(`extracting a bad archive is refused and changes nothing: ${title}`, async (t) => {
    const { put, post, tree, root, disk, see } = await filesApi(t);
    put('there', 'x');
    put('archive', await make());
    const answer = await post(':extract', { path: 'archive', to: '' });
    t.is(answer.status, 400, answer.text);
    t.true(['BAD_ARCHIVE', 'UNKNOWN_ARCHIVE'].includes(answer.reason), answer.text);
    t.deepEqual(tree(), ['archive', 'there']);
    t.is(see('there'), 'x');
    t.deepEqual(readdirSync(join(root, '.dormouse-tmp')), []);
    t.deepEqual([disk.usedBytes, disk.openBytes], [0, 0]);
  });

test('extraction handles backslashes, folders marked only by attribute, and ./ prefixes from other programs', async (t) => {
  const { put, post, see, tree } = await filesApi(t);
  put('windows.zip', await zipNamed(String.raw`plugins\Essentials\config.yml`));
  t.is((await post(':extract', { path: 'windows.zip', to: 'a' })).status, 200);
  t.is(see('a/plugins/Essentials/config.yml'), 'x');
  const tarred = await tar([{ name: './', type: 'directory' }], [{ name: './world/level.dat' }, 'level']);
  put('panel.tar', tarred);
  t.is((await post(':extract', { path: 'panel.tar', to: '' })).status, 200);
  t.is(see('world/level.dat'), 'level');
  const bytes = await zip(['empty', '']);
  bytes.writeUInt16LE(0x0014, bytes.indexOf('PK\x01\x02', 0, 'latin1') + 4);
  bytes.writeUInt32LE(0x10, bytes.indexOf('PK\x01\x02', 0, 'latin1') + 38);
  put('folder.zip', bytes);
  t.is((await post(':extract', { path: 'folder.zip', to: 'b' })).status, 200);
  put('b/empty/file', 'x');
  t.true(tree().includes('b/empty/file'));
});

/** A zip whose entry name is encoded in a code page, as written by Windows. */
async function zipOfCodePage(hex: string): Promise<Buffer> {
  const name = Buffer.from(hex, 'hex').toString('latin1');
  return reflagged(await zipNamed(name), (flags) => flags & ~0x800);
}

for (const [hex, name] of [
  ['476f2e747874', 'Go.txt'],
  ['47729494e1652e747874', 'Grööße.txt'],
  ['4b9b62656e6861766e2e747874', 'København.txt'],
  ['8e5c615c9a2e747874', undefined],
  ['615c9a2e747874', 'a/Ü.txt'],
  ['c3a92e747874', 'é.txt'],
  ['b2e2cad42e747874', undefined],
  ['d0c2b5c4cac0bde72f6c6576656c2e646174', '新的世界/level.dat'],
  ['cad4d1e95c955cd0c2b5c4cac0bde72e747874', undefined],
  ['d0c2b5c4cac0bde7d6d0b9fab7fecef1c6f7cee4c1d65c955c2e747874', '新的世界中国服务器武林/昞.txt'],
  ['b0a1b3aab4d9b6f3b8b6b9d92e747874', undefined],
  ['a67ba740a5c1b7b3a4bba4a4a4e52e747874', undefined],
  ['d55c2e747874', undefined],
  ['815c2e747874', undefined],
  ['a4c42e747874', undefined],
  ['9c2e747874', undefined],
  ['906c826d656e7473', 'Éléments'],
  ['826c8a76652e747874', 'élève.txt'],
  ['8274822e747874', 'été.txt'],
  ['61208520622e747874', 'a à b.txt'],
  ['837d836283762e747874', undefined],
  ['836f815b8393312e747874', undefined],
  ['a470a4482e747874', undefined],
  ['a3a4a52e747874', undefined],
  ['80842e747874', undefined],
  ['6b7369a567612e747874', undefined],
] as const)
  test(`the zip entry name bytes ${hex} are decoded as ${name ?? 'none: its encoding is unknown'}`, async (t) => {
    const bytes = await zipOfCodePage(hex);
    const pieces = Readable.from(readArchive.work({ sizeBytes: bytes.length, bytes, below: '' }));
    const decoded = pieces.map(({ entry }: ArchivePiece) => entry?.path).toArray();
    if (name !== undefined) {
      t.deepEqual(await decoded, [name]);
      return;
    }
    const error = await t.throwsAsync(decoded, { instanceOf: StatusError });
    t.is(error.reason, 'BAD_ARCHIVE');
    t.regex(error.message, /names in an unknown encoding; pack it again with names in UTF-8/);
  });

test('the code page of zip names is detected through the API, and an unknown one leaves no files', async (t) => {
  const { put, post, see, tree } = await filesApi(t);
  put('known.zip', await zipOfCodePage('47729494e1652e747874'));
  t.is((await post(':extract', { path: 'known.zip', to: '' })).status, 200);
  t.is(see('Grööße.txt'), 'x');
  put('unknown.zip', await zipOfCodePage('80842e747874'));
  t.is((await post(':extract', { path: 'unknown.zip', to: 'out' })).reason, 'BAD_ARCHIVE');
  t.deepEqual(tree(), ['Grööße.txt', 'known.zip', 'unknown.zip']);
});

/** Adds an Info-ZIP Unicode path (APPNOTE 4.6.9) to the directory's one entry. */
function withUnicodePath(bytes: Buffer, name: string, checksum: number): Buffer {
  const field = Buffer.alloc(9);
  field.writeUInt16LE(0x7075, 0);
  field.writeUInt16LE(5 + Buffer.byteLength(name), 2);
  field.writeUInt8(1, 4);
  field.writeUInt32LE(checksum, 5);
  const added = Buffer.concat([field, Buffer.from(name)]);
  const entry = bytes.indexOf('PK\x01\x02', 0, 'latin1');
  const end = bytes.indexOf('PK\x05\x06', 0, 'latin1');
  bytes.writeUInt16LE(bytes.readUInt16LE(entry + 30) + added.length, entry + 30);
  bytes.writeUInt32LE(bytes.readUInt32LE(end + 12) + added.length, end + 12);
  const afterName = entry + 46 + bytes.readUInt16LE(entry + 28);
  return Buffer.concat([bytes.subarray(0, afterName), added, bytes.subarray(afterName)]);
}

test('the refusal of a zip with absolute names says so', async (t) => {
  const { put, post } = await filesApi(t);
  for (const name of ['/world/level.dat', String.raw`C:\server\level.dat`, '../level.dat']) {
    put('a.zip', await zipNamed(name));
    t.regex((await post(':extract', { path: 'a.zip', to: '' })).text, /a path that must stay within the archive/);
  }
});

test('a zip’s Unicode path replaces a name only if its checksum matches', async (t) => {
  const { put, post, tree } = await filesApi(t);
  const raw = Buffer.from('9d2e747874', 'hex');
  put('right.zip', withUnicodePath(await zipOfCodePage(raw.toString('hex')), '☃.txt', crc32(raw)));
  t.is((await post(':extract', { path: 'right.zip', to: 'right' })).status, 200);
  put('wrong.zip', withUnicodePath(await zipOfCodePage(raw.toString('hex')), '☃.txt', (crc32(raw) ^ 1) >>> 0));
  t.is((await post(':extract', { path: 'wrong.zip', to: 'wrong' })).status, 200);
  t.true(tree().includes('right/☃.txt'), tree().join(' '));
  t.true(tree().includes('wrong/Ø.txt'), tree().join(' '));
});

test('the refusal of an unsupported archive names its format or compression method', async (t) => {
  const { put, post } = await filesApi(t);
  for (const [method, name] of [
    [9, 'Deflate64'],
    [12, 'bzip2'],
    [14, 'LZMA'],
    [93, 'Zstandard'],
    [97, 'method 97'],
  ] as const) {
    const bytes = await zip(['x', 'y'.repeat(500)]);
    bytes.writeUInt16LE(method, bytes.indexOf('PK\x01\x02', 0, 'latin1') + 10);
    put('archive', bytes);
    const { reason, text } = await post(':extract', { path: 'archive', to: '' });
    t.is(reason, 'BAD_ARCHIVE');
    t.true(text.includes(`is compressed with ${name}, which is not supported here`), text);
  }
  for (const [magic, name] of [
    ['377abcaf271c0004', 'a 7z archive'],
    ['526172211a070100', 'a RAR archive'],
    ['fd377a585a000004', 'an archive compressed with XZ'],
    ['425a683931415926', 'an archive compressed with bzip2'],
  ] as const) {
    put('archive', Buffer.from(magic, 'hex'));
    const { reason, text } = await post(':extract', { path: 'archive', to: '' });
    t.is(reason, 'UNKNOWN_ARCHIVE');
    t.true(text.includes(`This is ${name}. Pack it as zip`), text);
  }
});

test('a decompression bomb stops at the archive size limit or the disk quota', async (t) => {
  const { put, post, tree, disk, root } = await filesApi(t, 8 * 1024 ** 3);
  const pack = tarPack();
  const gzip = createGzip();
  const packed = buffer(pack.pipe(gzip));
  const size = 64 * 1024 ** 2;
  const entry = pack.entry({ name: 'zeros', size });
  for (let done = 0; done < size; done += 1024 ** 2)
    if (!entry.write(Buffer.alloc(1024 ** 2)))
      await new Promise<void>((resolve) => void entry.once('drain', () => resolve()));
  entry.end(undefined);
  pack.finalize();
  put('bomb.tar.gz', await packed);
  t.is((await post(':extract', { path: 'bomb.tar.gz', to: 'x' })).reason, 'ARCHIVE_TOO_LARGE');
  disk.limitBytes = 1_000_000;
  t.is((await post(':extract', { path: 'bomb.tar.gz', to: 'x' })).reason, 'DISK_QUOTA_EXCEEDED');
  t.deepEqual(tree(), ['bomb.tar.gz']);
  t.deepEqual(readdirSync(join(root, '.dormouse-tmp')), []);
});

test.runIf(isThorough)(
  'an archive with over 100 000 entries is refused, as is a zip that lies about its entry count',
  async (t) => {
    const { put, post, tree, services } = await filesApi(t);
    const header = (await tar([{ name: 'd/', type: 'directory' }])).subarray(0, 512);
    put('many.tar', Buffer.concat([...Array.from({ length: 100_001 }, () => header), Buffer.alloc(1_024)]));
    await using jail = await services.files.jail('abc');
    await using archive = await jail.open('many.tar');
    const workers = createWorkerPool();
    t.teardown(() => workers.close());
    let count = 0;
    const unpacked = async () => {
      for await (const _ of unpack(archive, workers, { tenant: 'abc' })) count += 1;
    };
    await t.throwsAsync(unpacked, { message: /more than 100000 entries/ });
    t.is(count, 100_000);
    const bytes = await zip(['x', 'y']);
    const end = bytes.indexOf('PK\x05\x06', 0, 'latin1');
    bytes.writeUInt16LE(0xffff, end + 8);
    bytes.writeUInt16LE(0xffff, end + 10);
    put('lying.zip', bytes);
    t.is((await post(':extract', { path: 'lying.zip', to: 'x' })).status, 400);
    t.deepEqual(tree(), ['lying.zip', 'many.tar']);
  },
);

test('extracting with overwrite: false writes no files if one of them already exists', async (t) => {
  const { put, post, see, tree } = await filesApi(t);
  put('a.tar', await tar([{ name: 'fine' }, 'x'], [{ name: 'world/level.dat' }, 'old']));
  put('out/world/level.dat', 'new');
  const refused = await post(':extract', { path: 'a.tar', to: 'out', overwrite: false });
  t.is(refused.status, 409);
  t.is(refused.reason, 'PATH_EXISTS');
  t.regex(refused.text, /out\/world\/level\.dat/);
  t.is(see('out/world/level.dat'), 'new');
  t.false(tree().includes('out/fine'));
  t.is((await post(':extract', { path: 'a.tar', to: 'elsewhere', overwrite: false })).status, 200);
  t.is((await post(':extract', { path: 'a.tar', to: 'out' })).status, 200, 'by default existing files are replaced');
  t.is(see('out/world/level.dat'), 'old');
});

test('extraction keeps the last of duplicate names, drops set-uid bits and refuses protected names', async (t) => {
  const { put, post, see, root, tree } = await filesApi(t);
  put('a.tar', await tar([{ name: 'x' }, 'one'], [{ name: 'X' }, 'two'], [{ name: 'x', mode: 0o4755 }, 'three']));
  t.is((await post(':extract', { path: 'a.tar', to: 'out' })).status, 200);
  t.deepEqual([see('out/x'), see('out/X')], ['three', 'two']);
  t.is(statSync(join(root, 'out/x')).mode & 0o7000, 0);
  put('b.tar', await tar([{ name: 'fine' }, 'x'], [{ name: '.rcon-cli.env' }, 'password=x']));
  t.is((await post(':extract', { path: 'b.tar', to: '/' })).reason, 'PATH_PROTECTED');
  t.false(tree().includes('fine'));
  t.is((await post(':extract', { path: 'b.tar', to: 'out/x' })).status, 400);
});
