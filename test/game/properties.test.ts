import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { array, assert, constantFrom, dictionary, oneof, property, string } from '../support/property.ts';
import { managementSecret } from '../../src/game/management-settings.ts';
import { createPlayerFiles } from '../../src/game/players/files.ts';
import { formatProperties, parseProperties, pastedValue } from '../../src/game/properties/format.ts';
import {
  DEFAULT_MOTD,
  OWNED_PROPERTIES,
  acceptEula,
  mergeProperties,
  ownedProperties,
  readProperties,
  writeProperties,
} from '../../src/game/properties/properties.ts';
import { maskProperties } from '../../src/jail/secrets.ts';
import { PROPORTIONAL, growth, leastCpuMs } from '../support/cpu.ts';

const special = constantFrom(...'\\ \t\f\r\n=:#!u00e4é\u2028\u0000😀'.split(''));
const nasty = oneof(
  string({ unit: 'binary', maxLength: 40 }),
  array(special).map((chars) => chars.join('')),
);
const entries = dictionary(nasty, nasty).map((object) => new Map(Object.entries(object)));

async function dataRoot(t: ExecutionContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-properties-'));
  t.teardown(() => rm(dir, { recursive: true }));
  return dir;
}

test('formatted properties are parsed back unchanged, with one ASCII line per entry', (t) => {
  assert(
    property(entries, (properties) => {
      const text = formatProperties(properties);
      t.deepEqual(parseProperties(text), properties);
      t.is(text.split(/[\r\n\f\u2028]/).length, properties.size + 1);
      t.regex(text, /^[ -~\n]*$/);
    }),
    { numRuns: 2_000 },
  );
});

test('any text can be parsed as properties', (t) => {
  assert(property(nasty, (garbage) => parseProperties(garbage) instanceof Map));
  const long = (size: number) => void parseProperties(`${'\\'.repeat(size + 1)}x\n${' '.repeat(size)}y`);
  t.true(growth(long, 125_000) < PROPORTIONAL);
});

test('endless continuation lines are parsed and masked in linear time', (t) => {
  const read = parseProperties(`level-name=${'a\\\n'.repeat(350_000)}`);
  t.is(read.get('level-name'), 'a'.repeat(350_000));
  t.is(maskProperties(Buffer.from(`rcon.password=${'a\\\n'.repeat(250_000)}`)).indexOf('a', 14), -1);
  const readLines = (lines: number) => void parseProperties(`level-name=${'a\\\n'.repeat(lines)}`);
  t.true(growth(readLines, 44_000) < PROPORTIONAL);
  const mask = (lines: number) => void maskProperties(Buffer.from(`rcon.password=${'a\\\n'.repeat(lines)}`));
  t.true(growth(mask, 31_000) < PROPORTIONAL);
});

test('masking a properties file full of escapes takes less than eight times as long as a plain one', (t) => {
  const shown = (file: Buffer) => leastCpuMs(() => void maskProperties(file));
  const escapes = shown(Buffer.from(`password${'\\a'.repeat(500_000)}`));
  const plain = shown(Buffer.from(`password${'aa'.repeat(500_000)}`));
  // Decoding every escape would take about 25 times as long.
  t.true(escapes < 8 * plain, `${escapes} ms, not ${plain} ms`);
});

test('an oversized server.properties is not read', async (t) => {
  const dir = await dataRoot(t);
  await mkdir(join(dir, 'servers/abc'), { recursive: true });
  const file = join(dir, 'servers/abc/server.properties');
  await writeFile(file, `level-name=castle\n#${'x'.repeat(100_000)}\n`);
  t.is(await createPlayerFiles(dir).property('abc', 'level-name'), 'castle');
  t.is((await readProperties(dirname(file))).get('level-name'), 'castle');
  await writeFile(file, `level-name=castle\n#${'x'.repeat(200_000)}\n`);
  t.is(await createPlayerFiles(dir).property('abc', 'level-name'), '');
  await t.throwsAsync(readProperties(dirname(file)), { message: /too large/ });
});

test('a game’s properties file is parsed as Java parses it', (t) => {
  const file =
    '#Mon\n! note\n\n  motd = \\u00a7aHi\\\n   there \nlevel-seed:\nkey\\ with\\=all : v\\\\\na=1\r\na=2\\t\nlast\\';
  t.deepEqual(
    parseProperties(file),
    new Map([
      ['motd', '§aHithere '],
      ['level-seed', ''],
      ['key with=all', 'v\\'],
      ['a', '2\t'],
      ['last', ''],
    ]),
  );
});

