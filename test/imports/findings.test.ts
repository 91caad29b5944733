import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { type Findings, clueBytes, findingsOf } from '../../src/imports/findings.ts';
import { inspect } from '../../src/imports/imports.ts';
import { openJail } from '../../src/jail/jail.ts';
import { createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { isHere } from '../support/needs.ts';

type Files = Record<string, string | Buffer>;

/** Returns the findings of files that are read as an archive's reader would read them. */
function found(files: Files): Findings {
  const entries = Object.entries(files).map(([path, content]) => ({ path, sizeBytes: Buffer.from(content).length }));
  const clues = entries.filter(({ path, sizeBytes }) => sizeBytes <= clueBytes(path));
  const findings = findingsOf(entries, new Map(clues.map(({ path }) => [path, Buffer.from(files[path] ?? '')])));
  if (findings === undefined) throw new Error('no server was found');
  return findings;
}

/** A `level.dat` with the tags of a world that this version has written. */
function level(version: string): Buffer {
  const name = Buffer.concat([
    Buffer.from('\x08\0\x04Name\0', 'latin1'),
    Buffer.from([version.length]),
    Buffer.from(version),
  ]);
  return gzipSync(
    Buffer.concat([Buffer.from('\x0a\0\0\x0a\0\x04Data\x0a\0\x07Version', 'latin1'), name, Buffer.from([0, 0, 0])]),
  );
}

const software = ({ type, version, build }: Findings) => [type, version, build].join(' ').trim();

const PAPER: Files = {
  'server.properties': 'level-name=lobby\nmotd=Hello\nrcon.password=hunter2\nserver-port=25599\n',
  'eula.txt': 'eula=true',
  'start.sh': 'java -Xms1G -Xmx6G -jar paper.jar',
  'paper-1.21.8-60.jar': 'jar',
  'logs/latest.log': 'log',
  'logs/2026-01-01-1.log.gz': 'log',
  'lobby/level.dat': level('1.21.8'),
  'lobby/session.lock': '☃',
  'lobby_nether/level.dat': level('1.21.8'),
  'lobby_the_end/level.dat': level('1.21.8'),
  'arena/level.dat': level('1.21.8'),
  'plugins/ViaVersion-5.4.2.jar': 'jar',
  'plugins/LuckPerms-Bukkit-5.5.9.jar': 'jar',
  'plugins/Essentials/config.yml': 'a: b',
  'plugins/Vault.jar': 'jar',
  'ops.json': '[]',
  'whitelist.json': '[]',
};

test(`a folder of Paper has its version, memory, worlds, plugins and players, without what belongs to its host`, (t) => {
  const { leftOut, ...findings } = found(PAPER);
  t.deepEqual(findings, {
    root: '',
    type: 'paper',
    version: '1.21.8',
    build: '60',
    ramMb: 6144,
    worlds: [
      { name: 'arena', active: false, folders: ['arena'] },
      { name: 'lobby', active: true, folders: ['lobby', 'lobby_nether', 'lobby_the_end'] },
    ],
    mods: [
      { path: 'plugins/LuckPerms-Bukkit-5.5.9.jar', name: 'LuckPerms-Bukkit', version: '5.5.9' },
      { path: 'plugins/Vault.jar', name: 'Vault', version: '' },
      { path: 'plugins/ViaVersion-5.4.2.jar', name: 'ViaVersion', version: '5.4.2' },
    ],
    players: ['ops.json', 'whitelist.json'],
    motd: 'Hello',
    properties: { 'level-name': 'lobby' },
    files: 11,
    sizeBytes: findings.sizeBytes,
  });
  t.deepEqual(
    leftOut.map(({ path, files }) => [path, files]),
    [
      ['eula.txt', 1],
      ['lobby/session.lock', 1],
      ['logs/', 2],
      ['paper-1.21.8-60.jar', 1],
      ['start.sh', 1],
    ],
  );
  t.true(leftOut.every(({ reason }) => reason.endsWith('.')));
});

const COMPOSE = `services:
  mc:
    image: itzg/minecraft-server:java17
    environment: { EULA: "TRUE", TYPE: FABRIC, VERSION: 1.20.1, MEMORY: 5G, MODE: creative, MAX_PLAYERS: 8, PVP: false, RCON_PASSWORD: hunter2 }
    volumes: [ ./data:/data, /etc:/host ]
`;

test(`a folder of itzg's image has the core, version, memory and properties of its compose file`, (t) => {
  const findings = found({
    'mc/compose.yaml': COMPOSE,
    'mc/data/server.properties': 'gamemode=survival\n',
    'mc/data/world/level.dat': level('1.20.1'),
    'mc/data/.fabric-manifest.json': '{"minecraftVersion":"1.20.1","loaderVersion":"0.16.10"}',
    'mc/data/.rcon-cli.env': 'password=hunter2',
  });
  t.is(findings.root, 'mc/data/');
  t.is(software(findings), 'fabric 1.20.1 0.16.10');
  t.is(findings.ramMb, 5120);
  t.deepEqual(findings.properties, { gamemode: 'creative', 'max-players': '8', pvp: 'false' });
  t.deepEqual(
    findings.leftOut.map(({ path }) => path),
    ['.rcon-cli.env', 'mc/compose.yaml'],
  );
  t.false(JSON.stringify(findings).includes('hunter2'));
});

test(`variables of a compose file may be a list`, (t) => {
  const compose =
    'services:\n  a:\n    image: docker.io/itzg/minecraft-server\n    environment:\n      - TYPE=PAPER\n      - MOTD=a=b\n';
  const findings = found({ 'docker-compose.yml': compose, 'data/server.properties': '' });
  t.is(findings.type, 'paper');
  t.is(findings.motd, 'a=b');
});

for (const [what, files, wanted] of [
  ['Forge by its libraries', { 'libraries/net/minecraftforge/forge/1.20.1-47.2.0/x.jar': '' }, 'forge 1.20.1 47.2.0'],
  ['NeoForge by its libraries', { 'libraries/net/neoforged/neoforge/21.1.77/x.jar': '' }, 'neoforge 1.21.1 21.1.77'],
  [
    'Fabric by its launcher',
    { 'fabric-server-mc.1.21.4-loader.0.16.9-launcher.1.0.1.jar': '' },
    'fabric 1.21.4 0.16.9',
  ],
  [
    'Purpur by its configuration',
    { 'purpur.yml': '', 'spigot.yml': '', 'version_history.json': '{"currentVersion":"git-Purpur-1 (MC: 1.20.4)"}' },
    'purpur 1.20.4',
  ],
  ['Mohist by its jar', { 'mohist-1.20.1-110-server.jar': '' }, 'mohist 1.20.1 110'],
  ['Vanilla by its jar', { 'minecraft_server.1.16.5.jar': '' }, 'vanilla 1.16.5'],
  ['Vanilla by its world', { 'world/level.dat': level('1.19.2') }, 'vanilla 1.19.2'],
  [
    'Paper by its manifest, whatever jars an update has left',
    { 'spigot-1.8.8.jar': '', '.papermc-manifest.json': '{"project":"paper","minecraftVersion":"1.21.1","build":133}' },
    'paper 1.21.1 133',
  ],
] as [string, Files, string][])
  test(`the software is ${what}`, (t) => {
    const findings = found({ 'server.properties': '', ...files });
    // Mohist's builds are not pinned here.
    t.is(software(findings), wanted.replace('mohist 1.20.1 110', 'mohist 1.20.1'));
  });

test(`an instance of Prism has its loader and the worlds of its single player`, (t) => {
  const components = [
    { uid: 'net.minecraft', version: '1.20.1' },
    { uid: 'net.fabricmc.fabric-loader', version: '0.15.11' },
  ];
  const findings = found({
    'Mine/mmc-pack.json': JSON.stringify({ components, formatVersion: 1 }),
    'Mine/.minecraft/mods/sodium-fabric-0.5.3+mc1.20.1.jar': 'jar',
    'Mine/.minecraft/saves/New World/level.dat': level('1.20.1'),
  });
  t.is(findings.root, 'Mine/.minecraft/');
  t.is(software(findings), 'fabric 1.20.1 0.15.11');
  t.deepEqual(findings.worlds, [{ name: 'New World', active: true, folders: ['saves/New World'] }]);
  t.deepEqual(
    findings.mods.map(({ name, version }) => [name, version]),
    [['sodium-fabric', '0.5.3+mc1.20.1']],
  );
});

test(`the index of an installed Modrinth pack names its loader`, (t) => {
  const dependencies = { minecraft: '1.21.1', neoforge: '21.1.77' };
  const index = { formatVersion: 1, game: 'minecraft', name: 'Pack', files: [], dependencies };
  const files = { 'modrinth.index.json': JSON.stringify(index), 'server.properties': '' };
  t.is(software(found(files)), 'neoforge 1.21.1 21.1.77');
});

test(`a single-player world is found with or without its folder`, (t) => {
  const folder = found({ 'My World/level.dat': level('1.21.4'), 'My World/region/r.0.0.mca': 'x' });
  t.deepEqual(folder.worlds, [{ name: 'My World', active: true, folders: ['My World'] }]);
  const bare = found({ 'level.dat': level('1.21.4'), 'region/r.0.0.mca': 'x' });
  t.deepEqual(bare.worlds, [{ name: 'world', active: true, folders: [''] }]);
  t.is(bare.version, '1.21.4');
});

test(`an archive without a server, or a mod pack that is not installed, has no findings`, (t) => {
  const pack = [
    { path: 'modrinth.index.json', sizeBytes: 2 },
    { path: 'overrides/config/x.toml', sizeBytes: 1 },
  ];
  t.is(findingsOf(pack, new Map([['modrinth.index.json', Buffer.from('{}')]])), undefined);
  t.is(findingsOf([{ path: 'photos/cat.jpg', sizeBytes: 1 }], new Map()), undefined);
});

test(`hostile clues are ignored`, (t) => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
  const laughs = `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nservices: {x: {image: itzg/minecraft-server, environment: {TYPE: PAPER, y: *c}}}\n`;
  const findings = found({
    'server.properties': '\\u00\n'.repeat(1000),
    'compose.yaml': laughs,
    'mmc-pack.json': '{"components":[',
    '.papermc-manifest.json': '['.repeat(10_000),
    'modrinth.index.json': '{}',
    'world/level.dat': bomb,
    'run.sh': '-Xmx'.repeat(3_000),
    'x/__proto__/constructor': '',
  });
  t.is(software(findings), 'paper');
  t.is(findings.ramMb, 0);
});

