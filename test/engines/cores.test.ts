import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, mkdir, mkdtemp, open, readFile, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { EngineError, type GameSpec, type Preparation } from '../../src/engines/engine.ts';
import { openBubblewrap } from '../../src/engines/process/bubblewrap.ts';
import { type Programs, commandFor } from '../../src/engines/process/command.ts';
import { openCoreStore } from '../../src/engines/process/cores/core-store.ts';
import { installerHost } from '../../src/engines/process/cores/installer.ts';
import { fetchFile } from '../../src/engines/process/cores/fetch-file.ts';
import { sourceHttp } from '../../src/engines/process/cores/source.ts';
import { openCoreSources } from '../../src/engines/process/cores/sources.ts';
import type { Confinement } from '../../src/engines/process/confinement.ts';
import { gameUser } from '../../src/engines/process/game-user.ts';
import { createJavas } from '../../src/engines/process/java-homes.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { GIB, MIB } from '../../src/kernel/units.ts';
import { type StandIn, answerWith, cutInHalf, hurriedClock, standIn } from '../support/core-sources.ts';
import { isHere } from '../support/needs.ts';
import { until } from '../support/until.ts';
import { writeProgram } from '../support/write-program.ts';

const never = new AbortController().signal;
const log = pino({ level: 'silent' });

/** A Java whose installers create what the real ones do. It leaves its arguments in `installed`. */
const JAVA = `#!/bin/sh
echo "$@" >> "$(dirname "$0")/installed"
case "$*" in
*forge*--installServer*)
  name=$(basename "$(echo "$*" | sed 's/.*-jar //; s/ .*//')" -installer.jar)
  name=\${name#.}
  mkdir -p libraries/net/minecraftforge/forge/$name
  echo '-p libraries' > libraries/net/minecraftforge/forge/$name/unix_args.txt
  echo "java @user_jvm_args.txt @libraries/net/minecraftforge/forge/$name/unix_args.txt" > run.sh
  echo '# -Xmx4G' > user_jvm_args.txt
  ln -s /etc/passwd libraries/link
  ;;
*install*server*)
  touch server.jar quilt-server-launch.jar
  ;;
esac
`;

/** A machine with one Java, a server's folder, and the sources of a stand-in. */
async function machine(
  t: ExecutionContext,
  { java = JAVA, sources, confinement = {} }: { java?: string; sources?: StandIn; confinement?: Confinement } = {},
) {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-cores-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const put = async (path: string, text: string) => {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  };
  await put('java/release', 'JAVA_VERSION="21.0.1"\n');
  await mkdir(join(dir, 'java/bin'));
  writeProgram(join(dir, 'java/bin/java'), java);
  await mkdir(join(dir, 'data'));
  const coresDir = join(dir, 'cores');
  const from = sources ?? (await standIn(t));
  const options = { clock: hurriedClock, contact: 'http://play.example.org' };
  const cores = openCoreStore(coresDir, openCoreSources(from.urls, options), log);
  const programs: Programs = {
    sandboxEntry: '',
    javas: createJavas({ homes: [join(dir, 'java')] }),
    coresDir,
    cores,
    installersOf: (spec, chosen) =>
      installerHost(spec, chosen, {
        confinement,
        env: { PATH: process.env['PATH'] ?? '' },
        openLog: () => open(join(dir, 'log'), 'a'),
      }),
  };
  const shown: Preparation[] = [];
  return {
    dir,
    put,
    from,
    shown,
    programs,
    cores: coresDir,
    data: join(dir, 'data'),
    /** Prepares a start. Returns the jar or argument file, and the build. */
    async prepare(
      core: string,
      version: string,
      build?: string,
      signal = never,
      progress = (each: Preparation) => void shown.push(each),
    ) {
      const spec = { core, version, build, dataDir: join(dir, 'data'), ramMb: 2_048 } as GameSpec;
      const command = await commandFor(spec, programs, signal, progress);
      const last = command.args.at(-2) ?? '';
      return { ...command, path: last.replace('@', ''), text: last.startsWith('@') ? '' : await textOf(last) };
    },
    async refusal(core: string, version: string, build?: string) {
      return await t.throwsAsync<EngineError>(this.prepare(core, version, build), { instanceOf: EngineError });
    },
  };
}

