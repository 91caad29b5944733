import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { ContainerStarts, type ImageHost } from '../../src/engines/docker/container-starts.ts';
import type { ImageRun } from '../../src/engines/docker/image-run.ts';
import { type EngineEvent, type GameSpec } from '../../src/engines/engine.ts';
import { gameSpec } from '../conformance/game-spec.ts';
import { writeBundle } from '../support/java-core.ts';

const ENV = {
  EULA: 'TRUE',
  TYPE: 'PAPER',
  VERSION: '1.21.11',
  PAPER_BUILD: '7',
  RCON_PASSWORD: 'secret',
  JVM_XX_OPTS: '-ea',
};

/** Start caches over an engine whose image installs a bundled jar and whose Java records a cache. */
async function bench(t: ExecutionContext, { java = 25, spareMb = 8_000 }: { java?: number; spareMb?: number } = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-container-starts-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const runs: ImageRun[] = [];
  const logged: { level: number; msg: string }[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void logged.push(JSON.parse(line)) });
  const image = { id: 'sha256:1', java: java as number | undefined, installs: true };
  let running = 0;
  const host: ImageHost = {
    factsOf: async () => ({ id: image.id, java: image.java }),
    async run(run) {
      // All runs have one name on an engine.
      if (++running > 1) throw new Error('replaced by another run');
      try {
        return await runNow(run);
      } finally {
        running--;
      }
    },
  };
  async function runNow(run: ImageRun): Promise<number> {
    runs.push(run);
    const { folder, command, onOutput, stop } = run;
    if (command === undefined) {
      if (!image.installs) return 1;
      await writeBundle(join(folder, 'paper-1.21.11-7.jar'), { main: 'a.Main', game: Buffer.from('game') });
      onOutput(Buffer.from('[init] resolving\nSETUP_ONLY: java -Xmx1G -jar paper-1.21.11-7.jar nogui\n'));
      return 0;
    }
    const output = command.map((arg) => /^-XX:(?:AOTCacheOutput|ArchiveClassesAtExit)=\/data\/(.*)$/.exec(arg)?.[1]);
    const ended = once(stop!, 'abort');
    onOutput(Buffer.from('[Server thread/INFO]: Done (1.2s)! For help, type "help"\n'));
    await ended;
    await writeFile(
      join(
        folder,
        output.find((name) => name !== undefined)!,
      ),
      'cache',
    );
    return 143;
  }
  const starts = new ContainerStarts(join(dir, 'starts'), undefined, log, () => spareMb);
  t.teardown(() => starts.close());
  const spec = (fields: Partial<GameSpec> = {}): GameSpec => ({
    ...gameSpec('alpha', { image: 'itzg', dataDir: '/nowhere', ramMb: 2_048, cpus: 2, env: ENV }),
    core: 'paper',
    version: '1.21.11',
    build: '7',
    isOneJar: true,
    ...fields,
  });
  const prepared = async (fields?: Partial<GameSpec>) => {
    await starts.quicken(spec(fields), host);
    await starts.settled();
    return await starts.quicken(spec(fields), host);
  };
  return { dir, runs, logged, image, host, starts, spec, prepared };
}

test('two cores that are prepared at once do not replace each other’s runs', async (t) => {
  const it = await bench(t);
  const other = it.spec({ version: '1.21.10' });
  await it.starts.quicken(it.spec(), it.host);
  await it.starts.quicken(other, it.host);
  await it.starts.settled();
  for (const spec of [it.spec(), other]) t.not(await it.starts.quicken(spec, it.host), spec);
  t.deepEqual(
    it.logged.filter(({ level }) => level > 30),
    [],
  );
});

