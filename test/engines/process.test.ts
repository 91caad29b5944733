import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { withStandardInput } from '../../src/engines/console/console.ts';
import { createRconConsole } from '../../src/engines/console/rcon.ts';
import { EngineError, type EngineEvent, type Game } from '../../src/engines/engine.ts';
import { ProcessGames } from '../../src/engines/process/games.ts';
import { createJavas } from '../../src/engines/process/java-homes.ts';
import { ProcessLogFiles } from '../../src/engines/process/log-files.ts';
import { holdPorts } from '../../src/engines/process/ports.ts';
import { createProcessEngine } from '../../src/engines/process/process.ts';
import { newRun, runFiles } from '../../src/engines/process/runs.ts';
import { processTable } from '../../src/engines/process/table.ts';
import { collect } from '../conformance/engine.ts';
import { type ProcessBench, processBench } from '../conformance/process-bench.ts';
import { freePort } from '../support/service.ts';
import { until } from '../support/until.ts';
import { writeProgram } from '../support/write-program.ts';
import { isThorough } from '../support/needs.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';

const never = new AbortController().signal;

const log = pino({ level: 'silent' });

const scripted = join(import.meta.dirname, '../conformance/scripted-game.ts');

const child = join(import.meta.dirname, 'process-child.ts');

/** Finds the processes of games with this data root, without the engine. */
async function gamesIn(dataDir: string): Promise<number[]> {
  const pids = await processTable.withEnvironment(`HOME=${dataDir}`);
  const alive = await Promise.all(pids.map(async (pid) => ((await processTable.startOf(pid)) ? [pid] : [])));
  return alive.flat();
}

function service(t: ExecutionContext, bench: ProcessBench) {
  const args = [child, join(bench.dir, 'run'), scripted, join(bench.dir, 'data', 'alpha')];
  const started = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => void started.kill('SIGKILL'));
  return started;
}

test.runIf(isThorough)(
  'a service killed during a boot leaves at most one game, and the next service finds it',
  async (t) => {
    t.timeout(300_000);
    const found = { none: 0, one: 0 };
    for (const ms of [0, 5, 10, 15, 20, 30, 45, 70]) {
      const bench = await processBench(t);
      const started = service(t, bench);
      await once(started.stdout, 'data');
      await sleep(ms);
      started.kill('SIGKILL');
      await once(started, 'exit');
      const dataDir = bench.spec('alpha').dataDir;
      // Between fork and exec a process does not show its environment yet.
      const { running, listed } = await until(async () => {
        const seen = { running: await gamesIn(dataDir), listed: await bench.engine.list() };
        return seen.running.length === seen.listed.length && seen;
      });
      t.true(running.length <= 1);
      t.true(listed.every((game) => game.up));
      found[running.length === 1 ? 'one' : 'none'] += 1;
      const game = await bench.engine.boot(bench.spec('alpha'), never);
      if (running.length === 1) t.deepEqual(game, listed[0]);
      t.is((await gamesIn(dataDir)).length, 1);
      await bench.engine.kill('alpha');
      t.deepEqual(await gamesIn(dataDir), []);
    }
    t.log(found);
  },
);

test('a game outlives its service, and the next one adopts it, sees its end and can stop it', async (t) => {
  const bench = await processBench(t);
  const started = service(t, bench);
  for await (const text of started.stdout) if (String(text).includes('booted')) break;
  started.kill('SIGKILL');
  await once(started, 'exit');
  const events: EngineEvent[] = [];
  t.teardown(bench.engine.watch((event) => events.push(event)));
  const [game] = await bench.engine.list();
  t.like(game, { serverId: 'alpha', up: true, exit: null });
  const [pid] = await gamesIn(bench.spec('alpha').dataDir);
  await until(async () => (await collect(bench.engine.logs('alpha'))).length === 1);
  process.kill(pid!, 'SIGKILL');
  const [down] = await until(async () => events.length > 0 && events);
  t.like(down, { type: 'down', game: { serverId: 'alpha', up: false, exit: { code: null } } });
  t.like(await bench.engine.inspect('alpha'), { up: false, exit: { code: null, oomKilled: false } });
  await bench.engine.boot(bench.spec('alpha', { farewell: 'bye', print: ['second'] }), never);
  await until(async () => (await collect(bench.engine.logs('alpha'))).length === 2);
  await bench.again().halt('alpha', 20_000);
  t.deepEqual(
    (await collect(bench.engine.logs('alpha'))).map((line) => line.text),
    ['hello', 'second', 'bye'],
  );
});

