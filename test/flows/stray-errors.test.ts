import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'ava';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { EchoPlayer } from '../support/echo-player.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const ROOT = join(import.meta.dirname, '../..');
/** On SIGHUP, causes a stray rejection and then a stray throw. */
const STRAY = `
  process.on('SIGHUP', () => {
    void Promise.reject(new Error('a stray rejection'));
    setTimeout(() => { throw new Error('a stray throw'); }, 200);
  });
`;
const STRAYS = ['--import', `data:text/javascript,${encodeURIComponent(STRAY)}`];
const PROGRAM = [...STRAYS, '--import', join(ROOT, 'test/fixtures/echo-core/replace.ts'), join(ROOT, 'src/main.ts')];

test('uncaught errors disconnect no players; the service survives a stray rejection and ends on a stray throw', async (t) => {
  const service = await startService(t, { PROXY: 'external' }, PROGRAM);
  await service.create('echo', '1.20.4');
  const proxy = spawn(process.execPath, [...STRAYS, 'proxy/main.ts'], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'],
      ...COMPILE_CACHE,
      CONTROL_URL: service.baseUrl.replace('http:', 'ws:'),
      PROXY_HOST: '127.0.0.1',
      PROXY_PORT: String(service.playersPort),
      PROXY_TOKEN: (await readFile(join(service.dataDir, 'proxy.token'), 'utf8')).trim(),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => proxy.kill('SIGKILL'));
  const said: string[] = [];
  createInterface({ input: proxy.stdout }).on('line', (line) => said.push(line));
  await until('players can connect', () => said.some((line) => line.includes('players can connect')));
  const player = new EchoPlayer(service.playersPort, 'echo.localhost', 'Ann');
  t.teardown(() => player.leave());
  await player.joined();
  player.play();

  proxy.kill('SIGHUP');
  for (const what of ['a stray rejection', 'a stray throw']) {
    await until(what, () => said.some((line) => line.includes('"level":"warn"') && line.includes(what)));
  }
  t.is(await service.stop('SIGHUP'), 1);
  const errors = () => service.log.filter(({ level }) => level === 'error').map((line) => JSON.stringify(line));
  await until('all it said has arrived', () => errors().length === 2);
  t.regex(errors()[0] ?? '', /a stray rejection.*The service continues/);
  t.regex(errors()[1] ?? '', /a stray throw.*The service exits/);
  t.is(player.failure, undefined);
  await service.start();
  t.like(await service.reach('echo', 'running'), { state: 'running' }, 'the next service adopts the game');
  await player.pause();
  t.deepEqual([player.failure, player.received], [undefined, player.sent]);
});