test('a container starts as before until the image’s own installer and a training run have prepared it', async (t) => {
  const it = await bench(t);
  t.deepEqual(await it.starts.quicken(it.spec(), it.host), it.spec());
  await it.starts.settled();
  const quick = await it.starts.quicken(it.spec(), it.host);
  const { CUSTOM_JAR_EXEC: exec = '', ...rest } = quick.env;
  t.deepEqual(rest, ENV);
  t.regex(
    exec,
    /^-XX:AOTCache=\/dormouse\/start-caches\/[\da-f-]+\.aot -cp \/dormouse\/unpacked\/[\da-f]+\/versions\/\S+\.jar a\.Main$/,
  );
  t.is(quick.readable, join(it.dir, 'starts'));
  const cache = join(it.dir, 'starts', /\/dormouse\/(\S+)/.exec(exec)![1]!);
  t.is(await readFile(cache, 'utf8'), 'cache');
  t.is((await stat(cache)).mode & 0o777, 0o444);
  const [install, training] = it.runs;
  const chosen = { EULA: 'TRUE', TYPE: 'PAPER', VERSION: '1.21.11', PAPER_BUILD: '7' };
  t.deepEqual(install?.env, { ...chosen, SETUP_ONLY: 'true', SKIP_SERVER_PROPERTIES: 'true' });
  t.is(install?.readable, undefined);
  t.is(training?.image, 'sha256:1', 'the same image as the servers');
  t.deepEqual(training?.env, {});
  t.is(it.runs.length, 2);
  t.deepEqual(await it.starts.quicken(it.spec({ serverId: 'beta' }), it.host), { ...quick, serverId: 'beta' });
});

test('another image, another preset and another collector have caches of their own', async (t) => {
  const it = await bench(t);
  const cacheOf = async (fields?: Partial<GameSpec>) =>
    (await it.prepared(fields)).env['CUSTOM_JAR_EXEC']?.split(' ')[0];
  const first = await cacheOf();
  const zgc = await cacheOf({ jvm: { preset: 'zgc', options: '' } });
  const small = await cacheOf({ ramMb: 1_024 });
  it.image.id = 'sha256:2';
  const renewed = await cacheOf();
  t.is(new Set([first, zgc, small, renewed]).size, 4);
  t.true(it.runs.at(-2)?.command?.includes('-XX:+UseSerialGC'));
  Object.assign(it.image, { id: 'sha256:3', java: 21 });
  t.regex((await cacheOf()) ?? '', /^-XX:SharedArchiveFile=/);
});

test('other cores, images without a known Java, and servers without the EULA start as before', async (t) => {
  const it = await bench(t);
  const { isOneJar: _, ...other } = it.spec();
  t.deepEqual(await it.starts.quicken(other, it.host), other);
  const unaccepted = { env: { ...ENV, EULA: '' } };
  t.deepEqual(await it.prepared(unaccepted), it.spec(unaccepted));
  it.image.java = undefined;
  t.deepEqual(await it.prepared(), it.spec());
  t.deepEqual(it.runs, []);
  const poor = await bench(t, { spareMb: 100 });
  t.deepEqual(await poor.prepared(), poor.spec());
  t.deepEqual(poor.runs, []);
});

test('an image that installs no jar is logged and not asked again', async (t) => {
  const it = await bench(t);
  it.image.installs = false;
  t.deepEqual(await it.prepared(), it.spec());
  t.deepEqual(await it.prepared(), it.spec());
  t.is(it.runs.length, 1);
  t.like(it.logged, [{ level: 40, msg: 'could not prepare quick starts of a core; it starts as before' }]);
});

test('a container that fails twice with its cache starts without', async (t) => {
  const it = await bench(t);
  const exit = { code: 1, oomKilled: false, at: 5_000 };
  const game = { serverId: 'alpha', up: false, installer: false, game: null, rcon: null, management: null };
  const down: EngineEvent = { type: 'down', game: { ...game, startedAt: 1_000, exit } };
  t.truthy((await it.prepared()).readable);
  it.starts.note(down);
  t.truthy((await it.starts.quicken(it.spec(), it.host)).readable);
  it.starts.note(down);
  t.deepEqual(await it.starts.quicken(it.spec(), it.host), it.spec());
  t.true(it.logged.some(({ msg }) => msg.includes('failed twice with its start cache')));
});
