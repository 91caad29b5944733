import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { freePort } from '../support/service.ts';
import { assert, dictionary, property, string } from '../support/property.ts';
import { formatProperties, parseProperties } from '../../src/sandbox/properties.ts';
import { levelDirectory } from '../../src/sandbox/storage.ts';
import { joinRaw, pingStatus } from '../support/bot.ts';
import { startSandbox, temporaryDirectory } from './spawn.ts';

const refusals = test.macro({
  title: (name = '') => `refused: ${name}`,
  exec: async (t, env: Record<string, string>, expected: RegExp) => {
    const sandbox = startSandbox(t, { env });
    t.is(await sandbox.exited, 1);
    t.regex(sandbox.lines.join('\n'), expected);
    t.false(existsSync(join(sandbox.directory, 'server.properties')));
  },
});

test(
  'a missing EULA with TYPE=PAPER',
  refusals,
  { EULA: '', TYPE: 'PAPER' },
  /\[init\] \[ERROR\] Please accept the Minecraft EULA at/,
);
test(
  'a mod pack',
  refusals,
  { MODRINTH_MODPACK: 'cobblemon' },
  /\[init\] \[ERROR\] The sandbox core takes no mod packs/,
);
test(
  'an unsupported version',
  refusals,
  { VERSION: '1.7.10' },
  /\[ERROR\] The sandbox core cannot be Minecraft 1\.7\.10: it offers 1\.8\.8 to /,
);

test('environment variables are written to server.properties, and other entries stay', async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'server.properties'), '#by hand\nmotd=old\npvp=false\nmy-own=kept\n');
  writeFileSync(join(directory, 'eula.txt'), '# yes\neula=true\n');
  const env = {
    EULA: '',
    TYPE: 'PAPER',
    MEMORY: '512M',
    MAX_MEMORY: '512M',
    MOTD: '§aHällo',
    SETUP_ONLY: 'true',
    CUSTOM_SERVER_PROPERTIES: 'view-distance=4',
  };
  const sandbox = startSandbox(t, { directory, env: { ...env, RCON_PASSWORD: '' } });
  t.is(await sandbox.exited, 0);
  t.regex(sandbox.lines.join('\n'), /^SETUP_ONLY: node .*main\.ts$/);
  const written = parseProperties(readFileSync(join(directory, 'server.properties'), 'utf8'));
  t.is(written.get('motd'), '§aHällo');
  t.is(written.get('pvp'), 'false');
  t.is(written.get('my-own'), 'kept');
  t.is(written.get('view-distance'), '4');
  t.is(written.get('enable-rcon'), 'true');
  t.is(written.get('rcon.password')?.length, 24);
  t.is(written.get('online-mode'), 'false');
  t.deepEqual(readdirSync(directory).sort(), ['eula.txt', 'server.properties']);
});

test('SKIP_SERVER_PROPERTIES leaves the file unchanged, and the given ports apply to this run', async (t) => {
  const directory = temporaryDirectory(t);
  const text = 'motd=mine\nserver-port=1\nonline-mode=false\nlevel-name=lobby\n';
  writeFileSync(join(directory, 'server.properties'), text);
  const sandbox = startSandbox(t, { directory, env: { SKIP_SERVER_PROPERTIES: 'true', MOTD: 'not mine' } });
  await sandbox.waitLine(/Preparing level "lobby"/);
  await sandbox.waitLine(/Done \(/);
  const port = Number(/\d+$/.exec(await sandbox.waitLine(/Listening on port \d+/))![0]);
  t.deepEqual((await pingStatus({ port })).description, { text: 'mine' });
  t.is(readFileSync(join(directory, 'server.properties'), 'utf8'), text);
  t.is(await sandbox.stop(), 0);
});

test('an unreadable world is not overwritten, and a level outside the data directory is refused', async (t) => {
  const first = startSandbox(t);
  await first.ready();
  t.is(await first.stop(), 0);
  const file = join(first.directory, 'world/dormouse-blocks.json.gz');
  writeFileSync(file, 'not gzip');
  const second = startSandbox(t, { directory: first.directory });
  t.is(await second.exited, 1);
  await second.waitLine(/ERROR\]: Failed to start the minecraft server/).catch(() => t.fail(second.lines.join('\n')));
  t.is(readFileSync(file, 'utf8'), 'not gzip');
  t.true(readdirSync(join(first.directory, 'logs')).some((name) => /^\d{4}-\d\d-\d\d-1\.log\.gz$/.test(name)));
  t.is(levelDirectory('/data', '../etc'), undefined);
  t.is(levelDirectory('/data', '/etc'), undefined);
  t.is(levelDirectory('/data', '.'), undefined);
  t.is(levelDirectory('/data', 'worlds/..lobby'), '/data/worlds/..lobby');
});

