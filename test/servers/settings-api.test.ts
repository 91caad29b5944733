import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { parseProperties } from '../../src/game/properties/format.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';

interface Entries {
  entries: { action: string; detail: string }[];
}

/** A server `abc` and calls that change it. */
async function settings(t: ExecutionContext, fields: Parameters<ApiUnderTest['create']>[1] = {}) {
  const it = await api(t);
  await it.create('abc', fields);
  return {
    ...it,
    create: (id: string) => it.create(id),
    command: (id: string, type: 'START' | 'STOP' | 'DELETE') => it.command(id, type),
    set: (verb: string, body: object) => it.ok('POST', `/v1/servers/abc:${verb}`, body),
    refused: async (verb: string, body: object, reason: string, about = '') => {
      const { status, reason: given, text } = await it.call('POST', `/v1/servers/abc:${verb}`, { body });
      t.is(given, reason, text);
      t.true(text.includes(about), text);
      return status;
    },
    detail: async (action: string) => {
      const { entries } = (await it.ok('GET', '/v1/servers/abc/audit')) as unknown as Entries;
      return entries.find((entry) => entry.action === action)?.detail ?? '';
    },
  };
}

test('SetServerProperties keeps absent fields and replaces or resets the map; the next start applies it', async (t) => {
  const { set, reach, command, dataDir, detail } = await settings(t, { type: 'paper', version: '1.21.4' });
  t.like(await set('setProperties', { properties: { difficulty: 'hard', pvp: 'false' } }), {
    properties: { difficulty: 'hard', pvp: 'false' },
    idleTimeoutMinutes: 0,
  });
  t.regex(await detail('server.properties'), /difficulty, pvp$/);
  t.like(await set('setProperties', { idleTimeoutMinutes: 7 }), {
    properties: { difficulty: 'hard', pvp: 'false' },
    idleTimeoutMinutes: 7,
  });
  const seed = '%env:CF_API_KEY% ünïcode 😀';
  t.like(await set('setProperties', { properties: { 'level-seed': seed } }), {
    properties: { 'level-seed': seed },
    idleTimeoutMinutes: 7,
  });
  await command('abc', 'START');
  await reach('abc', 'running');
  const file = parseProperties(await readFile(join(dataDir, 'servers/abc/server.properties'), 'utf8'));
  t.is(file.get('level-seed'), seed);
  t.false(file.has('difficulty'));
  t.deepEqual((await set('setProperties', { properties: {} }))['properties'], {});
  t.is((await set('setProperties', { idleTimeoutMinutes: 0 }))['idleTimeoutMinutes'], 0);
});

test('SetServerProperties refuses reserved keys, keys that the version does not have, and invalid values', async (t) => {
  const { refused, ok } = await settings(t, { type: 'vanilla', version: '1.20.4' });
  const bad = (properties: object, about: string) => refused('setProperties', { properties }, 'INVALID_FIELD', about);
  await bad({ 'server-port': '1' }, 'properties.server-port: is set by the service itself');
  await bad({ 'management-server-secret': 'x' }, 'properties.management-server-secret');
  await bad({ 'enable-jmx-monitoring': 'true' }, 'properties.enable-jmx-monitoring');
  await bad({ 'prevent-proxy-connections': 'true' }, 'would lock all players out');
  await bad({ motd: 'x' }, 'SetServerMotd');
  await bad({ 'accepts-transfers': 'true' }, 'requires Minecraft 1.20.5 or later');
  await bad({ difficulty: 'hard\nenable-rcon=true' }, 'control characters');
  await bad({ nonsense: '1' }, 'is not a property');
  await bad({ 'a\nb': '1' }, 'not a property name');
  await bad({ 'level-name': '../../etc' }, 'folder');
  await bad(Object.fromEntries(Array.from({ length: 129 }, (_, n) => [`p${n}`, ''])), 'at most 128');
  await refused('setProperties', { idleTimeoutMinutes: -2 }, 'INVALID_FIELD', 'idleTimeoutMinutes');
  await refused('setProperties', { awakeHours: 'Fri 18-25' }, 'INVALID_FIELD', 'awakeHours');
  await refused('setProperties', { awakeTimeZone: '+01:00' }, 'INVALID_FIELD', 'awakeTimeZone');
  await refused('setProperties', { ignoredPlayers: 'N*PC' }, 'INVALID_FIELD', 'ignoredPlayers');
  t.like(await ok('GET', '/v1/servers/abc'), { properties: {}, idleTimeoutMinutes: 0 });
});

