import { CORES } from '../../src/game/cores.ts';
import test from 'ava';
import { heapMb } from '../../src/engines/java-heap.ts';
import { gameSpec, installSpec, javaTag } from '../../src/game/container.ts';
import type { ServerRow } from '../../src/servers/rows.ts';

const settings = {
  dataDir: '/srv/alpha',
  gameImage: 'itzg/minecraft-server',
  cpus: 1.5,
  ports: [],
  rconPassword: 'secret',
  eulaAccepted: true,
};

function row(fields: Partial<ServerRow> = {}): ServerRow {
  return {
    id: 'alpha',
    name: 'Alpha',
    hostname: 'alpha',
    accountId: 'a',
    container: 'alpha',
    type: 'paper',
    version: '1.21.4',
    ramMb: 2048,
    plan: 'metered',
    region: 'na',
    motd: '%RCON_PASSWORD%',
    properties: { seed: '%env:PATH%' },
    idleTimeoutMinutes: 0,
    awakeHours: '',
    awakeTimeZone: 'UTC',
    ignoredPlayers: '',
    tags: [],
    alertWebhookUrl: '',
    sftpEnabled: false,
    waitingRoom: false,
    networkFront: '',
    networkPort: null,
    clientVersions: 'auto',
    jvmPreset: 'default',
    jvmOptions: '',
    builds: 'pinned',
    pendingUpdate: null,
    refusedBuild: '',
    modpackPlatform: '',
    modpackRef: '',
    modpackVersion: '',
    createdAt: 0,
    updatedAt: 0,
    coldStartsMs: [],
    lastStatus: '',
    snapshot: '',
    state: 'hibernated',
    ...fields,
  };
}

for (const [version, core, tag] of [
  ['1.8.8', 'vanilla', 'java8'],
  ['1.16.5', 'vanilla', 'java8'],
  ['1.16.5', 'paper', 'java16'],
  ['1.16.4', 'paper', 'java8'],
  ['1.17', 'vanilla', 'java17'],
  ['1.20.4', 'fabric', 'java17'],
  ['1.20.5', 'fabric', 'java21'],
  ['1.20.5-rc1', 'vanilla', 'java21'],
  ['1.21', 'vanilla', 'java21'],
  ['1.21.11', 'vanilla', 'java21'],
  ['26.1', 'vanilla', 'java25'],
  ['26.1-snapshot-1', 'vanilla', 'java25'],
  ['24w14a', 'vanilla', 'java21'],
  ['21w19a', 'vanilla', 'java17'],
  ['', 'fabric', 'java21'],
] as const) {
  test(`${core} ${version || '(no version)'} runs on ${tag}`, (t) => t.is(javaTag(version, core), tag));
}

test('a game image gets the tag of its Java version, unless it has a digest or a Java tag', (t) => {
  const image = (gameImage: string) => gameSpec(row(), { ...settings, gameImage }).image;
  t.is(image('itzg/minecraft-server'), 'itzg/minecraft-server:java21');
  t.is(image('itzg/minecraft-server:latest'), 'itzg/minecraft-server:java21');
  t.is(image('itzg/minecraft-server:2026.4.0'), 'itzg/minecraft-server:2026.4.0-java21');
  t.is(image('itzg/minecraft-server:java17-alpine'), 'itzg/minecraft-server:java17-alpine');
  t.is(image('localhost:5000/games'), 'localhost:5000/games:java21');
  t.is(image('games@sha256:00'), 'games@sha256:00');
});

test('the container environment has the image’s variables, a fitting heap size and no text from the owner', (t) => {
  const { env, ...spec } = gameSpec(row(), settings);
  t.deepEqual(spec, {
    serverId: 'alpha',
    core: 'paper',
    version: '1.21.4',
    ramMb: 2048,
    cpus: 1.5,
    ports: [],
    java: { least: 21, most: Infinity },
    image: 'itzg/minecraft-server:java21',
    dataDir: '/srv/alpha',
  });
  t.like(env, {
    EULA: 'TRUE',
    TYPE: 'PAPER',
    VERSION: '1.21.4',
    MAX_MEMORY: '1536M',
    INIT_MEMORY: '384M',
    SKIP_SERVER_PROPERTIES: 'true',
    SKIP_CHOWN_DATA: 'true',
    ENABLE_AUTOPAUSE: 'false',
    ENABLE_AUTOSTOP: 'false',
    RCON_PASSWORD: 'secret',
    RCON_PORT: '25575',
  });
  t.false(Object.values(env).some((value) => value.includes('%')));
  t.false('SETUP_ONLY' in env);
  t.false('EULA' in gameSpec(row(), { ...settings, eulaAccepted: false }).env, 'the EULA is not accepted');
  t.is(installSpec(row(), settings).env.SETUP_ONLY, 'true');
  t.is(heapMb(8192), 6553);
  t.deepEqual([512, 768, 1024, 2048].map(heapMb), [256, 480, 736, 1536], 'small servers leave room for metaspace too');
});

