import test from 'ava';
import { joinBot } from '../support/bot.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

test('a webhook is notified of a wake, a player and a sleep, and a kill of the service repeats or loses no event', async (t) => {
  const service = await startService(t, { PROXY: 'child' });
  const { accountId } = await service.call<{ accountId: string }>('GET', '/v1/whoami');
  const path = `/v1/accounts/${accountId}/webhooks`;
  // A name that does not exist: each message waits for its next attempt.
  const body = { url: 'https://hooks.example/', format: 'json', kinds: ['started', 'asleep', 'players'] };
  const { webhook } = await service.call<{ webhook: { webhookId: string } }>('POST', path, body);
  const events = async () => {
    const { deliveries } = await service.call<{ deliveries: { event: string }[] }>(
      'GET',
      `${path}/${webhook.webhookId}/deliveries`,
    );
    return deliveries.map(({ event }) => event).toReversed();
  };
  const { id } = await service.create('castle', '1.21.4');
  const steve = await joinBot({
    fakeHost: `${id}.localhost`,
    port: service.playersPort,
    version: '1.21.4',
    name: 'Steve',
    timeoutMs: 120_000,
  });
  const begun = ['server.started', 'player.join'];
  await until(async () => (await events()).length === begun.length);
  t.deepEqual(await events(), begun);
  await service.kill();
  await service.start();
  await service.reach(id, 'running');
  // A player who leaves before the proxy has named its players is not announced.
  const players = async () =>
    (await service.call<{ proxies: { players: number }[] }>('GET', '/v1/operator/proxies')).proxies.at(0)?.players;
  await until(async () => (await players()) === 1);
  t.deepEqual(await events(), begun, 'a player who is still online is not announced again');
  await steve.end();
  await until(async () => (await events()).includes('player.leave'));
  await service.call('POST', `/v1/servers/${id}:stop`);
  await service.reach(id, 'hibernated');
  t.deepEqual(await events(), [...begun, 'player.leave', 'server.asleep']);
});
