import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { isKnown, joinRaw, joinRoom, pingStatus } from '../support/bot.ts';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { type Service, freePort, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const ROOT = join(import.meta.dirname, '../..');
const PROXY_TOKEN = 'a-token-that-both-of-them-have-been-given';
const VERSION = '1.21.11';
const RAM_MB = 512;

/** Starts another proxy of the same service on its own port, like one on another machine. */
async function anotherProxy(t: ExecutionContext, service: Service): Promise<number> {
  const port = await freePort();
  const CONTROL_URL = service.baseUrl.replace('http:', 'ws:');
  const env = { ...COMPILE_CACHE, CONTROL_URL, PROXY_TOKEN, PROXY_HOST: '127.0.0.1', PROXY_PORT: String(port) };
  const child: ChildProcess = spawn(process.execPath, ['proxy/main.ts'], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  return port;
}

test('players in line join first come, first served, across two proxies and a service restart', async (t) => {
  const service = await startService(t, { PROXY: 'child', PROXY_TOKEN, MAX_RAM_MB: '16777216' });
  const other = await anotherProxy(t, service);
  const { ramUsableMb } = await service.call<{ ramUsableMb: string }>('GET', '/v1/capacity');
  // When `rest` sleeps, there is room for one server.
  const sizes = { most: Number(ramUsableMb) - RAM_MB - 100, rest: RAM_MB, first: RAM_MB, second: RAM_MB };
  for (const [name, ramMb] of Object.entries(sizes)) await service.create(name, VERSION, { ramMb });
  for (const name of ['first', 'second'])
    await service.call('POST', `/v1/servers/${name}:update`, { waitingRoom: true });
  for (const name of ['most', 'rest']) {
    await service.call('POST', `/v1/servers/${name}:start`);
    await service.reach(name, 'running');
  }
  const at = (port: number, name: string) => ({ port, version: VERSION, fakeHost: `${name}.localhost` });
  const [alex, steve] = [
    { ...at(service.playersPort, 'first'), name: 'Alex' },
    { ...at(other, 'second'), name: 'Steve' },
  ];
  for (const player of [alex, steve])
    await until({ despiteErrors: true }, async () => isKnown(await pingStatus(player)));

  const inFirst = joinRoom(alex);
  await until(() => shown(inFirst.dialogs).includes('You are 1st in line'));
  const inSecond = joinRoom(steve);
  await until(() => shown(inSecond.dialogs).includes('You are 2nd in line'));
  const friend = joinRoom({ ...alex, name: 'Robin' });
  await until(() => shown(friend.dialogs).includes('You are 1st in line'));
  t.true(shown(friend.dialogs).includes('Also waiting: Alex'));
  friend.leave();
  t.regex(await friend.ended, /no longer waiting/);
  const old = await t.throwsAsync(joinRaw({ ...alex, fakeHost: 'first.localhost\0FORGE', name: 'Sam' }));
  t.regex(old.message, /This host is full right now/, 'a client that cannot show the line is refused');

  await service.kill();
  await until(() => [inFirst, inSecond].every(({ dialogs }) => shown(dialogs).includes('You are in line')));
  await service.start();
  await until(() => shown(inFirst.dialogs).includes('You are 1st in line'));
  await until(() => shown(inSecond.dialogs).includes('You are 2nd in line'));
  for (const name of ['first', 'second']) t.is((await service.call('GET', `/v1/servers/${name}`)).state, 'hibernated');

  await service.call('POST', '/v1/servers/rest:stop');
  await inFirst.sentOn;
  await until(() => shown(inSecond.dialogs).includes('You are 1st in line'));
  const inside = await joinRaw({ ...alex, transferred: true });
  t.is((await service.call('GET', '/v1/servers/second')).state, 'hibernated');
  await inside.end();
  await service.call('POST', '/v1/servers/first:stop');
  await inSecond.sentOn;
  t.is((await service.call('GET', '/v1/servers/second')).state, 'running');
});

/** Returns the newest dialog. */
function shown(dialogs: readonly string[]): string {
  return dialogs.at(-1) ?? '';
}