/** Returns the distinguishing part of a stand-in's jar. */
async function textOf(jar: string): Promise<string> {
  return (await readFile(jar)).toString('latin1').slice(4).split('PK')[0] ?? '';
}

test('each core with a public source is downloaded in its newest build, and shared by all servers', async (t) => {
  const it = await machine(t);
  it.from.paper('paper', '1.21.8', [{ build: '59' }, { build: '60' }, { build: '61', channel: 'ALPHA' }]);
  it.from.paper('folia', '1.21.8', [{ build: '6', channel: 'BETA' }]);
  it.from.purpur('1.21.8', [{ build: '2496' }, { build: '2497' }]);
  it.from.leaf('1.21.8', [{ build: '9' }, { build: '10' }]);
  it.from.pufferfish('1.21.8', { build: '33' });
  it.from.vanilla('1.21.8');
  it.from.fabric('1.21.8', [{ build: '0.17.3-beta' }, { build: '0.17.2' }, { build: '0.17.1' }]);
  for (const [core, build, text] of [
    ['paper', '60', 'paper 1.21.8 60'],
    ['folia', '6', 'folia 1.21.8 6'],
    ['purpur', '2497', 'purpur 1.21.8 2497'],
    ['leaf', '10', 'leaf 1.21.8 10'],
    ['pufferfish', '33', 'pufferfish 1.21.8 33'],
    ['vanilla', undefined, 'vanilla 1.21.8'],
    ['fabric', '0.17.2', 'fabric 1.21.8 0.17.2'],
  ] as const) {
    const prepared = await it.prepare(core, '1.21.8');
    t.deepEqual([prepared.build, prepared.text], [build, text]);
    const name = build === undefined ? '1.21.8' : `1.21.8-${build}`;
    t.is(prepared.path, join(it.cores, core, name, 'server.jar'));
  }
  const gameJar = `-Dfabric.installer.server.gameJar=${join(it.cores, 'vanilla/1.21.8/server.jar')}`;
  t.true((await it.prepare('fabric', '1.21.8')).args.includes(gameJar));
  const files = () => it.from.count('/v1/objects/') + it.from.count('/download') + it.from.count('/server/jar');
  const before = files();
  for (const core of ['paper', 'purpur', 'vanilla', 'fabric']) await it.prepare(core, '1.21.8');
  t.is(files(), before, 'a second server downloads no file');
  t.true(
    it.from.asked
      .filter(({ path }) => path.startsWith('/v3/'))
      .every(({ agent }) => agent?.includes('play.example.org')),
  );
  t.deepEqual(it.shown.slice(0, 2), [
    { phase: 'downloading', percent: 0 },
    { phase: 'downloading', percent: 100 },
  ]);
});

test('Velocity is downloaded from the service of PaperMC, and starts without a game’s argument', async (t) => {
  const it = await machine(t);
  it.from.paper('velocity', '3.4.0-SNAPSHOT', [{ build: '550' }, { build: '551' }]);
  const command = await commandFor(
    { core: 'velocity', isProxy: true, version: '3.4.0-SNAPSHOT', dataDir: it.data, ramMb: 1_024 } as GameSpec,
    it.programs,
    never,
  );
  const jar = join(it.cores, 'velocity/3.4.0-SNAPSHOT-551/server.jar');
  t.deepEqual([command.build, command.args.slice(-2)], ['551', ['-jar', jar]]);
});

