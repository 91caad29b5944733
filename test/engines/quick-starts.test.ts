import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import type { EngineEvent, Exit } from '../../src/engines/engine.ts';
import type { PlainStart } from '../../src/engines/process/java-launch.ts';
import { QuickStarts, type QuickStartsOptions } from '../../src/engines/process/quick-starts.ts';
import { processTrainer } from '../../src/engines/process/training.ts';
import { type Bundle, writeBundle, writeJar } from '../support/java-core.ts';
import { until } from '../support/until.ts';
import { writeProgram } from '../support/write-program.ts';

/**
 * A Java that records its runs in the file `runs` and copies its folder's properties beside it. It writes the cache
 * once it is asked to stop. Files beside it change it: `patch.jar` is what Paperclip would create; with `fails`, runs
 * fail; with `never-ready`, they never end by themselves. A broken pipe must not end it before its signal is handled.
 */
const JAVA = `#!/bin/sh
here=$(dirname "$0")
output=/dev/null
trap '' PIPE
trap 'echo cache > "$output"; echo "end" >> "$here/runs"; exit 143' TERM
echo "begin $*" >> "$here/runs"
cp eula.txt server.properties "$here/" 2>/dev/null
[ -e "$here/fails" ] && exit 1
for arg in "$@"; do
  case $arg in
    -Dpaperclip.patchonly=true) mkdir -p versions/1.21.11; cp "$here/patch.jar" versions/1.21.11/server-1.21.11.jar; exit;;
    -XX:AOTCacheOutput=*|-XX:ArchiveClassesAtExit=*) output=\${arg#*=};;
  esac
done
[ -e "$here/never-ready" ] || echo '[12:00:00] [Server thread/INFO]: Done (1.234s)! For help, type "help"'
while :; do sleep 0.05; done
`;

async function bench(t: ExecutionContext, options: Partial<QuickStartsOptions> = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-quick-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const coresDir = join(dir, 'cores');
  await mkdir(coresDir);
  const java = { file: join(dir, 'java'), major: 25 };
  writeProgram(java.file, JAVA);
  const logged: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void logged.push(JSON.parse(line)) });
  const searchPath = process.env.PATH ?? '';
  const given = { coresDir, trainer: processTrainer({}, searchPath), log, spareMb: () => 100_000, ...options };
  const quickStarts = new QuickStarts(given);
  t.teardown(() => quickStarts.close());
  const jar = join(coresDir, 'vanilla-1.21.11.jar');
  const start = (fields: Partial<PlainStart> = {}, serverId = 'alpha'): PlainStart => ({
    spec: { serverId, core: 'vanilla', version: '1.21.11', env: { EULA: 'TRUE' } },
    java,
    flags: [],
    main: ['-jar', jar],
    ...fields,
  });
  const runs = async () =>
    (await readFile(join(dir, 'runs'), 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
  /** Starts, waits for the preparation, and returns the arguments of the next start. */
  const prepared = async (...wanted: Parameters<typeof start>) => {
    await quickStarts.quicken(start(...wanted));
    await quickStarts.settled();
    return await quickStarts.quicken(start(...wanted));
  };
  return { dir, coresDir, java, jar, logged, quickStarts, given, start, runs, prepared };
}

const GAME = Buffer.from('the jar of the game');
const bundle = (fields: Partial<Bundle> = {}): Bundle => ({
  main: 'net.minecraft.server.Main',
  game: GAME,
  libraries: [['a.jar', Buffer.from('a library')]],
  ...fields,
});
/** Returns the paths of the descriptions of unpacked builds. */
const descriptions = async (coresDir: string) => {
  const folder = join(coresDir, 'unpacked');
  return (await readdir(folder)).filter((name) => name.endsWith('.json')).map((name) => join(folder, name));
};
const warnings = (logged: readonly Record<string, unknown>[]) => logged.filter(({ level }) => level === 40);

test('the first start is plain; after a training run, starts use the main class, its class path and a cache', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle());
  t.is(await it.quickStarts.quicken(it.start({ flags: ['-XX:+UseZGC'] })), undefined);
  await it.quickStarts.settled();
  const quick = (await it.quickStarts.quicken(it.start({ flags: ['-XX:+UseZGC'] })))!;
  const [cache = '', cp, classPath = '', ...rest] = quick;
  t.deepEqual([cp, ...rest], ['-cp', 'net.minecraft.server.Main']);
  t.true(cache.startsWith(`-XX:AOTCache=${it.coresDir}/`), cache);
  const jars = classPath.split(':');
  t.deepEqual(await Promise.all(jars.map((path) => readFile(path, 'utf8'))), ['the jar of the game', 'a library']);
  const file = await stat(cache.replace('-XX:AOTCache=', ''));
  t.deepEqual([file.mode & 0o777, file.uid], [0o444, process.getuid?.()]);

  const [run = '', end] = await it.runs();
  t.regex(
    run,
    /^begin -Duser\.home=\S+ -XX:AOTCacheOutput=\S+ -XX:\+UseZGC -Xmx1024M -cp \S+ net\.minecraft\.server\.Main nogui$/,
  );
  t.is(end, 'end');
  t.is((await readFile(join(it.dir, 'eula.txt'), 'utf8')).trim(), 'eula=true');
  t.regex(await readFile(join(it.dir, 'server.properties'), 'utf8'), /^server-ip=127\.0\.0\.1\nserver-port=0\n/);
  t.false(existsSync(join(it.coresDir, 'training')));
  await it.quickStarts.settled();
  t.is((await it.runs()).length, 2, 'a recorded cache is used, also by other servers');
  t.deepEqual(await it.quickStarts.quicken(it.start({ flags: ['-XX:+UseZGC'] }, 'beta')), quick);
});