for (const isRecorded of [true, false]) {
  test(`processes that outlived a game and its service are killed: ${isRecorded ? 'started' : 'starting'}`, async (t) => {
    const bench = await processBench(t);
    const spec = bench.spec('alpha');
    const place = { gamePort: 1, rconPort: 2, managementPort: 3 };
    const runs = runFiles(join(bench.dir, 'run'));
    const run = newRun(spec, false, place, isRecorded ? Date.now() : Date.now() - 3_600_000);
    await runs.claim(run);
    const env = { DORMOUSE_RUN: run.token, HOME: spec.dataDir };
    // The child stays when the leader of its group has ended, like the inner process of a confinement.
    const leader = spawn('sh', ['-c', 'sleep 1000 & echo $!'], { detached: true, env: { ...process.env, ...env } });
    const ended = once(leader, 'exit');
    const [child] = (await once(leader.stdout, 'data')) as [Buffer];
    const isRunning = async () => (await processTable.startOf(Number(child))) !== undefined;
    t.teardown(async () => void ((await isRunning()) && process.kill(Number(child), 'SIGKILL')));
    await ended;
    if (isRecorded) await runs.update({ ...run, pid: leader.pid!, start: '1', startedAt: run.intendedAt });
    t.true(await isRunning());
    await bench.engine.halt('alpha', 5_000);
    await until(async () => !(await isRunning()));
    t.deepEqual(await bench.engine.list(), []);
  });
}

test('a game that ends while its start is being recorded keeps its exit code', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-noting-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const runs = runFiles(dir);
  const endNoted = Promise.withResolvers<void>();
  const slow: typeof runs = {
    ...runs,
    // The first write finishes last, as it may on a busy disk.
    async update(noted) {
      if (noted.exit === null) await Promise.race([endNoted.promise, sleep(1_000)]);
      await runs.update(noted);
      if (noted.exit !== null) endNoted.resolve();
    },
  };
  const games = new ProcessGames(slow, new ProcessLogFiles(dir), systemClock, log);
  const { spec } = await processBench(t);
  const claimed = await games.claim(spec('alpha'), false, { gamePort: 1, rconPort: 2, managementPort: 3 });
  await games.start(claimed!, { file: process.execPath, args: ['-e', 'process.exit(3)'] }, dir, {});
  await endNoted.promise;
  t.like(await runs.read('alpha'), { exit: { code: 3 } });
});

test('a damaged run file hides no other game, and the next start ends the old process of its own', async (t) => {
  const bench = await processBench(t);
  const file = join(bench.dir, 'run', 'alpha.json');
  const beta = await bench.engine.boot(bench.spec('beta'), never);
  for (const text of [
    '',
    '\0\0\0\0',
    '{"serverId":"alpha"',
    '[]',
    'null',
    '{"serverId":"alpha","token":""}',
    undefined,
  ]) {
    await bench.engine.boot(bench.spec('alpha'), never);
    const pids = await gamesIn(bench.spec('alpha').dataDir);
    t.is(pids.length, 1);
    await rm(file);
    await (text === undefined ? mkdir(file) : writeFile(file, text));
    const engine = bench.again();
    t.deepEqual(await engine.list(), [beta], JSON.stringify(text));
    t.is(await engine.inspect('alpha'), undefined);
    await engine.boot(bench.spec('alpha'), never);
    const now = await gamesIn(bench.spec('alpha').dataDir);
    t.is(now.length, 1);
    t.notDeepEqual(now, pids);
    await engine.erase('alpha');
    t.deepEqual(await gamesIn(bench.spec('alpha').dataDir), []);
    t.deepEqual(await bench.traces('alpha'), []);
  }
  const again = await bench.engine.boot(bench.spec('alpha'), never);
  await writeFile(file, 'garbage');
  await bench.again().halt('alpha', 5_000);
  t.deepEqual(await gamesIn(bench.spec('alpha').dataDir), []);
  t.true(again.up);
});

