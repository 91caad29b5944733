import test from 'ava';
import { joinRaw, joinRoom, pingStatus } from '../support/bot.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

test('a player in the waiting room sees the start’s progress, is transferred to the game and plays', async (t) => {
  const service = await startService(t, { SANDBOX_FAULTS: 'START_MS=10000', PROXY: 'child' });
  const address = { port: service.playersPort, version: '1.21.11', fakeHost: 'lobby.localhost' };
  await service.create('lobby', '1.21.11');
  await service.call('POST', '/v1/servers/lobby:update', { waitingRoom: true });
  await service.call('POST', '/v1/servers/lobby:setMotd', { motd: 'Build with us' });
  // The proxy learns of changes in order, shortly after the caller.
  await until(async () => {
    const status = await pingStatus(address).catch(() => undefined);
    return JSON.stringify(status?.description ?? '').includes('Build with us');
  });

  const steve = joinRoom({ ...address, name: 'Steve' });
  const { host, port } = await steve.sentOn;
  t.deepEqual({ host, port }, { host: 'lobby.localhost', port: service.playersPort });
  const seen = steve.dialogs.join();
  for (const part of ['lobby', 'Build with us', 'Preparing the world', '|||', 'dormouse:leave'])
    t.true(seen.includes(part), part);
  const inside = await joinRaw({ ...address, name: 'Steve', transferred: true });
  inside.chat('here I am');
  t.regex(await inside.waitChat(/here I am/), /Steve/);
  t.is((await service.call('GET', '/v1/servers/lobby')).state, 'running');
  await inside.end();
});