test('each build of a core, Java and set of options has a cache of its own', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle());
  const cacheOf = async (...wanted: Parameters<typeof it.start>) => (await it.prepared(...wanted))?.[0];
  const first = await cacheOf();
  const zgc = await cacheOf({ flags: ['-XX:+UseZGC'] });
  const other = join(it.dir, 'java-2');
  writeProgram(other, JAVA);
  const ofOtherJava = await cacheOf({ java: { file: other, major: 25 } });
  await utimes(it.java.file, 1, 1);
  const ofUpdatedJava = await cacheOf();
  await writeBundle(it.jar, bundle({ game: Buffer.from('another build') }));
  const ofOtherBuild = await cacheOf();
  t.is(new Set([first, zgc, ofOtherJava, ofUpdatedJava, ofOtherBuild]).size, 5);
});

test('Java 17 to 24 use archives of classes, and older ones only the class path', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle());
  const [archive = '', share, cp] = (await it.prepared({ java: { ...it.java, major: 21 } })) ?? [];
  t.regex(archive, /^-XX:SharedArchiveFile=.*\.jsa$/);
  t.deepEqual([share, cp], ['-Xshare:auto', '-cp']);
  t.regex((await it.runs())[0] ?? '', /-XX:ArchiveClassesAtExit=/);
  const before = (await it.runs()).length;
  t.is((await it.prepared({ java: { ...it.java, major: 8 } }))?.[0], '-cp');
  t.is((await it.runs()).length, before);
});

test('a patched core is patched once in a training folder, and verified by the checksums of its bundle', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle({ patched: true }));
  await writeFile(join(it.dir, 'patch.jar'), GAME);
  const quick = (await it.prepared()) ?? [];
  t.is(quick.at(-1), 'net.minecraft.server.Main');
  t.regex((await it.runs())[0] ?? '', /-Dpaperclip\.patchonly=true -jar \S+vanilla-1\.21\.11\.jar$/);
});

const listing = (path: string) => ({
  'META-INF/main-class': 'net.minecraft.server.Main',
  'META-INF/versions.list': `${'0'.repeat(64)}\tx\t${path}\n`,
  'META-INF/libraries.list': '',
});

