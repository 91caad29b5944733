import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { pino } from 'pino';
import { EngineError } from '../../src/engines/engine.ts';
import { ProcessGames } from '../../src/engines/process/games.ts';
import { ProcessLogFiles } from '../../src/engines/process/log-files.ts';
import { type Run, type Runs, newRun, runFiles } from '../../src/engines/process/runs.ts';
import { gameSpec } from '../conformance/game-spec.ts';
import { freePort } from '../support/service.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';

test('a failed start releases its ports', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-process-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const runDir = join(dir, 'run');
  const files = new ProcessLogFiles(runDir);
  const games = new ProcessGames(runFiles(runDir), files, systemClock, pino({ level: 'silent' }));
  const [gamePort, rconPort, managementPort] = [await freePort(), await freePort(), await freePort()];
  const ports = [{ hostPort: await freePort(), containerPort: await freePort(), proto: 'tcp' as const }];
  const spec = { ...gameSpec('alpha', { image: '', dataDir: dir, env: {}, ramMb: 256 }), ports };
  await mkdir(dir, { recursive: true });
  const start = async (args: string[]) => {
    const run = (await games.claim(spec, false, { gamePort, rconPort, managementPort }))!;
    return await games.start(run, { file: '/bin/sleep', args }, dir, {}).catch(async (error: unknown) => {
      await games.abandon(run);
      throw error;
    });
  };
  files.openForGame = async () => Promise.reject(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }));
  await t.throwsAsync(start(['60']), { code: 'ENOSPC' });
  // Restore the method of the class.
  Reflect.deleteProperty(files, 'openForGame');
  // Node refuses a NUL byte in an argument.
  await t.throwsAsync(start(['6\0']), { code: 'ERR_INVALID_ARG_VALUE' });
  const started = await start(['60']).catch((error: unknown) => (t.true(error instanceof EngineError), error));
  t.like(started, { serverId: 'alpha' });
  await games.stop(started as never, 0, 'SIGKILL');
});

test('two callers that find the same interrupted start never remove the run file of the next game', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-process-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const runs = runFiles(join(dir, 'run'));
  const spec = gameSpec('alpha', { image: '', dataDir: dir, env: {}, ramMb: 256 });
  const ports = { gamePort: 1, rconPort: 2, managementPort: 3 };
  const interrupted = newRun(spec, false, ports, Date.now() - 60_000);
  await runs.claim(interrupted);
  // The first caller is slow: it removes what it has found after the second one has started a game.
  const slow = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const slowly = {
    ...runs,
    async remove(run: Run) {
      arrived.resolve();
      await slow.promise;
      await runs.remove(run);
    },
  };
  const gamesOf = (files: Runs) =>
    new ProcessGames(files, new ProcessLogFiles(dir), systemClock, pino({ level: 'silent' }));
  const first = gamesOf(slowly).find('alpha');
  await arrived.promise;
  const games = gamesOf(runs);
  t.is(await games.find('alpha'), undefined);
  const claimed = (await games.claim(spec, false, ports))!;
  slow.resolve();
  t.is(await first, undefined);
  t.is((await runs.read('alpha'))?.token, claimed.token);
});