test('a server keeps its build, and servers that need a build at the same time share the download', async (t) => {
  const it = await machine(t);
  it.from.paper('paper', '1.21.8', [{ build: '59' }, { build: '60' }]);
  const [first, second] = await Promise.all([it.prepare('paper', '1.21.8'), it.prepare('paper', '1.21.8')]);
  t.deepEqual([first.build, second.build, it.from.count('/v1/objects/')], ['60', '60', 1]);
  it.from.paper('paper', '1.21.8', [{ build: '60' }, { build: '61' }]);
  t.is((await it.prepare('paper', '1.21.8', '60')).text, 'paper 1.21.8 60');
  t.is((await it.prepare('paper', '1.21.8', '59')).text, 'paper 1.21.8 59', 'also one that is not here yet');
  t.is((await it.prepare('paper', '1.21.8')).text, 'paper 1.21.8 61');
  const gone = await it.refusal('paper', '1.21.8', '12');
  t.is(gone.code, 'core_unavailable');
  t.regex(gone.message, /Build 12 of paper 1\.21\.8 is no longer offered/);
});

test('servers that wait for the download of another server see its progress', async (t) => {
  const it = await machine(t);
  const jar = Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(200_000, 7)]);
  it.from.paper('paper', '1.21.8', [{ build: '60', jar }]);
  let finish = () => {};
  it.from.disturb('/v1/objects/', (reply) => {
    reply.writeHead(200, { 'content-length': jar.length });
    reply.write(jar.subarray(0, 100_000));
    finish = () => void reply.end(jar.subarray(100_000));
  });
  const first = it.prepare('paper', '1.21.8');
  const isHalf = ({ percent }: Preparation) => percent > 20 && percent < 100;
  await until(() => it.shown.some(isHalf));
  const seen: Preparation[] = [];
  const second = it.prepare('paper', '1.21.8', undefined, never, (progress) => void seen.push(progress));
  await until(() => seen.some(isHalf));
  finish();
  await Promise.all([first, second]);
  t.deepEqual(seen.at(-1), { phase: 'downloading', percent: 100 });
});

test('a part of a download that was not continued for a week is removed at the next download', async (t) => {
  const it = await machine(t);
  it.from.paper('paper', '1.21.8', [{ build: '60' }]);
  const old = ['cores/paper/1.20.4-7/server.jar.part', 'cores/forge/.1.20.1-47-installer.jar.part'];
  const recent = 'cores/purpur/1.21.8-9/server.jar.part';
  for (const path of [...old, recent]) await it.put(path, 'PK');
  const weekAgo = new Date(Date.now() - 8 * 24 * 3_600_000);
  for (const path of old) await utimes(join(it.dir, path), weekAgo, weekAgo);
  await it.prepare('paper', '1.21.8');
  for (const path of [...old, dirname(old[0]!)]) t.false(existsSync(join(it.dir, path)), path);
  t.true(existsSync(join(it.dir, recent)), 'a recent part can be continued');
});

test('a wrong checksum or a page in place of a jar is never run', async (t) => {
  const it = await machine(t);
  const [md5, sha1, sha256] = ['0'.repeat(32), '0'.repeat(40), '0'.repeat(64)];
  it.from.paper('paper', '1.21.8', [{ build: '60', checksum: sha256 }]);
  it.from.purpur('1.21.8', [{ build: '1', checksum: md5 }]);
  it.from.leaf('1.21.8', [{ build: '10', checksum: sha256 }]);
  it.from.pufferfish('1.21.8', { build: '33', checksum: md5 });
  it.from.vanilla('1.21.8', undefined, sha1);
  it.from.quilt('1.21.8', [{ build: '0.26.4', checksum: sha256 }]);
  it.from.forge('1.21.8', [{ build: '58.0.1', checksum: sha256 }]);
  for (const core of ['paper', 'purpur', 'leaf', 'pufferfish', 'vanilla', 'quilt', 'forge']) {
    const { code, message } = await it.refusal(core, '1.21.8');
    t.is(code, 'download_failed', core);
    t.regex(message, /does not match the size or checksum of its source and was discarded/, core);
  }
  t.false(existsSync(join(it.dir, 'java/bin/installed')), 'no installer was run');
  it.from.fabric('1.21.8', [{ build: '0.17.2', jar: Buffer.from('<html>not found</html>') }]);
  const large = Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(17 * MIB), Buffer.from('PK\u0005\u0006')]);
  it.from.fabric('1.21.4', [{ build: '0.17.2', jar: large }]);
  for (const [version, why] of [
    ['1.21.8', /not a jar/],
    ['1.21.4', /is larger than expected/],
  ] as const) {
    const { code, message, suggestion } = await it.refusal('fabric', version);
    t.is(code, 'core_unavailable', version);
    t.regex(message, why);
    t.regex(suggestion, /another version/);
  }
  for (const folder of [
    'paper/1.21.8-60',
    'purpur/1.21.8-1',
    'leaf/1.21.8-10',
    'pufferfish/1.21.8-33',
    'vanilla/1.21.8',
    'quilt',
    'forge',
    'fabric/1.21.8-0.17.2',
    'fabric/1.21.4-0.17.2',
  ])
    t.deepEqual(await readdir(join(it.cores, folder)), [], folder);
});