for (const [what, write] of [
  ['patches to another content', (jar: string) => writeBundle(jar, bundle({ patched: true }))],
  ['needs an agent', (jar: string) => writeBundle(jar, bundle({ manifest: 'Launcher-Agent-Class: x.Agent' }))],
  ['opens packages', (jar: string) => writeBundle(jar, bundle({ manifest: 'Add-Opens: java.base/java.lang' }))],
  ['has an odd main class', (jar: string) => writeBundle(jar, bundle({ main: '-javaagent:x' }))],
  ['leads out of its folder', (jar: string) => writeJar(jar, listing('../../../a.jar'))],
  ['lists an absolute path', (jar: string) => writeJar(jar, listing('/a.jar'))],
  ['is no bundle', (jar: string) => writeJar(jar, { 'a.class': 'x' })],
  ['is no jar', (jar: string) => writeFile(jar, 'x')],
] as const) {
  test(`a core that ${what} starts with -jar, and with a cache`, async (t) => {
    const it = await bench(t);
    await write(it.jar);
    await writeFile(join(it.dir, 'patch.jar'), 'something else');
    const [cache = '', ...main] = (await it.prepared()) ?? [];
    t.regex(cache, /^-XX:AOTCache=/);
    t.deepEqual(main, ['-jar', it.jar]);
  });
}

test('jars of tenants and installed loaders start as they are, and are never run for training', async (t) => {
  const it = await bench(t);
  const uploaded = join(it.dir, 'servers', 'server.jar');
  await mkdir(join(it.dir, 'servers'));
  await writeBundle(uploaded, bundle());
  t.is(await it.prepared({ main: ['-jar', uploaded] }), undefined);
  t.is(await it.prepared({ main: ['@libraries/unix_args.txt'] }), undefined);
  t.is(await it.prepared({ main: ['-jar', join(it.coresDir, '../servers/server.jar')] }), undefined);
  t.deepEqual(await it.runs(), []);
});

test('no core is run before an owner has accepted the licence', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle());
  const { spec } = it.start();
  t.is(await it.prepared({ spec: { ...spec, env: {} } }), undefined);
  t.deepEqual(await it.runs(), []);
});

test('without free memory nothing is prepared, until a later start finds some', async (t) => {
  let spareMb = 1_000;
  const it = await bench(t, { spareMb: () => spareMb });
  await writeBundle(it.jar, bundle());
  t.is(await it.prepared(), undefined);
  await it.quickStarts.settled();
  t.deepEqual(await it.runs(), []);
  spareMb = 8_000;
  t.regex((await it.prepared())?.[0] ?? '', /^-XX:AOTCache=/);
});

test('a user that the code of several tenants runs as gets no caches', async (t) => {
  const it = await bench(t, { trainer: processTrainer({ user: { uid: 1, gid: 1 } }, '') });
  await writeBundle(it.jar, bundle());
  t.is(await it.prepared(), undefined);
  t.deepEqual(await it.runs(), []);
});

test('training runs follow one another', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle());
  for (const flags of [['-ea'], ['-esa'], ['-server']]) await it.quickStarts.quicken(it.start({ flags }));
  await it.quickStarts.settled();
  t.deepEqual(
    (await it.runs()).map((line) => line.split(' ')[0]),
    ['begin', 'end', 'begin', 'end', 'begin', 'end'],
  );
});

test('a failed training run is logged and not repeated, and starts continue without a cache', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle());
  await writeFile(join(it.dir, 'fails'), '');
  t.is((await it.prepared())?.[0], '-cp');
  t.is((await it.prepared())?.[0], '-cp');
  t.is((await it.runs()).length, 1);
  t.like(warnings(it.logged), [{ msg: 'could not prepare quick starts of a core; it starts as before' }]);
});