test('SetServerMotd stores the text as written, sends § codes to the game, and has limits; empty means the default', async (t) => {
  const { set, refused, reach, command, dataDir } = await settings(t);
  const motd = '<gold>Castle</gold> <#ff8800>%RCON_PASSWORD%\n§lhello';
  t.is((await set('setMotd', { motd }))['motd'], motd);
  await command('abc', 'START');
  await reach('abc', 'running');
  const read = async () => parseProperties(await readFile(join(dataDir, 'servers/abc/server.properties'), 'utf8'));
  t.is((await read()).get('motd'), '§6Castle§r §6%RCON_PASSWORD%\n§lhello');
  t.is((await set('setMotd', {}))['motd'], '');
  await command('abc', 'STOP');
  await reach('abc', 'hibernated');
  await command('abc', 'START');
  await reach('abc', 'running');
  t.is((await read()).get('motd'), 'A Minecraft Server');
  await refused('setMotd', { motd: 'a\nb\nc' }, 'INVALID_FIELD', '2 lines');
  await refused('setMotd', { motd: 'a\rb' }, 'INVALID_FIELD', 'control characters');
  await refused('setMotd', { motd: 'x'.repeat(129) }, 'INVALID_FIELD', '128');
  await refused('setMotd', { motd: 7 }, 'INVALID_FIELD', 'motd');
});

test('SetServerAlertWebhook accepts a public https URL or an empty one; the audit log omits the URL', async (t) => {
  const { set, refused, detail } = await settings(t);
  const url = 'https://discord.com/api/webhooks/1/secret-part';
  t.is((await set('setAlertWebhook', { url }))['alertWebhookUrl'], url);
  t.is(await detail('server.webhook'), 'set');
  t.false((await detail('server.webhook')).includes('secret-part'));
  for (const bad of [
    'http://example.com/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://localhost/',
    'file:///etc',
    'x',
  ])
    await refused('setAlertWebhook', { url: bad }, 'INVALID_FIELD', 'url');
  // A host name is accepted without a lookup: otherwise the answer would reveal if it exists and where it leads.
  for (const name of ['https://printer.corp.example/', 'https://no-such-name.example/'])
    t.is((await set('setAlertWebhook', { url: name }))['alertWebhookUrl'], name);
  t.is((await set('setAlertWebhook', { url: '' }))['alertWebhookUrl'], '');
});

test('a change of version or build backs up an existing world first', async (t) => {
  const { set, ok, dataDir } = await settings(t, { type: 'paper', version: '1.21.8', ramMb: 1_024 });
  const backups = async () => (await ok('GET', '/v1/servers/abc/backups'))['backups'] as Record<string, unknown>[];
  await set('updateVersion', { version: '1.21.10' });
  t.deepEqual(await backups(), [], 'there is no world yet');
  const root = join(dataDir, 'servers/abc');
  await mkdir(join(root, 'world'), { recursive: true });
  await writeFile(join(root, 'world/level.dat'), 'level');
  await set('updateVersion', { version: '26.1' });
  const label = 'before the update to Paper 26.1';
  t.like(await backups(), [{ kind: 'install', label, state: 'ready', version: '1.21.10' }]);
  await set('updateVersion', { version: '26.1' });
  t.is((await backups()).length, 2, 'a new build of the same version may fail too');
  await set('updateVersion', {});
  t.is((await backups()).length, 2, 'the request changes nothing');
});