for (const end of ['halt', 'kill', 'erase'] as const) {
  test(`${end} ends a game whose service was killed during the start, even if its process appears later`, async (t) => {
    const bench = await processBench(t);
    const spec = bench.spec('alpha');
    const place = { gamePort: 1, rconPort: 2, managementPort: 3 };
    const run = newRun(spec, false, place, Date.now());
    await runFiles(join(bench.dir, 'run')).claim(run);
    // The process already exists and only has to exec the game, so that a busy machine does not delay it.
    const program = 'read -r _; exec env DORMOUSE_RUN="$0" HOME="$1" sleep 1000';
    const late = spawn('sh', ['-c', program, run.token, spec.dataDir], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    t.teardown(() => void late.kill('SIGKILL'));
    const ending = end === 'halt' ? bench.engine.halt('alpha', 5_000) : bench.engine[end]('alpha');
    late.stdin.write('\n');
    await ending;
    t.deepEqual(await gamesIn(spec.dataDir), []);
    t.deepEqual(await bench.engine.list(), []);
  });
}

test('a boot succeeds after an abandoned start, even if the clock was set back', async (t) => {
  const bench = await processBench(t);
  const place = { gamePort: 1, rconPort: 2, managementPort: 3 };
  await runFiles(join(bench.dir, 'run')).claim(newRun(bench.spec('alpha'), false, place, Date.now() + 3_600_000));
  t.true((await bench.engine.boot(bench.spec('alpha'), AbortSignal.timeout(60_000))).up);
});

test('run file drafts of dead writers are deleted, and those of living ones are kept', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-drafts-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const dead = spawn(process.execPath, ['-e', '0']);
  await once(dead, 'exit');
  const random = 'a1b2c3d4e5f6';
  const left = [`.alpha.${dead.pid}.${random}.${random}`, `.alpha.${process.pid}.${random}.${random}.${random}.tmp`];
  const kept = [`.alpha.${process.ppid}.${random}.${random}`, 'alpha.json', 'alpha.1.log', '.something else'];
  for (const name of [...left, ...kept]) await writeFile(join(dir, name), '');
  await runFiles(dir).sweep();
  t.deepEqual((await readdir(dir)).toSorted(), kept.toSorted());
});

test('a game’s end is known even if the disk is full, and is recorded once there is space', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-noting-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const runs = runFiles(dir);
  let full = false;
  const disk: typeof runs = {
    ...runs,
    update: (noted) => (full ? Promise.reject(new Error('no space left on device')) : runs.update(noted)),
  };
  const games = new ProcessGames(disk, new ProcessLogFiles(dir), systemClock, log);
  const down = once(games.events, 'event').then(() => once(games.events, 'event'));
  const { spec } = await processBench(t);
  const claimed = await games.claim(spec('alpha'), false, { gamePort: 1, rconPort: 2, managementPort: 3 });
  const started = await games.start(
    claimed!,
    { file: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'] },
    dir,
    {},
  );
  full = true;
  process.kill(started.pid!, 'SIGKILL');
  await down;
  t.like(await games.find('alpha'), { exit: { code: 137 } });
  t.like(await games.all(), [{ exit: { code: 137 } }]);
  t.like(await runs.read('alpha'), { exit: null });
  full = false;
  await games.find('alpha');
  t.like(await runs.read('alpha'), { exit: { code: 137 } });
});

test('a lookup while a game’s end is being recorded returns its exit code', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-looking-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const runs = runFiles(dir);
  let late = Promise.resolve();
  const slow: typeof runs = {
    ...runs,
    // Return the run only after it is outdated.
    async read(serverId) {
      const found = await runs.read(serverId);
      await late;
      return found;
    },
  };
  const games = new ProcessGames(slow, new ProcessLogFiles(dir), systemClock, log);
  const { spec } = await processBench(t);
  const claimed = await games.claim(spec('alpha'), false, { gamePort: 1, rconPort: 2, managementPort: 3 });
  const ended = once(games.events, 'event').then(() => once(games.events, 'event'));
  const program = 'process.once("SIGTERM", () => process.exit(3)); setInterval(() => {}, 1000); console.log("up")';
  const started = await games.start(claimed!, { file: process.execPath, args: ['-e', program] }, dir, {});
  await until(async () => (await readFile(join(dir, 'alpha.1.log'), 'utf8')).includes('up'));
  late = ended.then(() => {});
  // Games do not keep this process alive, so a timer does.
  const awake = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(awake));
  const seen = games.find('alpha');
  process.kill(started.pid!, 'SIGTERM');
  t.like(await seen, { exit: { code: 3 } });
  t.like(await runs.read('alpha'), { exit: { code: 3 } });
});

test('a recorded end is not overwritten by a later, less complete one', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-ends-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const runs = runFiles(dir);
  const { spec } = await processBench(t);
  const run = newRun(spec('alpha'), false, { gamePort: 1, rconPort: 2, managementPort: 3 }, 0);
  t.true(await runs.claim(run));
  await runs.update({ ...run, exit: { code: 3, oomKilled: false, at: 1 } });
  await runs.update({ ...run, exit: { code: null, oomKilled: false, at: null } });
  await runs.update(run);
  t.like(await runs.read('alpha'), { exit: { code: 3 } });
});

