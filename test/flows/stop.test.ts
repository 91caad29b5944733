import test from 'ava';
import { joinRaw } from '../support/bot.ts';
import { runningGames } from '../support/running-games.ts';
import { runningProxies } from '../support/running-proxies.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** Starts a service with a running server `lobby`. */
async function awake(t: Parameters<typeof startService>[0], env: Record<string, string> = {}): Promise<Service> {
  const service = await startService(t, env);
  await service.create('lobby', '1.20.4');
  await service.call('POST', '/v1/servers/lobby:start');
  await service.reach('lobby', 'running');
  return service;
}

/** Starts the service again. Returns the number of games, the state of `lobby` and the reasons for its stops. */
async function hasStopped(service: Service): Promise<string[]> {
  const games = await runningGames(service);
  await service.start();
  const { transitions } = await service.call<{ transitions: { to: string; cause: { note: string } }[] }>(
    'GET',
    '/v1/servers/lobby/machine',
  );
  const notes = transitions.filter(({ to }) => to === 'stopping').map(({ cause }) => cause.note);
  return [`${games.length} games`, (await service.call('GET', '/v1/servers/lobby')).state, ...notes];
}

const STOPPED = ['0 games', 'hibernated', 'the operator stopped the service and its servers'];

test('--stop puts servers to sleep, disconnects their players, and ends the service and the proxy', async (t) => {
  const service = await awake(t, { PROXY: 'child' });
  const address = { port: service.playersPort, version: '1.20.4', fakeHost: 'lobby.localhost' };
  const steve = await joinRaw({ ...address, name: 'Steve' });
  const { code, said } = await service.run(['--stop']);
  t.is(code, 0, said);
  t.regex(said, /^The service \(process \d+\) is putting its servers to sleep.*\nAll servers are asleep\. .*\n$/);
  t.is(await service.stop(), 0, 'the service has already exited');
  t.truthy(await steve.ended);
  await until(async () => (await runningProxies(service)).length === 0);
  t.deepEqual(await hasStopped(service), STOPPED);
});

test('--stop also puts the games of a killed service to sleep, and can be repeated', async (t) => {
  const service = await awake(t);
  await service.kill();
  const { code, said } = await service.run(['--stop']);
  t.is(code, 0, said);
  t.true(said.endsWith('All servers are asleep. The service and its proxy have stopped.\n'), said);
  t.deepEqual(await service.run(['--stop']).then(({ code: again }) => again), 0);
  t.deepEqual(await hasStopped(service), STOPPED);
});

test('Ctrl-C reports how many servers are still awake and how to put them to sleep', async (t) => {
  const service = await awake(t);
  await service.stop('SIGINT');
  t.is(service.said.at(-1), 'Servers still awake: 1. npm run stop puts them to sleep.');
});