/** Returns a value as the game reads it. The file is ISO 8859-1 before 1.20, and UTF-8 since then. */
function asTheGameReads(bytes: Buffer, name: string, encoding: 'latin1' | 'utf8'): string | undefined {
  return parseProperties(bytes.toString(encoding)).get(name);
}

test('a property value keeps its accents over three starts, whatever the file’s encoding', async (t) => {
  const rows = [
    ['1.18.2', 'latin1', Buffer.from('resource-pack-prompt=Caf\xe9\r\n', 'latin1'), 'Café'],
    ['1.18.2', 'latin1', Buffer.from('resource-pack-prompt=Café\n'), 'Café'],
    ['1.18.2', 'latin1', Buffer.from('\uFEFFresource-pack-prompt=Café\r\n'), 'Café'],
    ['1.18.2', 'latin1', Buffer.from('resource-pack-prompt=\\u0160ed\\u00fd\n'), 'Šedý'],
    ['1.21.1', 'utf8', Buffer.from('resource-pack-prompt=Šedý svět\n'), 'Šedý svět'],
    ['1.21.1', 'utf8', Buffer.from('resource-pack-prompt=Caf\xe9\n', 'latin1'), 'Café'],
    ['1.21.1', 'utf8', Buffer.from('\uFEFFresource-pack-prompt=Caf\xe9\n', 'utf16le'), 'Café'],
  ] as const;
  for (const [version, encoding, bytes, value] of rows) {
    const dir = await dataRoot(t);
    const file = join(dir, 'server.properties');
    await writeFile(file, bytes);
    for (let start = 0; start < 3; start++) {
      await writeProperties(dir, { motd: '', type: 'paper', version, properties: {} }, 'secret');
      t.is(asTheGameReads(await readFile(file), 'resource-pack-prompt', encoding), value, `${version} ${value}`);
    }
  }
});

test('a property value copied from a server.properties has its escapes decoded', (t) => {
  t.is(pastedValue('Caf\\u00e9 \\u00a7a'), 'Café §a');
  t.is(pastedValue('https\\://example.org/?a\\=b'), 'https://example.org/?a=b');
  const json = '{"text":"\\u0022\\u000a\\\\u00e9\\n"}';
  t.is(pastedValue(json), json);
});

test('a byte order mark hides neither a secret nor the EULA answer', async (t) => {
  const dir = await dataRoot(t);
  await writeFile(join(dir, 'eula.txt'), '\uFEFFeula=true\r\n');
  await acceptEula(dir);
  t.is(await readFile(join(dir, 'eula.txt'), 'utf8'), 'eula=true\n');
  await writeFile(join(dir, 'eula.txt'), '\uFEFFeula=false\r\n');
  await acceptEula(dir);
  t.is(await readFile(join(dir, 'eula.txt'), 'utf8'), '\uFEFFeula=false\r\n');
  t.false(maskProperties(Buffer.from('\uFEFFrcon.password=hunter2\n')).includes('hunter2'));
});

test('owner values override the file, Dormouse’s override both, and removed values return to the default', (t) => {
  const merge = (file: Record<string, string>, before: Record<string, string>, properties: Record<string, string>) =>
    Object.fromEntries(
      mergeProperties(
        new Map(Object.entries(file)),
        new Map(Object.entries(before)),
        { motd: '', type: 'paper', version: '1.21.4', properties },
        's3cret',
      ),
    );
  t.like(merge({ pvp: 'true', seed: '1' }, {}, { pvp: 'false', 'rcon.password': 'mine', 'server-port': '1' }), {
    pvp: 'false',
    seed: '1',
    'rcon.password': 's3cret',
    'server-port': '25565',
    'online-mode': 'true',
    'max-players': '20',
    motd: DEFAULT_MOTD,
  });
  t.false('pvp' in merge({ pvp: 'false' }, { pvp: 'false' }, {}));
  t.is(merge({ pvp: 'true' }, { pvp: 'false' }, {}).pvp, 'true', 'a value changed in the file is kept');
  t.is(merge({ 'max-players': '5' }, {}, {})['max-players'], '5');
  t.false(OWNED_PROPERTIES.has('online-mode'));
  t.false(OWNED_PROPERTIES.has('accepts-transfers'));
});

