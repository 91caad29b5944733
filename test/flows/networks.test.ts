import { join } from 'node:path';
import test from 'ava';
import { joinRaw } from '../support/bot.ts';
import { EchoPlayer } from '../support/echo-player.ts';
import { runningProxies } from '../support/running-proxies.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const ROOT = join(import.meta.dirname, '../..');
const PROGRAM = ['--import', join(ROOT, 'test/fixtures/echo-core/replace.ts'), join(ROOT, 'src/main.ts')];

test('a front wakes a private backend at the same port after kills of the service and of the proxy', async (t) => {
  const service = await startService(t, { PROXY: 'child' }, PROGRAM);
  await service.create('castle', '1.20.4');
  const place = async () =>
    (await service.call<{ network: { address: string } }>('GET', '/v1/servers/castle')).network.address;
  await service.call('POST', '/v1/servers/castle:setNetwork', { front: 'external' });
  const address = await place();
  const joins = async (name: string): Promise<void> => {
    await until({ what: `${name} joins`, despiteErrors: true }, async () => {
      const player = new EchoPlayer(Number(address.split(':')[1]), 'front.example', name);
      t.teardown(() => player.leave());
      await player.joined();
      player.leave();
      return true;
    });
    await service.reach('castle', 'running');
    await service.call('POST', '/v1/servers/castle:stop', {});
    await service.reach('castle', 'hibernated');
  };
  await joins('Steve');
  const elsewhere = new EchoPlayer(service.playersPort, 'castle.localhost', 'Stranger');
  t.teardown(() => elsewhere.leave());
  await t.throwsAsync(elsewhere.joined());
  await service.kill();
  await service.start();
  t.is(await place(), address);
  await joins('Alex');
  const [pid] = await runningProxies(service);
  process.kill(pid!, 'SIGKILL');
  await joins('Sky');
  t.is(await place(), address);
});

test('a hub transfers a player to a sleeping server, which wakes', async (t) => {
  const service = await startService(t);
  await service.create('castle', '1.21.1');
  const at = { port: service.playersPort, version: '1.21.1', fakeHost: 'castle.localhost' };
  const player = await joinRaw({ ...at, name: 'Steve', transferred: true });
  const { transitions } = await service.call<{ transitions: { cause: { id: string }; to: string }[] }>(
    'GET',
    '/v1/servers/castle/machine',
  );
  t.is(transitions.find(({ to }) => to === 'starting')?.cause.id, 'Steve');
  await player.end();
});
