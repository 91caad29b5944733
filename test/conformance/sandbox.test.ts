import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import Docker from 'dockerode';
import { pino } from 'pino';
import { createRconConsole } from '../../src/engines/console/rcon.ts';
import { createDockerEngine } from '../../src/engines/docker/docker.ts';
import type { Engine, GameSpec } from '../../src/engines/engine.ts';
import { createProcessEngine } from '../../src/engines/process/process.ts';
import { gameSpec } from '../../src/game/container.ts';
import { writeProperties } from '../../src/game/properties/properties.ts';
import { buildSandboxImage, DEFAULT_SANDBOX_IMAGE } from '../../src/engines/docker/sandbox-image.ts';
import type { ServerRow } from '../../src/servers/rows.ts';
import { isHere } from '../support/needs.ts';
import { until } from '../support/until.ts';
import { collect } from './engine.ts';

// Tests the built-in core through each real engine, with the specification that hosting derives from a row.

const never = new AbortController().signal;
const log = pino({ level: 'silent' });
const RCON_PASSWORD = 'correct horse';

type MakeEngine = (t: ExecutionContext, dir: string) => Promise<Engine>;

const asProcess: MakeEngine = async (_, dir) =>
  createProcessEngine({
    runDir: join(dir, 'run'),
    log,
    sandboxEntry: join(import.meta.dirname, '../../src/sandbox/main.ts'),
  });

const inContainer: MakeEngine = async (t, dir) => {
  const docker = new Docker();
  await buildSandboxImage(docker, DEFAULT_SANDBOX_IMAGE, () => {});
  return createDockerEngine({ installation: `s${randomBytes(5).toString('hex')}`, logDir: join(dir, 'logs'), log });
};

const row: ServerRow = {
  id: 'alpha',
  name: 'Alpha',
  hostname: 'alpha',
  accountId: 'a',
  container: 'alpha',
  type: 'sandbox',
  version: '1.21.4',
  ramMb: 384,
  plan: 'metered',
  region: 'na',
  motd: 'Hällo §aWorld',
  properties: { 'max-players': '7' },
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
};

async function begin(t: ExecutionContext, make: MakeEngine): Promise<{ engine: Engine; spec: GameSpec }> {
  t.timeout(300_000);
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-sandbox-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const engine = await make(t, dir);
  t.teardown(() => engine.erase('alpha'));
  const dataDir = join(dir, 'data');
  await mkdir(dataDir);
  const owner = engine.kind === 'docker' && process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : undefined;
  await writeProperties(dataDir, row, RCON_PASSWORD, owner);
  return {
    engine,
    spec: gameSpec(row, {
      dataDir,
      gameImage: 'unused',
      cpus: 1,
      ports: [],
      rconPassword: RCON_PASSWORD,
      eulaAccepted: false,
    }),
  };
}

async function seen(engine: Engine, pattern: RegExp): Promise<void> {
  await until(async () => (await collect(engine.logs('alpha'))).some((line) => pattern.test(line.text)));
}

const plays = test.macro({
  async exec(t, make: MakeEngine) {
    const begun = await begin(t, make);
    const { engine, spec } = begun;
    const game = await engine.boot(spec, never);
    await seen(engine, /Done \(\d+[.,]\d+s\)!/);
    const rcon = createRconConsole();
    t.teardown(() => rcon.close());
    // RCON begins to listen a moment after the game.
    const players = await until({ despiteErrors: true }, () => rcon.run(game.rcon!, RCON_PASSWORD, 'list'));
    t.regex(players, /0 of a max of 7 players/);
    t.true((await rcon.run(game.rcon!, RCON_PASSWORD, 'help')).length > 0);
    await engine.halt('alpha', 20_000);
    await seen(engine, /All dimensions are saved/);
    t.regex(await readFile(join(spec.dataDir, 'logs/latest.log'), 'utf8'), /Stopping/);
    const again = await engine.boot(spec, never);
    t.true(again.up);
    await until({ despiteErrors: true }, () => rcon.run(again.rcon!, RCON_PASSWORD, 'list'));
    await rcon.run(again.rcon!, RCON_PASSWORD, 'stop');
    t.like(await until(async () => ended(await engine.inspect('alpha'))), { exit: { code: 0, oomKilled: false } });
  },
  title: (name) => `${name}: the sandbox starts, answers its console, saves and stops, and starts again`,
});

test.serial('process', plays, asProcess);
test.serial.runIf(isHere('docker'))('docker', plays, inContainer);

const fails = test.macro({
  async exec(t, make: MakeEngine) {
    const begun = await begin(t, make);
    const { engine, spec } = begun;
    const faulty = (fault: Record<string, string>) => ({ ...spec, env: { ...spec.env, ...fault } });
    await engine.boot(faulty({ SANDBOX_CRASH_AT_START: 'true' }), never);
    t.like(await until(async () => ended(await engine.inspect('alpha'))), { exit: { code: 1, oomKilled: false } });
    await engine.boot(faulty({ SANDBOX_IGNORE_STOP: 'true' }), never);
    await until(
      async () => (await collect(engine.logs('alpha'))).filter((line) => line.text.includes('Done (')).length > 0,
    );
    const began = Date.now();
    await engine.halt('alpha', 2_000);
    t.true(Date.now() - began >= 1_900);
    await engine.install(faulty({ SETUP_ONLY: 'true' }), never);
    t.deepEqual(await engine.list(), []);
    // Only containers limit all of a game's memory.
    if (engine.kind !== 'docker') return;
    await engine.boot(faulty({ SANDBOX_OUT_OF_MEMORY: 'allocate' }), never);
    t.true((await until(async () => ended(await engine.inspect('alpha')))).exit?.oomKilled);
  },
  title: (name) => `${name}: the engine reports a sandbox that crashes, ignores its stop or exceeds its memory`,
});

test.serial('process', fails, asProcess);
test.serial.runIf(isHere('docker'))('docker', fails, inContainer);

function ended<T extends { exit: unknown }>(game: T | undefined): T | undefined {
  return game?.exit ? game : undefined;
}