test('an answer that names a foreign host, no server or an impossible build is refused', async (t) => {
  const it = await machine(t);
  it.from.put('/mc/game/version_manifest_v2.json', {
    versions: [
      { id: '0.1', url: 'http://169.254.169.254/x' },
      { id: '1.0', url: `${it.from.url}/1.0.json` },
    ],
  });
  it.from.put('/1.0.json', { downloads: {} });
  it.from.fabric('1.8', [{ build: '../../x' }]);
  for (const [core, version, expected, why] of [
    ['vanilla', '0.1', 'core_unavailable', /does not belong to it/],
    ['vanilla', '1.0', 'core_unavailable', /There is no vanilla for Minecraft 1\.0/],
    // An unreadable answer may be a temporary fault of the source.
    ['fabric', '1.8', 'download_failed', /invalid response/],
  ] as const) {
    const { code, message } = await it.refusal(core, version);
    t.is(code, expected, version);
    t.regex(message, why);
  }
  t.false(existsSync(it.cores));
});

test('a cut download continues where it ended, in the same start', async (t) => {
  const it = await machine(t);
  const jar = Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(200_000, 7)]);
  it.from.paper('paper', '1.21.8', [{ build: '60', jar }]);
  it.from.disturb('/v1/objects/', cutInHalf(jar, join(it.cores, 'paper/1.21.8-60/server.jar.part')));
  const { path } = await it.prepare('paper', '1.21.8');
  t.deepEqual(await readFile(path), jar);
  const ranges = it.from.asked.filter(({ path: asked }) => asked.includes('/v1/objects/')).map(({ range }) => range);
  t.deepEqual(ranges, [undefined, 'bytes=100002-']);
});

test('a download that was killed continues in the next start, and other bytes in its place are discarded', async (t) => {
  const it = await machine(t);
  const jar = Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(200_000, 7)]);
  it.from.paper('paper', '1.21.8', [{ build: '60', jar }]);
  // As a killed service leaves it.
  await it.put('cores/paper/1.21.8-60/server.jar.part', jar.subarray(0, 50_000).toString('latin1'));
  t.deepEqual(await readFile((await it.prepare('paper', '1.21.8')).path), jar);
  t.is(it.from.asked.at(-1)?.range, 'bytes=50000-');
  t.deepEqual(await readdir(join(it.cores, 'paper/1.21.8-60')), ['server.jar']);

  it.from.paper('paper', '1.21.8', [{ build: '61', jar }]);
  await it.put('cores/paper/1.21.8-61/server.jar.part', 'x'.repeat(50_000));
  t.deepEqual(await readFile((await it.prepare('paper', '1.21.8')).path), jar);
  it.from.paper('paper', '1.21.8', [{ build: '62', jar }]);
  await mkdir(join(it.cores, 'paper/1.21.8-62'));
  await writeFile(join(it.dir, 'other'), 'keep');
  await symlink(join(it.dir, 'other'), join(it.cores, 'paper/1.21.8-62/server.jar.part'));
  await t.throwsAsync(it.prepare('paper', '1.21.8'), { code: 'ELOOP' }, 'a link is not followed');
  t.is(await readFile(join(it.dir, 'other'), 'utf8'), 'keep');
});

