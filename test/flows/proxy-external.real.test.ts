import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { EchoPlayer } from '../support/echo-player.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const ROOT = join(import.meta.dirname, '../..');
const PROGRAM = ['--import', join(ROOT, 'test/fixtures/echo-core/replace.ts'), join(ROOT, 'src/main.ts')];

interface View {
  name: string;
  listening: boolean;
  draining: boolean;
  players: number;
}

/** Starts a separate proxy. `said` is its log. */
function startProxy(t: ExecutionContext, service: Service, env: Record<string, string>) {
  const child: ChildProcess = spawn(process.execPath, ['proxy/main.ts'], {
    detached: true,
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'],
      ...COMPILE_CACHE,
      CONTROL_URL: service.baseUrl.replace('http:', 'ws:'),
      PROXY_HOST: '127.0.0.1',
      PROXY_PORT: String(service.playersPort),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const said: { msg: string }[] = [];
  createInterface({ input: child.stdout! }).on('line', (line) => said.push(JSON.parse(line) as { msg: string }));
  return { child, said };
}

test('several proxies share one player list and one wake, and a killed proxy loses only its own players', async (t) => {
  t.timeout(300_000);
  const service = await startService(t, { PROXY: 'external' }, PROGRAM);
  const views = async () => (await service.call<{ proxies: View[] }>('GET', '/v1/operator/proxies')).proxies;
  const ready = async () => (await fetch(`${service.baseUrl}/readyz`)).status;
  t.is(await ready(), 503, 'players cannot connect yet');
  t.deepEqual(await views(), []);
  await service.create('echo', '1.20.4');

  const wrong = startProxy(t, service, { PROXY_TOKEN: 'x'.repeat(43), PROXY_PORT: '0' });
  await until('it is told so', () => wrong.said.some(({ msg }) => msg.includes('could not reach the service')));
  t.deepEqual(await views(), [], 'a proxy with a wrong token is not listed');
  wrong.child.kill('SIGKILL');

  const PROXY_TOKEN = (await readFile(join(service.dataDir, 'proxy.token'), 'utf8')).trim();
  const proxies = ['one', 'two'].map((name) => ({
    name,
    child: startProxy(t, service, { PROXY_TOKEN, PROXY_NAME: name }).child,
  }));
  await until('both listen', async () => (await views()).filter(({ listening }) => listening).length === 2);
  // The readiness is cached for a second.
  await until('it is ready', async () => (await ready()) === 200);
  // The priority that `nice` is allowed to set here.
  const allowed = Number(execFileSync('nice', ['-n', '-7', 'nice'], { stdio: ['ignore', 'pipe', 'ignore'] }));
  t.deepEqual(
    proxies.map(({ child }) => getPriority(child.pid)),
    [allowed, allowed],
  );
  // With autogroups, Linux also schedules by session. Each proxy has a session of its own.
  const groups = proxies.map(({ child }) => `/proc/${child.pid}/autogroup`);
  for (const group of groups.filter((file) => existsSync(file))) {
    t.regex(await readFile(group, 'utf8'), new RegExp(`nice ${allowed}$`, 'm'));
  }

  // The system distributes connections over both proxies by address.
  const players = Array.from({ length: 40 }, (_, n) => new EchoPlayer(service.playersPort, 'echo.localhost', `P${n}`));
  t.teardown(() => players.forEach((player) => player.leave()));
  await Promise.all(players.map((player) => player.joined()));
  const { transitions } = await service.call<{ transitions: { to: string }[] }>('GET', '/v1/servers/echo/machine');
  t.is(transitions.filter(({ to }) => to === 'starting').length, 1);
  const online = async () => (await service.call<{ online: string[] }>('GET', '/v1/servers/echo/players')).online;
  await until('all are one list', async () => (await online()).length === 40);
  const counts = new Map((await views()).map(({ name, players: count }) => [name, count]));
  t.is((counts.get('one') ?? 0) + (counts.get('two') ?? 0), 40);
  t.true(
    [...counts.values()].every((count) => count > 0),
    'each proxy has players',
  );

  for (const player of players) player.play();
  proxies[0]!.child.kill('SIGKILL');
  const left = counts.get('two')!;
  await until('its players are gone', async () => (await online()).length === left);
  const remaining = () => players.filter(({ failure }) => failure === undefined);
  await until('they have noticed', () => remaining().length <= left);

  const stayed = remaining();
  t.is(stayed.length, left);
  proxies[1]!.child.kill('SIGTERM');
  await until('it drains', async () => (await views()).some(({ name, draining }) => name === 'two' && draining));
  t.is(await ready(), 503, 'new players cannot connect');
  await Promise.all(stayed.map((player) => player.pause()));
  t.true(stayed.every(({ failure, sent, received }) => failure === undefined && sent === received));
  const ended = once(proxies[1]!.child, 'exit');
  for (const player of stayed) player.leave();
  t.deepEqual(await ended, [0, null], 'the proxy exits after its last player');
});

test('an IP ban disconnects a connected player, and the proxy enforces it even while the service is down', async (t) => {
  t.timeout(300_000);
  const service = await startService(t, { PROXY: 'child' }, PROGRAM);
  await service.create('echo', '1.20.4');
  const enter = async () => {
    const player = new EchoPlayer(service.playersPort, 'echo.localhost', 'Mallory');
    t.teardown(() => player.leave());
    return player.joined().then(
      () => player,
      () => undefined,
    );
  };
  let mallory: EchoPlayer | undefined;
  await until('it is known', async () => (mallory = await enter()) !== undefined);
  await service.call('POST', '/v1/servers/echo/players:setIpBan', { ip: '127.0.0.1', banned: true });
  await until('he is cut off', () => mallory?.failure !== undefined);
  await until('he is refused', async () => (await enter()) === undefined);
  await service.kill();
  t.true((await enter()) === undefined, 'the ban holds while the service is down');
});