test('options for Java reach both kinds of engine, before the one that ends a game without memory', (t) => {
  t.is(gameSpec(row(), settings).env.JVM_XX_OPTS, '-XX:+ExitOnOutOfMemoryError');
  const { env, jvm } = gameSpec(row({ jvmPreset: 'zgc', jvmOptions: '-ea  -Da=b' }), settings);
  t.is(env.JVM_XX_OPTS, '-XX:+UseZGC -XX:+ZGenerational -ea -Da=b -XX:+ExitOnOutOfMemoryError');
  t.deepEqual(jvm, { preset: 'zgc', options: '-ea  -Da=b' });
  t.regex(gameSpec(row({ jvmPreset: 'aikar' }), settings).env.JVM_XX_OPTS ?? '', /^-XX:\+UnlockExperimentalVMOptions /);
  const sandbox = gameSpec(row({ type: 'sandbox', jvmPreset: 'zgc' }), settings);
  t.false('JVM_XX_OPTS' in sandbox.env || 'jvm' in sandbox);
});

test('the sandbox has its own image and needs no version', (t) => {
  const spec = gameSpec(row({ type: 'sandbox', version: '' }), settings);
  t.is(spec.image, 'dormouse/sandbox:latest');
  t.is(spec.env.SERVER_PORT, '25565');
  t.false('EULA' in spec.env, 'the sandbox needs no EULA');
  t.is(gameSpec(row({ type: 'sandbox' }), { ...settings, sandboxImage: 'mine:1' }).image, 'mine:1');
});

test('a custom server runs the uploaded jar, and Arclight gets the loader for its version', (t) => {
  const env = (type: string, version = '1.21.1') => gameSpec(row({ type, version }), settings).env;
  t.like(env('custom'), { TYPE: 'CUSTOM', CUSTOM_SERVER: '/data/server.jar' });
  t.is(env('arclight').ARCLIGHT_TYPE, 'NEOFORGE');
  t.is(env('arclight', '1.20.1').ARCLIGHT_TYPE, 'FORGE');
  t.false('ARCLIGHT_TYPE' in env('paper') || 'CUSTOM_SERVER' in env('paper'));
});

test('an unknown core, an invalid version and a moving version such as LATEST are refused', (t) => {
  for (const fields of [{ type: 'nonsense' }, { version: '1.21; rm -rf /' }, { version: '' }, { version: 'LATEST' }]) {
    t.throws(() => gameSpec(row(fields), settings), { name: 'EngineError', code: 'core_unavailable' });
  }
  t.throws(() => gameSpec(row(), { ...settings, dataDir: 'relative' }), { instanceOf: TypeError });
  for (const type of CORES) t.is(gameSpec(row({ type }), settings).core, type);
});

test('a modpack is identified by ids alone, and a pinned one brings its own Minecraft version', (t) => {
  const pack = (modpackPlatform: string, modpackRef: string, modpackVersion = '') =>
    gameSpec(row({ type: 'fabric', modpackPlatform, modpackRef, modpackVersion }), settings).env;
  t.like(pack('modrinth', 'fabulously-optimized', 'aBcD1234'), {
    MODPACK_PLATFORM: 'MODRINTH',
    MODRINTH_MODPACK: 'fabulously-optimized',
    MODRINTH_VERSION: 'aBcD1234',
    VERSION: 'LATEST',
  });
  t.like(pack('CURSEFORGE', 'all-the-mods-9', '123'), { MODPACK_PLATFORM: 'AUTO_CURSEFORGE', CF_FILE_ID: '123' });
  t.like(pack('ftb', '31'), { MODPACK_PLATFORM: 'FTBA', FTB_MODPACK_ID: '31', VERSION: '1.21.4' });
  for (const ref of ['https://evil.example/a.mrpack', '/data/x.mrpack', '@list.txt', 'a\nb', '%PATH%', '']) {
    t.throws(() => pack('modrinth', ref), { name: 'EngineError', code: 'install_failed' }, ref);
  }
  t.throws(() => pack('curseforge', 'slug', 'not-a-number'), { code: 'install_failed' });
  t.throws(() => pack('other', 'slug'), { code: 'install_failed' });
});

test('a pinned build reaches only the installer of its own core, and never a modpack’s', (t) => {
  const env = (fields: Partial<ServerRow>, build?: string) => gameSpec(row(fields), { ...settings, build }).env;
  for (const [type, variable, build] of [
    ['paper', 'PAPER_BUILD', '60'],
    ['folia', 'PAPER_BUILD', '60'],
    ['purpur', 'PURPUR_BUILD', '2500'],
    ['leaf', 'LEAF_BUILD', '429'],
    ['fabric', 'FABRIC_LOADER_VERSION', '0.4.8+build.155'],
    ['quilt', 'QUILT_LOADER_VERSION', '0.29.2-beta.3'],
    ['forge', 'FORGE_VERSION', '58.1.0'],
    ['neoforge', 'NEOFORGE_VERSION', '20.4.80-beta'],
  ] as const) {
    t.is(env({ type }, build)[variable], build);
    t.false(variable in env({ type }));
    t.false(variable in env({ type, modpackPlatform: 'modrinth', modpackRef: 'x' }, build));
    for (const bad of ['', 'latest', '1;reboot', '1 2', '$(id)', '../1', `1${'0'.repeat(60)}`, '1\n2']) {
      t.false(variable in env({ type }, bad), bad);
    }
  }
  for (const type of ['vanilla', 'custom', 'mohist', 'sandbox']) t.deepEqual(env({ type }, '60'), env({ type }), type);
});
