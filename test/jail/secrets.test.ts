import test from 'ava';
import * as fc from '../support/property.ts';
import { formatProperties, parseProperties } from '../../src/game/properties/format.ts';
import { openJail } from '../../src/jail/jail.ts';
import { maskProperties } from '../../src/jail/secrets.ts';
import { cage, read, write, names, each, EVERY, refused } from './cage.ts';

test('a secret property is masked however it is spelled, and other properties stay unchanged', (t) => {
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

test('every way to read server.properties through the jail masks its secrets', async (t) => {
  const { jail, put, see, root } = await cage(t);
  const file = 'motd=Castle\nrcon.password=hunter2\nview-distance=10\n';
  const shown = 'motd=Castle\nrcon.password=*******\nview-distance=10\n';
  put('server.properties', file);
  put('server.properties.0123456789ab.tmp', file);
  t.is(await read(jail, 'server.properties'), shown);
  t.is(await read(jail, 'server.properties.0123456789ab.tmp'), shown, 'a draft left by a killed process is masked too');
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
  // A moved or half overwritten file could reveal its secrets: both are refused.
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
  // The owner may replace the whole file: Dormouse sets its own entries at each boot.
  await write(jail, 'server.properties', 'motd=New\n');
  t.is(see('server.properties'), 'motd=New\n');
  await jail.remove('server.properties');
  put('server.properties', 'x'.repeat(128 * 1024 + 1));
  await refused(t, () => read(jail, 'server.properties'), ['PATH_PROTECTED'], 'too large for server.properties');
  await t.throwsAsync(read(jail, 'server.properties'), {
    message: /not shown.*larger than 128 KiB.*delete or replace it/,
  });
  await using service = await openJail(root, { secrets: 'open' });
  t.is(await read(service, 'server.properties.old'), file, 'the service itself reads the secrets');
});

test('files reserved for the service are invisible and protected', async (t) => {
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

test('env files that the image runs as shell can be read and removed but not written', async (t) => {
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
    await refused(t, () => write(jail, path, 'x'), ['PATH_PROTECTED'], 'created again');
  }
});

test('owners can write and rename eula.txt and the player lists', async (t) => {
  const { jail, see } = await cage(t);
  for (const path of ['eula.txt', 'ops.json', 'whitelist.json', 'banned-players.json', 'sub/.rcon-cli.env']) {
    await write(jail, path, 'mine');
    await jail.rename(path, 'x');
    await jail.rename('x', path);
    t.is(see(path), 'mine');
  }
});