test('a port in use fails the start', async (t) => {
  const first = startSandbox(t);
  const { port } = await first.ready();
  const second = startSandbox(t, { env: { SERVER_PORT: String(port) } });
  t.is(await second.exited, 1);
  t.regex(second.lines.join('\n'), /\*\*\*\* FAILED TO BIND TO PORT!/);
});

test('SANDBOX_START_MS slows a start, which logs its percentages and answers only when done', async (t) => {
  const sandbox = startSandbox(t, { env: { SANDBOX_START_MS: '1500', SERVER_PORT: String(await freePort()) } });
  await sandbox.waitLine(/Preparing spawn area: 25%/);
  const port = Number(/:(\d+)$/.exec(await sandbox.waitLine(/Starting Minecraft server on/))![1]);
  await sandbox.waitLine(/Done \(/);
  t.true(sandbox.lines.filter((line) => /Preparing spawn area: \d+%/.test(line)).length > 10);
  t.is((await pingStatus({ port })).players.online, 0);
  const starting = String(await freePort());
  const never = startSandbox(t, { env: { SANDBOX_NEVER_READY: 'true', SERVER_PORT: starting } });
  await never.waitLine(/Preparing spawn area: 92%/);
  await t.throwsAsync(pingStatus({ port: Number(starting) }), { message: /ECONNREFUSED/ });
});

test('SANDBOX_EARLY_PORT opens the port early and refuses players until the server is ready', async (t) => {
  const sandbox = startSandbox(t, { env: { SANDBOX_NEVER_READY: 'true', SANDBOX_EARLY_PORT: 'true' } });
  const port = Number(/\d+$/.exec(await sandbox.waitLine(/Listening on port \d+/))![0]);
  await t.throwsAsync(pingStatus({ port }), { message: 'closed without a status' });
  await t.throwsAsync(joinRaw({ port, version: '1.20.4', name: 'Early' }), { message: /Server is still starting!/ });
});

test('knobs simulate a hung start, a crash at start and later, out of memory, and an ignored stop', async (t) => {
  const never = startSandbox(t, { env: { SANDBOX_NEVER_READY: 'true' } });
  const crash = startSandbox(t, { env: { SANDBOX_CRASH_AT_START: 'true' } });
  const memory = startSandbox(t, { env: { SANDBOX_OUT_OF_MEMORY: 'report' } });
  const heap = startSandbox(t, { env: { SANDBOX_OUT_OF_MEMORY: 'heap' }, execArgv: ['--max-old-space-size=96'] });
  const later = startSandbox(t, { env: { SANDBOX_CRASH_AFTER_MS: '100' } });
  const deaf = startSandbox(t, { env: { SANDBOX_IGNORE_STOP: 'true' } });
  t.is(await crash.exited, 1);
  t.regex(
    crash.lines.join('\n'),
    /ERROR\]: Encountered an unexpected exception\njava\.lang\.IllegalStateException.*\n\tat /,
  );
  t.is(await heap.exited, 'SIGABRT');
  t.regex(heap.lines.join('\n'), /JavaScript heap out of memory/);
  t.is(await memory.exited, 1);
  t.regex(memory.lines.join('\n'), /java\.lang\.OutOfMemoryError: Java heap space/);
  await later.waitLine(/Done \(/);
  t.is(await later.exited, 1);
  t.regex(later.lines.join('\n'), /net\.minecraft\.ReportedException: Exception ticking world/);
  await never.waitLine(/Preparing spawn area: 92%/);
  t.is(await never.stop(), 0);
  t.false(never.lines.some((line) => line.includes('Done (')));
  await deaf.ready();
  deaf.signal('SIGTERM');
  await deaf.waitLine(/Ignoring the request to stop, because SANDBOX_IGNORE_STOP is set/);
  deaf.type('stop');
  deaf.type('list');
  await deaf.waitLine(/There are 0 of a max/);
  deaf.signal('SIGKILL');
  t.is(await deaf.exited, 'SIGKILL');
});

test('any properties are read back exactly as written', (t) => {
  t.deepEqual(
    [...parseProperties('# c\n! c\na=b=c\n b : d\\u00e4\\:\n\nempty=\r\nalone')],
    [
      ['a', 'b=c'],
      ['b', 'dä:'],
      ['empty', ''],
      ['alone', ''],
    ],
  );
  const key = string({ minLength: 1 }).filter((text) => /^[^#!\s]/.test(text));
  assert(
    property(dictionary(key, string({ unit: 'binary' })), (properties) => {
      const map = new Map(Object.entries(properties));
      t.deepEqual(Object.fromEntries(parseProperties(formatProperties(map))), Object.fromEntries(map));
    }),
  );
});