test('UpdateServerVersion needs a stopped server, validates like creation, and marks a downgrade in the audit log', async (t) => {
  const { set, refused, command, reach, detail, store } = await settings(t, {
    type: 'paper',
    version: '1.21.8',
    ramMb: 1_024,
  });
  t.like(await set('updateVersion', { version: '1.20.4' }), { type: 'paper', version: '1.20.4' });
  t.regex(await detail('server.version'), /paper 1\.21\.8 → paper 1\.20\.4 \(downgrade/);
  t.like(await set('updateVersion', { type: 'Fabric' }), { type: 'fabric', version: '1.20.4' });
  t.like(await set('updateVersion', {}), { type: 'fabric', version: '1.20.4' });
  await refused('updateVersion', { type: 'bedrock' }, 'INVALID_FIELD', 'type');
  await refused('updateVersion', { version: 'LATEST' }, 'INVALID_FIELD', 'version');
  await refused('updateVersion', { version: '1.21;reboot' }, 'INVALID_FIELD', 'version');
  const tooOld = { type: 'pufferfish', version: '1.16.5' };
  await refused('updateVersion', tooOld, 'INVALID_FIELD', 'the first supported version is 1.17');
  await refused('updateVersion', { type: 'sandbox', version: '1.2.3' }, 'INVALID_FIELD', 'not offered');
  await command('abc', 'START');
  t.is(await refused('updateVersion', { version: '1.21.8' }, 'SERVER_NOT_STOPPED'), 400);
  await reach('abc', 'running');
  await refused('updateVersion', { version: '1.21.8' }, 'SERVER_NOT_STOPPED');
  await command('abc', 'STOP');
  await reach('abc', 'hibernated');
  t.is((await store.query<{ version: string }>('SELECT "version" FROM "servers"'))[0]?.version, '1.20.4');
});

test('UpdateServerVersion: a server keeps its build between wakes; naming its current version fetches the newest build', async (t) => {
  const { set, command, reach, dataDir, engine } = await settings(t, {
    type: 'paper',
    version: '1.21.8',
    ramMb: 1_024,
  });
  const root = join(dataDir, 'servers/abc');
  const put = async (build: number) => {
    await mkdir(root, { recursive: true });
    const manifest = { project: 'paper', minecraftVersion: '1.21.8', build };
    await writeFile(join(root, '.papermc-manifest.json'), JSON.stringify(manifest));
  };
  const wake = async () => {
    await command('abc', 'START');
    await reach('abc', 'running');
    const { env } = engine.specs.at(-1)!;
    await command('abc', 'STOP');
    await reach('abc', 'hibernated');
    return env['PAPER_BUILD'];
  };
  await put(60);
  t.is(await wake(), undefined, 'no build has run yet');
  await put(61);
  t.is(await wake(), '60');
  await set('updateVersion', {});
  t.is(await wake(), '60', 'the request names no version');
  await set('updateVersion', { version: '1.21.8' });
  t.is(await wake(), undefined);
  t.is(await wake(), '61');
  await set('updateVersion', { version: '1.21.4' });
  t.is(await wake(), undefined);
  await rm(root, { recursive: true });
  await set('updateVersion', { type: 'paper', version: '1.21.4' });
});

test('UpdateServerVersion refuses a server with a modpack, and Java software on a server with too little RAM', async (t) => {
  const small = await settings(t, { ramMb: 256 });
  await small.refused('updateVersion', { type: 'paper', version: '1.21.8' }, 'INVALID_FIELD', 'needs at least 512');
  await small.servers.patch('abc', { modpackPlatform: 'modrinth', modpackRef: 'x' });
  await small.refused('updateVersion', { version: '1.21.4' }, 'MODPACK_DECIDES');
});

test('SetPublicStatus mints a permanent slug when first enabled; a disabled page returns the same 404 as an unknown one', async (t) => {
  const { set, call, store, servers, clock } = await settings(t, { name: 'Käse & Burg' });
  t.like(await set('setPublicStatus', {}), { publicStatusEnabled: false, publicShowAddress: false, publicSlug: '' });
  const first = await set('setPublicStatus', { enabled: true });
  const slug = String(first['publicSlug']);
  t.regex(slug, /^kase-burg-[a-z2-9]{10}$/);
  t.like(first, { publicStatusEnabled: true, publicShowAddress: false });
  const look = (asked = slug) => call('GET', `/v1/public/status/${asked}`, { key: null });
  const shown = await look();
  t.deepEqual(shown.json, {
    name: 'Käse & Burg',
    state: 'hibernated',
    version: '1.21.4',
    playersOnline: 0,
    playersMax: 20,
    motd: 'A Minecraft Server',
    motdText: 'A Minecraft Server',
    maintenance: '',
  });
  t.false(shown.text.includes('abc'));
  t.is(shown.headers.get('cache-control'), 'public, max-age=10');
  t.is(shown.headers.get('access-control-allow-origin'), '*');
  await set('setPublicStatus', { enabled: true, showAddress: true });
  t.is((await look()).json['address'], 'abc.play.example');
  await set('setPublicStatus', { enabled: true, showAddress: false });
  t.is((await look()).json['address'], undefined, 'the change replaces the cached answer at once');
  await set('setMotd', { motd: '<red>Hi' });
  await clock.advance(3_000);
  t.like((await look()).json, { motd: '§cHi', motdText: 'Hi' });

  await set('setPublicStatus', { enabled: false, showAddress: true });
  const off = await look();
  const unknown = await look('kase-burg-aaaaaaaaaa');
  t.deepEqual([off.status, off.text], [unknown.status, unknown.text]);
  t.is(off.reason, 'STATUS_NOT_FOUND');
  for (const odd of ['abc', '%00', '..', 'x'.repeat(500), '__proto__']) t.is((await look(odd)).status, 404, odd);
  t.is((await set('setPublicStatus', { enabled: true }))['publicSlug'], slug, 'the slug stays');
  // Public status requests do not change the server's state.
  t.is((await servers.get('abc'))?.state, 'hibernated');
  t.is((await store.query('SELECT 1 FROM "transitions"')).length, 0);
});

test('deleting a server deletes its settings, and a new server with the same id starts with the defaults', async (t) => {
  const { set, call, ok, command, reach, create, servers, services, store } = await settings(t);
  servers.observe(
    (id, now) => now ?? [services.publicStatuses, services.wakePolicies].forEach((each) => each.forget(id)),
  );
  const slug = String((await set('setPublicStatus', { enabled: true }))['publicSlug']);
  await set('setWakePolicy', { mode: 'nobody' });
  await command('abc', 'DELETE');
  t.is((await call('GET', `/v1/public/status/${slug}`, { key: null })).status, 404);
  await reach('abc', 'gone');
  t.is((await store.query('SELECT 1 FROM "public_statuses" UNION ALL SELECT 1 FROM "wake_policies"')).length, 0);
  await create('abc');
  t.like(await ok('GET', '/v1/servers/abc'), { publicStatusEnabled: false, publicSlug: '' });
  t.like(await set('setWakePolicy', {}), { mode: 'anyone' });
});

test('public status requests are rate-limited by address, whatever slug they ask for', async (t) => {
  const { call } = await settings(t);
  let last = 0;
  for (let n = 0; n < 61; n++) last = (await call('GET', `/v1/public/status/guess-${n}`, { key: null })).status;
  t.is(last, 429);
});

test('two concurrent first enablings of a public status mint one slug', async (t) => {
  const { set, services } = await settings(t);
  const [a, b] = await Promise.all([
    set('setPublicStatus', { enabled: true }),
    set('setPublicStatus', { enabled: true }),
  ]);
  t.is(a['publicSlug'], b['publicSlug']);
  t.is(services.publicStatuses.find(String(a['publicSlug'])), 'abc');
});

test('SetWakePolicy keeps absent fields and refuses invalid values', async (t) => {
  const { set, refused, detail } = await settings(t);
  const usual = { mode: 'anyone', maxWakesPerDay: 0, asleepMotd: '', maintenanceText: '' };
  t.deepEqual(await set('setWakePolicy', {}), usual);
  t.deepEqual(await set('setWakePolicy', { mode: 'known', maxWakesPerDay: 3 }), {
    ...usual,
    mode: 'known',
    maxWakesPerDay: 3,
  });
  t.regex(await detail('server.wakePolicy'), /known, 3 wakes a day at most$/);
  t.deepEqual(await set('setWakePolicy', { asleepMotd: '<gray>zzz' }), {
    ...usual,
    mode: 'known',
    maxWakesPerDay: 3,
    asleepMotd: '<gray>zzz',
  });
  await refused('setWakePolicy', { mode: 'friends' }, 'INVALID_FIELD', 'mode');
  await refused('setWakePolicy', { maxWakesPerDay: -1 }, 'INVALID_FIELD', 'maxWakesPerDay');
  await refused('setWakePolicy', { maintenanceText: 'a\nb\nc' }, 'INVALID_FIELD', '2 lines');
});

test('options for Java can be set and reset, and dangerous ones are refused with the reason', async (t) => {
  const { ok, set, refused } = await settings(t);
  t.like(await ok('GET', '/v1/servers/abc'), { jvmPreset: 'default', jvmOptions: '' });
  const given = { jvmPreset: 'aikar', jvmOptions: '-XX:MaxGCPauseMillis=100 -ea' };
  t.like(await set('update', given), given);
  t.like(await set('update', { jvmOptions: '' }), { jvmPreset: 'aikar', jvmOptions: '' });
  t.is(await refused('update', { jvmOptions: '-javaagent:plugins/x.jar' }, 'INVALID_FIELD', 'owners may set'), 400);
  t.is(await refused('update', { jvmOptions: '-Xmx64G' }, 'INVALID_FIELD', 'the RAM of the server'), 400);
  for (const body of [{ jvmOptions: 7 }, { jvmPreset: 'some' }])
    t.is(await refused('update', body, 'INVALID_FIELD'), 400);
  t.like(await ok('GET', '/v1/servers/abc'), { jvmPreset: 'aikar', jvmOptions: '' });
});