test('a reused pid is not mistaken for the game', async (t) => {
  const bench = await processBench(t);
  const runs = runFiles(join(bench.dir, 'run'));
  const other = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  t.teardown(() => void other.kill('SIGKILL'));
  const stale = {
    serverId: 'alpha',
    token: 'x',
    installer: false,
    pid: other.pid!,
    start: '1',
    gamePort: 1,
    rconPort: 2,
    managementPort: 3,
    ramMb: 64,
    ports: [],
    intendedAt: 0,
    startedAt: 0,
    exit: null,
  };
  t.true(await runs.claim(stale));
  t.false(await runs.claim(stale));
  t.like(await bench.engine.inspect('alpha'), { up: false, exit: { code: null, at: null } });
  await bench.engine.halt('alpha', 1_000);
  await bench.engine.erase('alpha');
  t.is(other.exitCode, null);
  t.truthy(await processTable.startOf(other.pid!));
});

test('a game does not see its service’s environment, and processes it leaves behind end with it', async (t) => {
  const bench = await processBench(t);
  process.env.DORMOUSE_TEST_SECRET = 'must not be seen';
  t.teardown(() => delete process.env.DORMOUSE_TEST_SECRET);
  const entry = join(bench.dir, 'entry.ts');
  await writeFile(
    entry,
    `import { spawn } from 'node:child_process';
     spawn('sleep', ['600'], { detached: true, stdio: 'ignore' }).unref();
     console.log(JSON.stringify(process.env), process.cwd());`,
  );
  const engine = createProcessEngine({ runDir: join(bench.dir, 'other'), log, sandboxEntry: entry });
  const spec = { ...bench.spec('alpha'), env: { EULA: 'TRUE' } };
  await engine.boot(spec, never);
  await until(async () => (await engine.inspect('alpha'))?.up === false);
  const [line] = await collect(engine.logs('alpha'));
  t.true(line!.text.endsWith(` ${spec.dataDir}`));
  const env = JSON.parse(line!.text.slice(0, line!.text.lastIndexOf('}') + 1)) as Record<string, string>;
  const names = Object.keys(env).filter((name) => name !== 'DORMOUSE_RUN');
  t.deepEqual(names.sort(), [
    'DORMOUSE_INSTALLATION',
    'DORMOUSE_RUN_FILE',
    'DORMOUSE_SERVER',
    'EULA',
    'HOME',
    'LANG',
    'MANAGEMENT_SERVER_HOST',
    'MANAGEMENT_SERVER_PORT',
    'NODE_COMPILE_CACHE',
    'PATH',
    'RCON_PORT',
    'SERVER_IP',
    'SERVER_PORT',
  ]);
  await until(async () => (await gamesIn(spec.dataDir)).length === 0);
  await engine.erase('alpha');
});

test('a Java core runs from its jar with its address in server.properties, or fails with the cause', async (t) => {
  t.timeout(300_000);
  const bench = await processBench(t);
  const spec = { ...bench.spec('alpha'), core: 'paper', version: '1.21.4', ramMb: 512 };
  const refused = async (message: RegExp, engine = bench.engine, other = spec) =>
    (await t.throwsAsync<EngineError>(engine.boot(other, never), { instanceOf: EngineError, message })).code;
  const javaLess = createProcessEngine({
    runDir: join(bench.dir, 'run'),
    log,
    sandboxEntry: '',
    javas: createJavas({ command: '/no/java' }),
  });
  t.is(await refused(/no Java/, javaLess), 'core_unavailable');
  // A stand-in for Java that prints its arguments.
  const java = join(bench.dir, 'java');
  writeProgram(java, '#!/bin/sh\necho "$@"\n[ "$1" = -version ] || exec sleep 600\n');
  const engine = createProcessEngine({
    runDir: join(bench.dir, 'run'),
    log,
    sandboxEntry: '',
    javas: createJavas({ command: java }),
  });
  t.is(await refused(/no paper 1\.21\.4/, engine), 'core_unavailable');
  const cores = join(bench.dir, 'cores');
  await mkdir(cores);
  await writeFile(join(cores, 'paper-1.21.4.jar'), '');
  await writeFile(join(spec.dataDir, 'server.properties'), 'server-port=25565\nmotd=ends in a backslash\\');
  const game = await engine.boot(spec, never);
  const [line] = await until(async () => {
    const lines = await collect(engine.logs('alpha'));
    return lines.length > 0 && lines;
  });
  t.is(line!.text, `-Xms64M -Xmx256M -XX:+ExitOnOutOfMemoryError -jar ${join(cores, 'paper-1.21.4.jar')} nogui`);
  const properties = await readFile(join(spec.dataDir, 'server.properties'), 'utf8');
  const places = `server-ip=127.0.0.1\nserver-port=${game.game!.port}\nrcon.port=${game.rcon!.port}\n`;
  const management = `management-server-host=127.0.0.1\nmanagement-server-port=${game.management!.port}\n`;
  t.true(properties.endsWith(`\\\n\n${places}${management}`));
  await engine.kill('alpha');
  await rm(join(spec.dataDir, 'server.properties'));
  await symlink('/etc/passwd', join(spec.dataDir, 'server.properties'));
  t.is(await refused(/not a regular file/, engine), 'unknown');
  t.is(await engine.inspect('alpha'), undefined);
  await engine.install(spec, never);
});

