import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { liftConnectionThrottle } from '../../src/game/prepare.ts';
import { assert, constantFrom, oneof, property, string } from '../support/property.ts';
import { compareVersions } from '../../src/game/minecraft-version.ts';
import { parseProperties } from '../../src/game/properties/format.ts';
import { OWNED_PROPERTIES, isOwnedProperty, writeProperties } from '../../src/game/properties/properties.ts';
import { checkProperty } from '../../src/game/properties/table.ts';

test('Minecraft versions are compared by their numbers', (t) => {
  const order = ['1.8', '1.9', '1.9.4', '1.21', '1.21.4', '1.21.10', '26.1', '26.1.2'];
  for (const [nth, version] of order.entries()) {
    t.true((compareVersions(version, order[nth + 1] ?? '99.0') ?? 0) < 0, version);
    t.is(compareVersions(version, version), 0);
  }
  t.is(compareVersions('1.21.9-pre1', '1.21.9'), 0);
  t.is(compareVersions('25w14a', '1.21'), undefined);
  t.is(compareVersions('', '1.21'), undefined);
});

test('a property must exist in the version and have a valid value', (t) => {
  const wrong = (name: string, value: string, version = '1.21.4') => checkProperty(name, value, version) ?? '';
  t.is(wrong('difficulty', 'hard'), '');
  t.is(wrong('difficulty', 'impossible'), 'must be peaceful, easy, normal, hard, 0, 1, 2 or 3');
  t.is(wrong('max-players', '0'), 'must be a whole number from 1 to 100000');
  t.regex(wrong('max-players', '1e3'), /whole number/);
  t.regex(wrong('pvp', 'TRUE'), /true or false/);
  t.is(wrong('pvp', 'false', '1.21.8'), '');
  t.is(wrong('pvp', 'false', '26.1'), 'is a game rule since 1.21.9');
  t.is(wrong('pvp', 'false', ''), '', 'an unknown version allows every property');
  t.is(wrong('accepts-transfers', 'true', '1.20.4'), 'requires Minecraft 1.20.5 or later');
  t.is(wrong('previews-chat', 'true', '1.19.3'), 'was removed after Minecraft 1.19.2');
  t.is(wrong('fly-faster', 'true'), 'is not a property of a Minecraft server');
  t.is(wrong('constructor', 'x'), 'is not a property of a Minecraft server');
  t.regex(wrong('level-seed', 'a\nenable-rcon=true'), /control characters/);
  for (const path of ['../world', '/etc', 'a/b', '.', '..', 'a.', ' a', '', 'a\\b'])
    t.not(wrong('level-name', path), '', path);
  for (const folder of ['world', 'Neue Welt', 'мир_2', 'v1.2']) t.is(wrong('level-name', folder), '', folder);
});

test('descriptions and properties are written literally, without expansion or extra lines', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-literal-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const nasty = '%RCON_PASSWORD% %env:CF_API_KEY% %date:yyyy% ${jndi:x}';
  const seed = `${nasty} \\u0041\u2028é😀`;
  t.is(checkProperty('level-seed', seed, '1.21.4'), undefined);
  await writeProperties(
    dir,
    { motd: nasty, type: 'paper', version: '1.21.4', properties: { 'level-seed': seed } },
    'hunter2',
  );
  const text = await readFile(join(dir, 'server.properties'), 'utf8');
  const properties = parseProperties(text);
  t.is(properties.get('motd'), nasty);
  t.is(properties.get('level-seed'), seed);
  t.is(text.split('\n').filter((line) => line.includes('hunter2')).length, 1);
});

test('property: an accepted property value has no control characters', (t) => {
  const values = oneof(
    string({ unit: 'binary', maxLength: 50 }),
    constantFrom('a\\nb', '%env:HOME%', '\u0085', '\r\n'),
  );
  assert(
    property(values, (value) => {
      const passes = checkProperty('level-seed', value, '1.21.4') === undefined;
      t.true(!passes || !/\p{Cc}/u.test(value));
    }),
  );
});

test('Dormouse owns the properties that would break the proxy, and switches Bukkit’s connection throttle off', async (t) => {
  for (const name of [...OWNED_PROPERTIES, 'management-server-port', 'query.port', 'text-filtering-config', 'rcon.x'])
    t.true(isOwnedProperty(name), name);
  t.true(OWNED_PROPERTIES.has('prevent-proxy-connections'));
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-throttle-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const file = join(dir, 'bukkit.yml');
  const lift = async (before: string | undefined) => {
    if (before !== undefined) await writeFile(file, before);
    await liftConnectionThrottle(dir, 'paper');
    return readFile(file, 'utf8');
  };
  await liftConnectionThrottle(dir, 'vanilla');
  await t.throwsAsync(readFile(file), { code: 'ENOENT' });
  t.is(await lift(undefined), 'settings:\n  connection-throttle: -1\n');
  t.is(
    await lift('# mine\nsettings:\n  allow-end: true\n  connection-throttle: 4000\nspawn-limits:\n  monsters: 70\n'),
    '# mine\nsettings:\n  allow-end: true\n  connection-throttle: -1\nspawn-limits:\n  monsters: 70\n',
  );
  t.is(await lift('settings:\n  allow-end: true\n'), 'settings:\n  connection-throttle: -1\n  allow-end: true\n');
  t.is(
    await lift('aliases: now-in-commands.yml'),
    'aliases: now-in-commands.yml\nsettings:\n  connection-throttle: -1\n',
  );
});