/** Packs the files by a foreign program, and returns the findings of its archive. */
async function packedBy(t: ExecutionContext, files: Files, name: string, [program = '', ...args]: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'dormouse-import-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, 'in', path)), { recursive: true });
    writeFileSync(join(folder, 'in', path), content);
  }
  execFileSync(program, args, { cwd: join(folder, 'in') });
  const workers = createWorkerPool({});
  await using jail = await openJail(folder);
  await using archive = await jail.open(name);
  return await inspect(archive, workers, { tenant: 'abc' });
}

const WINDOWS_ZIP = `import os, zipfile
with zipfile.ZipFile('../a.zip', 'w', zipfile.ZIP_DEFLATED) as z:
    for d, _, names in os.walk('.'):
        for n in names:
            p = os.path.relpath(os.path.join(d, n))
            i = zipfile.ZipInfo('Server\\\\x')
            i.create_system = 0
            i.filename = 'Server\\\\' + p.replace('/', '\\\\')
            z.writestr(i, open(p, 'rb').read())
`;

for (const [title, name, command] of [
  [`Info-ZIP`, 'a.zip', ['zip', '-qr', '../a.zip', '.']],
  [`GNU tar and gzip`, 'a.tar.gz', ['tar', 'czf', '../a.tar.gz', '.']],
  [`GNU tar and zstd`, 'a.tar.zst', ['tar', '--zstd', '-cf', '../a.tar.zst', '.']],
  [`a Windows program, with backslashes`, 'a.zip', ['python3', '-c', WINDOWS_ZIP]],
] as [string, string, string[]][])
  test.runIf(isHere('archivers'))(`an archive of ${title} has the findings of its files`, async (t) => {
    const findings = await packedBy(t, PAPER, name, command);
    const { root: _, ...expected } = found(PAPER);
    t.is(findings?.root, title.includes('Windows') ? 'Server/' : '');
    t.like(findings, expected);
  });