test('a stopped start ends its download at once, and leaves a part for the next one', async (t) => {
  const it = await machine(t);
  const jar = Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(200_000, 7)]);
  it.from.paper('paper', '1.21.8', [{ build: '60', jar }]);
  it.from.disturb('/v1/objects/', (reply) => {
    reply.writeHead(200, { 'content-length': jar.length });
    reply.write(jar.subarray(0, 60_000));
  });
  const stop = new AbortController();
  const preparing = it.prepare('paper', '1.21.8', undefined, stop.signal);
  await until(async () => (await readdir(join(it.cores, 'paper/1.21.8-60')).catch(() => [])).length > 0);
  await sleep(100);
  stop.abort(new Error('stopped'));
  await t.throwsAsync(preparing, { message: 'stopped' });
  t.deepEqual(await readFile((await it.prepare('paper', '1.21.8')).path), jar);
});

test('without a source a server runs on the newest build that is here, and otherwise learns what is here', async (t) => {
  const it = await machine(t);
  it.from.paper('paper', '1.21.8', [{ build: '59' }]);
  it.from.vanilla('1.21.1');
  await it.prepare('paper', '1.21.8');
  await it.prepare('vanilla', '1.21.1');
  it.from.disturb('/v3/', ...Array.from({ length: 20 }, () => answerWith(503)));
  t.is((await it.prepare('paper', '1.21.8')).build, '59');
  const down = await it.refusal('paper', '1.21.7');
  t.is(down.code, 'download_failed');
  t.regex(down.message, /PaperMC's downloads service answers with status 503/);
  t.is(
    down.suggestion,
    'Try again in a few minutes, or upload server.jar. Already on this machine: paper 1.21.8, vanilla 1.21.1.',
  );
  const offline = { ...it.from, urls: { ...it.from.urls, purpurUrl: 'http://purpur.invalid' } };
  const away = await machine(t, { sources: offline });
  await mkdir(away.cores);
  const { message, suggestion, code } = await away.refusal('purpur', '1.21.8');
  t.is(code, 'download_failed');
  t.is(message, 'This machine has no connection to the internet.');
  t.is(suggestion, 'Connect it, or upload server.jar.');
});

test('a version without builds and a core without a public source name the alternatives', async (t) => {
  const it = await machine(t);
  it.from.vanilla('1.21.8');
  it.from.pufferfish('1.21.8', { build: '33' });
  for (const core of ['paper', 'purpur', 'leaf', 'vanilla', 'fabric', 'quilt', 'forge', 'neoforge', 'pufferfish']) {
    const { code, message, suggestion } = await it.refusal(core, '1.21.4');
    t.deepEqual([code, message], ['core_unavailable', `There is no ${core} for Minecraft 1.21.4.`]);
    t.is(suggestion, 'Choose another version, or upload server.jar.');
  }
  const none = await it.refusal('spigot', '1.21.8');
  t.is(none.message, 'There is no spigot 1.21.8 on this machine.');
  t.regex(none.suggestion, /Upload it as server\.jar/);
});

test('jars of the owner and of the operator come before downloads', async (t) => {
  const it = await machine(t);
  it.from.paper('paper', '1.21.8', [{ build: '60' }]);
  await it.put('cores/paper-1.21.8.jar', 'of the operator');
  t.is((await it.prepare('paper', '1.21.8')).path, join(it.cores, 'paper-1.21.8.jar'));
  for (const core of ['fabric', 'vanilla']) await it.put(`cores/${core}-1.21.8.jar`, 'of the operator');
  t.deepEqual((await it.prepare('fabric', '1.21.8')).args.slice(-4), [
    `-Dfabric.installer.server.gameJar=${join(it.cores, 'vanilla-1.21.8.jar')}`,
    '-jar',
    join(it.cores, 'fabric-1.21.8.jar'),
    'nogui',
  ]);
  await it.put('data/server.jar', 'of the owner');
  t.is((await it.prepare('paper', '1.21.8')).path, join(it.data, 'server.jar'));
  const own = await it.prepare('fabric', '1.21.8');
  t.is(own.path, join(it.data, 'server.jar'));
  t.false(own.args.some((arg) => arg.startsWith('-Dfabric.installer.server.gameJar')));
  t.is(it.from.asked.length, 0);
});

test('Fabric gets the loader of the server’s pack, or another one if that is unavailable', async (t) => {
  const it = await machine(t);
  it.from.vanilla('1.21.1');
  it.from.vanilla('1.21.4');
  it.from.fabric(
    '1.21.1',
    ['0.17.2', '0.16.14', '0.16.9'].map((build) => ({ build })),
  );
  it.from.fabric('1.21.4', [{ build: '0.17.2' }]);
  const made = (loader: unknown) =>
    it.put('data/.dormouse-loader.json', JSON.stringify({ core: 'fabric', version: '1.21.1', loader }));
  const loaderOf = async (version = '1.21.1') => (await it.prepare('fabric', version)).text.split(' ')[2];
  t.is(await loaderOf(), '0.17.2', 'the newest loader if no pack names one');
  await made('0.16.9');
  t.is(await loaderOf(), '0.16.9');
  t.is(await loaderOf('1.21.4'), '0.17.2', 'a loader for another game version does not count');
  for (const bad of ['../../x', 7, '']) {
    await made(bad);
    t.is(await loaderOf(), '0.17.2');
  }
  await made('0.1.0');
  t.is(await loaderOf(), '0.17.2', 'the stored launcher if the right one is unavailable');
  await rm(it.cores, { recursive: true });
  t.regex((await it.refusal('fabric', '1.21.1')).message, /fabric 0\.1\.0 for Minecraft 1\.21\.1 no longer exists/);
});

test('Forge is installed once and copied to each server, with no links, and updated only by an unpinned start', async (t) => {
  const it = await machine(t);
  it.from.forge('1.20.1', [{ build: '47.4.0' }]);
  const first = await it.prepare('forge', '1.20.1');
  t.deepEqual([first.build, first.path], ['47.4.0', 'libraries/net/minecraftforge/forge/1.20.1-47.4.0/unix_args.txt']);
  t.deepEqual((await readdir(it.data)).toSorted(), ['.dormouse-core.json', '.dormouse-tmp', 'libraries', 'run.sh']);
  t.deepEqual(await readdir(join(it.data, 'libraries')), ['net']);
  t.deepEqual(await readdir(join(it.cores, 'forge')), ['1.20.1-47.4.0']);
  t.deepEqual(it.shown.at(-1), { phase: 'installing', percent: 0 });
  const installed = async () => (await readFile(join(it.dir, 'java/bin/installed'), 'utf8')).trim().split('\n').length;
  t.is(await installed(), 1);
  await rm(it.data, { recursive: true });
  await mkdir(it.data);
  await it.prepare('forge', '1.20.1', '47.4.0');
  t.is(await installed(), 1, 'a second server gets a copy');
  it.from.forge('1.20.1', [{ build: '47.4.0' }, { build: '47.4.1' }]);
  t.is((await it.prepare('forge', '1.20.1', '47.4.0')).build, '47.4.0');
  t.regex((await it.prepare('forge', '1.20.1')).path, /47\.4\.1/);
  it.from.disturb('/promotions', answerWith(404), answerWith(404));
  t.is((await it.prepare('forge', '1.20.1')).build, '47.4.1', 'the copy runs if the source has no builds any more');
  await rm(join(it.data, '.dormouse-core.json'));
  await it.put('data/run.sh', 'java @libraries/net/minecraftforge/forge/1.20.1-47.4.0/unix_args.txt');
  const own = await it.prepare('forge', '1.20.1');
  t.deepEqual([own.build, own.path.includes('47.4.0')], [undefined, true], 'files of the owner stay as they are');
});

test('NeoForge and Quilt are installed in the newest stable build for the version', async (t) => {
  const neo = JAVA.replaceAll('minecraftforge/forge', 'neoforged/neoforge').replace('$name', '21.1.77');
  const it = await machine(t, { java: neo.replaceAll('$name', '21.1.77') });
  it.from.neoforge(['21.0.9', '21.1.9', '21.1.77', '21.1.78-beta', '21.2.1'].map((build) => ({ build })));
  it.from.quilt('1.21.1', [{ build: '0.27.0-beta.1' }, { build: '0.26.4' }]);
  const { build, path } = await it.prepare('neoforge', '1.21.1');
  t.deepEqual([build, path], ['21.1.77', 'libraries/net/neoforged/neoforge/21.1.77/unix_args.txt']);
  await rm(it.data, { recursive: true });
  await mkdir(it.data);
  const quilt = await it.prepare('quilt', '1.21.1');
  const folder = join(it.cores, 'quilt/1.21.1-0.26.4');
  t.is(quilt.build, '0.26.4');
  t.deepEqual(quilt.args.slice(-4, -1), [
    `-Dloader.gameJarPath=${folder}/server.jar`,
    '-jar',
    `${folder}/quilt-server-launch.jar`,
  ]);
  t.deepEqual(await readdir(it.data), [], 'Quilt runs from the shared folder');
});

test('an installer that fails, creates nothing or is stopped leaves no core', async (t) => {
  for (const [java, message] of [
    ['#!/bin/sh\nexit 3\n', 'The installer ended with code 3.'],
    ['#!/bin/sh\nexit 0\n', 'The installer ended without creating a server.'],
  ] as const) {
    const it = await machine(t, { java });
    it.from.forge('1.20.1', [{ build: '47.4.0' }]);
    const failure = await it.refusal('forge', '1.20.1');
    t.deepEqual([failure.code, failure.message], ['install_failed', message]);
    t.deepEqual(await readdir(join(it.cores, 'forge')), ['.1.20.1-47.4.0-installer.jar']);
  }
  const it = await machine(t, { java: '#!/bin/sh\ntouch run.sh begun\nsleep 60\n' });
  it.from.forge('1.20.1', [{ build: '47.4.0' }]);
  const stop = new AbortController();
  const preparing = it.prepare('forge', '1.20.1', undefined, stop.signal);
  await until(async () =>
    (await readdir(join(it.cores, 'forge'), { recursive: true }).catch(() => [])).some((name) =>
      name.endsWith('begun'),
    ),
  );
  stop.abort(new Error('stopped'));
  await t.throwsAsync(preparing, { message: 'stopped' });
  t.deepEqual(await readdir(join(it.cores, 'forge')), ['.1.20.1-47.4.0-installer.jar']);
});

test('a partial download of an installer is not an installed build', async (t) => {
  const it = await machine(t);
  it.from.forge('1.20.1', [{ build: '47.4.0' }]);
  for (const name of ['1.20.1-47.4.0-installer.jar', '1.20.1-47.4.0-installer.jar.part', '1.20.1-47.4.0'])
    await it.put(`cores/forge/${name}`, 'PK');
  it.from.disturb('/promotions', ...Array.from({ length: 5 }, () => answerWith(503)));
  const { code, message } = await it.refusal('forge', '1.20.1');
  t.deepEqual([code, /answers with status 503/.test(message)], ['download_failed', true]);
  await rm(join(it.cores, 'forge/1.20.1-47.4.0'));
  t.is((await it.prepare('forge', '1.20.1')).build, '47.4.0');
});

test('a copy to a server that was cut short is made again, and is not run in place of a complete one', async (t) => {
  const it = await machine(t);
  it.from.forge('1.20.1', [{ build: '47.4.0' }]);
  const note = async () => JSON.parse(await readFile(join(it.data, '.dormouse-core.json'), 'utf8')) as unknown;
  const build = { core: 'forge', version: '1.20.1', build: '47.4.0' };
  // A folder in the place of a file stops the copy.
  await mkdir(join(it.data, 'run.sh'));
  await t.throwsAsync(it.prepare('forge', '1.20.1'));
  t.deepEqual(await note(), { ...build, isComplete: false });
  await rm(join(it.data, 'run.sh'), { recursive: true });
  // As a killed service leaves it: the argument file is there, and others are missing.
  const path = 'libraries/net/minecraftforge/forge/1.20.1-47.4.0/unix_args.txt';
  await it.put(`data/${path}`, '-p libraries');
  it.from.disturb('/promotions', answerWith(404));
  t.is((await it.refusal('forge', '1.20.1')).code, 'core_unavailable');
  const prepared = await it.prepare('forge', '1.20.1');
  t.deepEqual([prepared.build, prepared.path], ['47.4.0', path]);
  t.true(existsSync(join(it.data, 'run.sh')));
  t.deepEqual(await note(), { ...build, isComplete: true });
});

test('a file that its source states to be larger than any core is refused before its download', async (t) => {
  const it = await machine(t);
  const http = sourceHttp('Things', it.from.url, { clock: hurriedClock, contact: 'http://localhost' });
  const file = { name: 'thing 1', url: `${it.from.url}/thing.jar`, sizeBytes: 2 * GIB + 1 };
  const fetching = fetchFile(file, join(it.cores, 'thing/server.jar'), { http, signal: never, progress: () => {} });
  const { code, reason, message } = await t.throwsAsync<StatusError>(fetching, { instanceOf: StatusError });
  t.deepEqual(
    [code, reason, message],
    ['FAILED_PRECONDITION', 'DOWNLOAD_REFUSED', 'The file of thing 1 is too large.'],
  );
  t.deepEqual([it.from.asked, existsSync(it.cores)], [[], false]);
});

test('an installer ends with its children when the service is killed', async (t) => {
  const loop = (name: string) =>
    `trap 'touch "$here/${name}-ended"; exit' TERM; touch "$here/${name}-begun"; while [ -e "$0" ]; do sleep 0.05; done`;
  const java = `#!/bin/sh\nhere=$(dirname "$0")\n(${loop('child')}) &\n${loop('parent')}\n`;
  const it = await machine(t, { java });
  const file = join(it.dir, 'java/bin/java');
  const module = new URL('../../src/engines/process/cores/installer.ts', import.meta.url).href;
  const [spec, target] = [
    { core: 'forge', version: '1.20.1', dataDir: it.data },
    join(it.cores, 'forge/1.20.1-47.4.0'),
  ];
  const program = `
    const { open } = await import('node:fs/promises');
    const { installerHost, runInstaller } = await import(${JSON.stringify(module)});
    const given = { confinement: {}, env: { PATH: process.env.PATH }, openLog: () => open('/dev/null', 'a') };
    const host = installerHost(${JSON.stringify(spec)}, ${JSON.stringify({ file, major: 21 })}, given);
    const installation = { jar: 'x.jar', args: () => [], target: ${JSON.stringify(target)}, isComplete: () => true };
    await runInstaller(installation, host, new AbortController().signal);`;
  const service = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'inherit' });
  const areAll = (what: string) =>
    ['child', 'parent'].every((name) => existsSync(join(it.dir, `java/bin/${name}-${what}`)));
  await until(() => areAll('begun'));
  service.kill('SIGKILL');
  await until(() => areAll('ended'));
  t.pass();
});