test('a training run ends with the service', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle());
  await it.quickStarts.quicken(it.start());
  await it.quickStarts.close();
  t.is(
    await it.quickStarts.quicken(it.start({ flags: ['-ea'] })).then((quick) => quick?.[0]?.includes('Cache') ?? false),
    false,
  );
  t.false((await it.runs()).includes('end'));
  t.deepEqual(warnings(it.logged), []);
});

test('a training run ends when the service is killed', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle());
  const [starts, training] = ['quick-starts', 'training'].map((name) =>
    JSON.stringify(new URL(`../../src/engines/process/${name}.ts`, import.meta.url).href),
  );
  const program = `
    const { QuickStarts } = await import(${starts});
    const { processTrainer } = await import(${training});
    const log = { debug() {}, info() {}, warn() {} };
    const trainer = processTrainer({}, process.env.PATH);
    const coresDir = ${JSON.stringify(it.coresDir)};
    await new QuickStarts({ coresDir, trainer, log, spareMb: () => 8_000 }).quicken(${JSON.stringify(it.start())});`;
  await writeFile(join(it.dir, 'never-ready'), '');
  const service = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'inherit' });
  await until(async () => (await it.runs()).some((line) => line.includes('-XX:AOTCacheOutput')));
  service.kill('SIGKILL');
  await until(async () => (await it.runs()).includes('end'));
  t.pass();
});

function ended(serverId: string, code: number | null, ranMs = 5_000): EngineEvent {
  const exit: Exit = { code, oomKilled: false, at: 1_000_000 + ranMs };
  const game = {
    serverId,
    up: false,
    installer: false,
    game: null,
    rcon: null,
    management: null,
    startedAt: 1_000_000,
    exit,
  };
  return { type: 'down', game };
}

test('a server that fails twice with its cache starts without, and the log says so; others keep theirs', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle());
  const quick = await it.prepared();
  await it.quickStarts.quicken(it.start({}, 'beta'));
  it.quickStarts.note(ended('alpha', 1));
  t.deepEqual(await it.quickStarts.quicken(it.start()), quick, 'a first failure may have any cause');
  it.quickStarts.note(ended('alpha', 134));
  t.is(await it.quickStarts.quicken(it.start()), undefined);
  t.deepEqual(await it.quickStarts.quicken(it.start({}, 'beta')), quick);
  const msg = 'the server failed twice with its start cache; it now starts without';
  t.like(warnings(it.logged), [{ server: 'alpha', msg }]);
  await writeBundle(it.jar, bundle({ game: Buffer.from('the next build') }));
  t.regex((await it.prepared())?.[0] ?? '', /^-XX:AOTCache=/, 'the next build is tried again');
});

test('failures of plain starts do not count against a cache', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle());
  await it.quickStarts.quicken(it.start());
  for (let n = 0; n < 3; n++) it.quickStarts.note(ended('alpha', 1));
  t.regex((await it.prepared())?.[0] ?? '', /^-XX:AOTCache=/);
  t.deepEqual(warnings(it.logged), []);
});

test('stops, later failures and unknown ends do not count against a cache', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle());
  const quick = await it.prepared();
  for (const code of [0, 130, 137, 143, null]) {
    for (let n = 0; n < 3; n++) it.quickStarts.note(ended('alpha', code));
  }
  it.quickStarts.note(ended('alpha', 1));
  it.quickStarts.note(ended('alpha', 1, 600_000));
  it.quickStarts.note(ended('alpha', 1));
  it.quickStarts.note(ended('unknown', 1));
  t.deepEqual(await it.quickStarts.quicken(it.start()), quick);
});