test('a core without RCON has a console over standard input, even after a service restart', async (t) => {
  const bench = await processBench(t);
  const spec = { ...bench.spec('alpha'), core: 'custom', version: '1.21.4', ramMb: 512 };
  const java = join(bench.dir, 'java');
  const reads =
    'while read -r line; do echo "did $line"; [ "$line" = stop ] && exit 0; done; echo end of input; sleep 600';
  writeProgram(java, `#!/bin/sh\n[ "$1" = -version ] && exit\necho began\n${reads}\n`);
  await writeFile(join(spec.dataDir, 'server.jar'), '');
  const make = () =>
    createProcessEngine({
      runDir: join(bench.dir, 'run'),
      log,
      sandboxEntry: '',
      javas: createJavas({ command: java }),
    });
  const { rcon } = await make().boot(spec, never);
  for (const engine of [make(), make()]) {
    const console = withStandardInput(createRconConsole(), engine);
    t.teardown(() => console.close());
    t.is(await console.run(rcon!, 'secret', 'list all'), 'did list all');
  }
  const engine = make();
  const console = withStandardInput(createRconConsole(), engine);
  t.is(await console.run(rcon!, 'secret', 'stop'), 'did stop');
  await until(async () => (await engine.inspect('alpha'))?.up === false);
  t.like(await t.throwsAsync(console.run(rcon!, 'secret', 'list')), { reason: 'absent' });
  await engine.erase('alpha');
  t.deepEqual(await bench.traces('alpha'), []);
});

test('allocated ports are free and distinct, and an exhausted range is an error', async (t) => {
  const from = await freePort(5);
  const [noted, port, other, to] = [from + 1, from + 2, from + 3, from + 4] as const;
  const taken = createServer().listen(port, '127.0.0.1');
  await once(taken, 'listening');
  t.teardown(() => void taken.close());
  const { ports, release } = await holdPorts(2, { from, to }, new Set([noted]));
  t.teardown(release);
  t.false(ports.includes(port) || ports.includes(noted));
  t.is(new Set(ports).size, 2);
  t.like(await t.throwsAsync(holdPorts(2, { from: port, to: other }, new Set([other]))), { code: 'port_in_use' });
});

test.serial(
  'two services on one machine never choose the same ports, even if a game does not listen yet',
  async (t) => {
    const { dir, spec } = await processBench(t);
    const from = await freePort(3);
    // A game that never listens, and ends at once when it is stopped.
    const entry = join(dir, 'deaf.ts');
    await writeFile(entry, 'setInterval(() => {}, 1_000);');
    const [first, second] = ['one', 'two'].map((name) =>
      createProcessEngine({
        runDir: join(dir, name),
        log,
        sandboxEntry: entry,
        portRange: { from, to: from + 2 },
      }),
    );
    t.teardown(() => Promise.all([first!.erase('alpha'), second!.erase('beta')]));
    // A program that another thread starts at this moment holds a copy of a listening socket for a while.
    const booted = (boot: () => Promise<Game>) =>
      until({ what: 'all three ports are free', despiteErrors: true }, boot);
    await booted(() => first!.boot(spec('alpha'), never));
    await t.throwsAsync(second!.boot(spec('beta'), never), { code: 'port_in_use' });
    await first!.kill('alpha');
    t.like(await booted(() => second!.boot(spec('beta'), never)), { up: true });
  },
);