test.runIf(isHere('bubblewrap'))(
  'an installer sees neither other files nor other processes, and cannot change its result later',
  async (t) => {
    const user = process.getuid?.() === 0 ? await gameUser(4712) : undefined;
    const look = `cat ${import.meta.filename} > seen 2>&1; echo $? >> seen; ls /proc | grep -c '^[0-9]' >> seen\n`;
    const it = await machine(t, {
      java: JAVA.replace('  ln -s', `  ${look}  ln -s`).replace(/^echo.*$/m, ''),
      confinement: { user, bubblewrap: await openBubblewrap(user, log) },
    });
    if (user) await chown(it.data, user.uid, user.gid);
    it.from.forge('1.20.1', [{ build: '47.4.0' }]);
    const { build } = await it.prepare('forge', '1.20.1');
    t.is(build, '47.4.0', await readFile(join(it.dir, 'log'), 'utf8'));
    const installed = join(it.cores, 'forge/1.20.1-47.4.0');
    t.regex(await readFile(join(installed, 'seen'), 'utf8'), /No such file[^]*\n1\n\d\n$/);
    const { uid, mode } = await stat(join(installed, 'run.sh'));
    t.deepEqual([uid, mode & 0o777], [process.getuid?.() ?? 0, 0o644]);
    t.is((await stat(join(it.data, 'run.sh'))).uid, user?.uid ?? process.getuid?.() ?? 0);
  },
);