test('caches of jars that have changed, and caches unused for a month, are removed', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle());
  const other = join(it.coresDir, 'paper-1.21.11.jar');
  await writeBundle(other, bundle({ game: Buffer.from('paper') }));
  const cacheOf = async (...wanted: Parameters<typeof it.start>) =>
    (await it.prepared(...wanted))?.[0]?.replace('-XX:AOTCache=', '') ?? '';
  const kept = await cacheOf({ main: ['-jar', other] });
  const unused = await cacheOf({ main: ['-jar', other], flags: ['-ea'] });
  const gone = await cacheOf();
  const month = Date.now() / 1_000 - 31 * 86_400;
  await utimes(unused, month, month);
  for (const path of await descriptions(it.coresDir)) await utimes(path, month, month);
  await writeBundle(it.jar, bundle({ game: Buffer.from('the next build') }));
  await it.prepared();
  t.deepEqual(
    [kept, unused, gone].map((path) => existsSync(path)),
    [true, false, false],
  );
  t.is((await readdir(join(it.coresDir, 'unpacked'))).length, 4, 'two builds, each with its description');
});

test('the class path of a server stays while it may run, although its jar has changed', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle());
  const classPath = (await it.prepared())?.at(-2)?.split(':') ?? [];
  const areThere = () => classPath.length === 2 && classPath.every((path) => existsSync(path));
  const month = Date.now() / 1_000 - 31 * 86_400;
  for (const path of await descriptions(it.coresDir)) await utimes(path, month, month);
  const used = it.start();
  t.truthy(await it.quickStarts.quicken(used));
  const [description = ''] = await descriptions(it.coresDir);
  t.true((await stat(description)).mtimeMs > Date.now() - 3_600_000, 'a start marks the class path as used');

  await writeBundle(it.jar, bundle({ game: Buffer.from('the next build') }));
  await utimes(description, month, month);
  await it.prepared({}, 'beta');
  t.true(areThere(), 'a server of this process has started with it');

  const now = Date.now() / 1_000;
  await utimes(description, now, now);
  const next = new QuickStarts(it.given);
  t.teardown(() => next.close());
  await next.quicken(it.start({ flags: ['-ea'] }));
  await next.settled();
  t.true(areThere(), 'a server of an earlier process may still run');

  await utimes(description, month, month);
  await next.quicken(it.start({ flags: ['-esa'] }));
  await next.settled();
  t.false(areThere() || existsSync(description));
});

test('the draft of a cache that a killed service has left is removed', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle());
  const cache = (await it.prepared())?.[0]?.replace('-XX:AOTCache=', '') ?? '';
  const draft = `${cache}.0123456789ab.tmp`;
  await writeFile(draft, 'half of a cache');
  const hour = Date.now() / 1_000 - 3_600;
  await utimes(draft, hour, hour);
  await it.prepared({ flags: ['-ea'] });
  t.deepEqual([existsSync(cache), existsSync(draft)], [true, false]);
});

test('a core that could not be unpacked is unpacked by the next service, and gets a cache that fits', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle({ patched: true }));
  // The patch run has no connection to the internet.
  const [cache = '', ...main] = (await it.prepared()) ?? [];
  t.regex(cache, /^-XX:AOTCache=/);
  t.deepEqual(main, ['-jar', it.jar]);
  await writeFile(join(it.dir, 'patch.jar'), GAME);
  const next = new QuickStarts(it.given);
  t.teardown(() => next.close());
  t.is(await next.quicken(it.start()), undefined);
  await next.settled();
  const quick = (await next.quicken(it.start())) ?? [];
  t.deepEqual([quick[0], quick.at(-1)], [cache, 'net.minecraft.server.Main']);
  const recorded = (await it.runs()).filter((line) => line.includes('-XX:AOTCacheOutput='));
  t.deepEqual(
    recorded.map((line) => line.includes(' -cp ')),
    [false, true],
  );
});

test('a start is plain if its files are damaged or cannot be read', async (t) => {
  const it = await bench(t);
  await writeBundle(it.jar, bundle());
  await it.prepared();
  const names = await readdir(join(it.coresDir, 'unpacked'));
  await writeFile(
    join(
      it.coresDir,
      'unpacked',
      names.find((name) => name.endsWith('.json'))!,
    ),
    '{',
  );
  t.is(await it.quickStarts.quicken(it.start()), undefined);
  await rm(it.jar);
  t.is(await it.quickStarts.quicken(it.start()), undefined);
  t.is(warnings(it.logged).length, 1);
});