test('writing server.properties twice keeps its values, and a removed property disappears', async (t) => {
  const dir = await dataRoot(t);
  const row = {
    motd: 'Hallo §a\nWörld %RCON_PASSWORD%',
    type: 'sandbox',
    version: '1.21.4',
    properties: { pvp: 'false' },
  };
  await writeProperties(dir, row, 'secret');
  await writeProperties(dir, row, 'secret');
  const properties = parseProperties(await readFile(join(dir, 'server.properties'), 'utf8'));
  t.is(properties.get('motd'), row.motd);
  t.is(properties.get('pvp'), 'false');
  t.is(properties.get('online-mode'), 'false');
  t.is((await stat(join(dir, 'server.properties'))).mode & 0o777, 0o640);
  await writeProperties(dir, { ...row, properties: {} }, 'secret');
  t.false(parseProperties(await readFile(join(dir, 'server.properties'), 'utf8')).has('pvp'));
  await acceptEula(dir);
  t.is(await readFile(join(dir, 'eula.txt'), 'utf8'), 'eula=true\n');
  t.deepEqual((await readdir(dir)).sort(), ['.dormouse-properties', 'eula.txt', 'server.properties']);
});

test('the EULA is accepted automatically only if eula.txt has no answer yet', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-eula-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const file = join(dir, 'eula.txt');
  const after = async (before: string) => {
    await writeFile(file, before);
    await acceptEula(dir);
    return await readFile(file, 'utf8');
  };
  for (const said of ['#By Mojang\neula=false\n', 'eula = FALSE', 'eula=true', '# mine\neula=TRUE\n'])
    t.is(await after(said), said);
  for (const nothing of ['', '# comment\n', 'eula=\n']) t.is(await after(nothing), 'eula=true\n');
});

test('the management port is enabled for versions that support it, with its own secret', (t) => {
  const owned = (type: string, version: string) =>
    Object.fromEntries(
      [...ownedProperties({ motd: '', type, version }, 'hunter2')].filter(([name]) => name.startsWith('management-')),
    );
  const { 'management-server-secret': secret, ...open } = owned('paper', '1.21.9');
  t.regex(secret!, /^[A-Za-z0-9]{40}$/);
  t.is(secret, managementSecret('hunter2'));
  t.not(secret, managementSecret('hunter3'));
  t.deepEqual(open, {
    'management-server-enabled': 'true',
    'management-server-host': '0.0.0.0',
    'management-server-port': '25585',
    'management-server-tls-enabled': 'false',
    'management-server-allowed-origins': '',
  });
  for (const [type, version] of [
    ['vanilla', '26.1'],
    ['fabric', '1.21.10'],
    ['sandbox', ''],
  ] as const)
    t.is(owned(type, version)['management-server-enabled'], 'true', `${type} ${version}`);
  for (const [type, version] of [
    ['paper', '1.21.8'],
    ['vanilla', '25w35a'],
    ['forge', ''],
    ['sandbox', '1.20.4'],
  ] as const)
    t.deepEqual(owned(type, version), { 'management-server-enabled': 'false' }, `${type} ${version}`);
  const owners = { 'management-server-secret': 'mine', 'management-server-enabled': 'false' };
  const row = { motd: '', type: 'paper', version: '1.21.9', properties: owners };
  t.like(Object.fromEntries(mergeProperties(new Map(Object.entries(owners)), new Map(), row, 'hunter2')), {
    'management-server-enabled': 'true',
    'management-server-secret': secret,
  });
});

test('a link, a pipe or a huge file in place of server.properties is refused and left alone', async (t) => {
  const dir = await dataRoot(t);
  const row = { motd: '', type: 'sandbox', version: '1.21.4', properties: {} };
  const target = join(dir, 'server.properties');
  const victim = join(dir, 'victim');
  await writeFile(victim, 'precious=1\n');
  const refused = { name: 'EngineError', message: /not a regular file/ } as const;
  await symlink(victim, target);
  await t.throwsAsync(writeProperties(dir, row, 'secret'), refused);
  await rm(target);
  await promisify(execFile)('mkfifo', [target]);
  await t.throwsAsync(writeProperties(dir, row, 'secret'), refused);
  await rm(target);
  await writeFile(target, '#'.repeat(1024 * 1024 + 1));
  await t.throwsAsync(writeProperties(dir, row, 'secret'), refused);
  await symlink(victim, join(dir, 'eula.txt'));
  await t.throwsAsync(acceptEula(dir), refused);
  t.is(await readFile(victim, 'utf8'), 'precious=1\n');
});
