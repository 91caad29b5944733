import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import { pino } from 'pino';
import { type Driver, drivenEngine } from '../../src/engines/driven-engine.ts';
import { EngineError, type EngineEvent, type Game } from '../../src/engines/engine.ts';
import { gameSpec } from '../conformance/game-spec.ts';

const SPEC = gameSpec('castle', { image: '', dataDir: '/nowhere', env: {} });
const never = new AbortController().signal;

interface Run {
  id: number;
  isUp: boolean;
  installer: boolean;
  end: PromiseWithResolvers<number>;
}

/** A driver in memory for one server. `done` lists the changes of its runs. */
function memoryDriver(): Driver<Run> & {
  current: Run | undefined;
  done: string[];
  emit: (event: EngineEvent) => void;
} {
  let count = 0;
  const done: string[] = [];
  const gameOf = ({ isUp, installer }: Run): Game => ({
    serverId: 'castle',
    up: isUp,
    installer,
    game: null,
    rcon: null,
    management: null,
    startedAt: 1,
    exit: null,
  });
  const start = (installer: boolean): Run => {
    const run = { id: (count += 1), isUp: true, installer, end: Promise.withResolvers<number>() };
    done.push(`start ${run.id}`);
    return (driver.current = run);
  };
  const end = (run: Run, code: number) => {
    run.isUp = false;
    run.end.resolve(code);
  };
  const driver: ReturnType<typeof memoryDriver> = {
    kind: 'memory',
    current: undefined,
    done,
    emit: () => {},
    find: async () => driver.current,
    gameOf,
    list: async () => (driver.current ? [gameOf(driver.current)] : []),
    runsGame: ({ isUp, installer }) => isUp && !installer,
    isSame: (run, other) => run.id === other.id,
    boot: async () => gameOf(driver.current?.isUp ? driver.current : start(false)),
    startInstaller: async () => start(true),
    async ended(run, signal) {
      const aborted = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => aborted.reject(signal.reason as Error));
      return await Promise.race([run.end.promise, aborted.promise]);
    },
    async stop(run) {
      done.push(`stop ${run.id}`);
      await run.end.promise;
    },
    async kill(run) {
      if (run.isUp) done.push(`kill ${run.id}`);
      end(run, 137);
    },
    async discard(run) {
      done.push(`discard ${run.id}`);
      driver.current = undefined;
    },
    async erase(_, run) {
      done.push(`erase ${run?.id}`);
      driver.current = undefined;
    },
    stats: async () => undefined,
    watch(listener) {
      driver.emit = listener;
      return () => (driver.emit = () => {});
    },
    async *logs() {},
    proxyAddresses: async () => [],
    toError: (error) =>
      error instanceof EngineError ? error : new EngineError('unknown', 'translated', { cause: error }),
  };
  return driver;
}

function engineOn(driver: Driver<Run>) {
  return drivenEngine(driver, pino({ level: 'silent' }));
}

test('a kill cuts a waiting halt short, and a run that replaced the killed one stays', async (t) => {
  const driver = memoryDriver();
  const engine = engineOn(driver);
  await engine.boot(SPEC, never);
  const halt = engine.halt('castle', 60_000);
  await turn();
  const kill = engine.kill('castle');
  const boot = engine.boot(SPEC, never);
  await Promise.all([halt, kill, boot]);
  t.deepEqual(driver.done, ['start 1', 'stop 1', 'kill 1', 'discard 1', 'start 2']);
  t.true((await engine.inspect('castle'))?.up);
  await engine.erase('castle');
  t.deepEqual(driver.done.slice(-2), ['kill 2', 'erase 2']);
  t.is(await engine.inspect('castle'), undefined);
});

test('a kill without a run does not wait for a boot, unless a start by another instance may be hidden', async (t) => {
  const driver = memoryDriver();
  const booting = Promise.withResolvers<Game>();
  driver.boot = () => booting.promise;
  const engine = engineOn(driver);
  const boot = t.throwsAsync(engine.boot(SPEC, never), { instanceOf: EngineError });
  await engine.kill('castle');
  t.deepEqual(driver.done, []);
  booting.reject(new Error('no answer'));
  await boot;

  const shown: string[] = [];
  const hidden = Object.assign(memoryDriver(), {
    untilShown: async (id: string) => void shown.push(`shown ${id}`),
    settle: async (id: string, graceMs?: number) => void shown.push(`settled ${id} ${graceMs}`),
  });
  await engineOn(hidden).kill('castle');
  t.deepEqual(shown, ['shown castle', 'shown castle', 'settled castle 0']);
});

test('an installer is discarded after success, kept after a failure, and killed when its caller gives up', async (t) => {
  const driver = memoryDriver();
  const engine = engineOn(driver);
  const installed = engine.install(SPEC, never);
  await turn();
  driver.current?.end.resolve(0);
  await installed;
  t.deepEqual(driver.done.splice(0), ['start 1', 'discard 1']);

  const failed = engine.install(SPEC, never);
  await turn();
  driver.current!.isUp = false;
  driver.current!.end.resolve(3);
  const error = await t.throwsAsync(failed, { instanceOf: EngineError, message: 'The installer ended with code 3.' });
  t.is(error?.code, 'install_failed');
  t.deepEqual(driver.done.splice(0), ['start 2']);

  const caller = new AbortController();
  const aborted = t.throwsAsync(engine.install(SPEC, caller.signal), { message: 'deleted' });
  await turn();
  caller.abort(new Error('deleted'));
  await aborted;
  t.deepEqual(driver.done.splice(0), ['start 3', 'kill 3', 'discard 3']);

  await engine.boot(SPEC, never);
  await t.throwsAsync(engine.install(SPEC, never), { message: 'The server is running.' });
});

test('errors are translated, except the reason of a caller that gave up, and a failing listener harms no other', async (t) => {
  const driver = memoryDriver();
  const engine = engineOn(driver);
  driver.find = async () => {
    throw new Error('raw');
  };
  t.is((await t.throwsAsync(engine.inspect('castle')))?.message, 'translated');
  const gone = AbortSignal.abort(new Error('gave up'));
  t.is((await t.throwsAsync(engine.halt('castle', 1, gone)))?.message, 'gave up');
  const seen: string[] = [];
  const end = engine.watch(({ type }) => {
    seen.push(type);
    throw new Error('listener');
  });
  t.notThrows(() => driver.emit({ type: 'away' }));
  end();
  driver.emit({ type: 'resync' });
  t.deepEqual(seen, ['away']);
});
