import { join } from 'node:path';
import test from 'ava';
import { joinBot, joinRaw } from '../support/bot.ts';
import { startService } from '../support/service.ts';

const VERSION = '1.20.4';
const PLACE = { x: 2, y: 4, z: 2 };
/** The speed of the service's clock: a minute takes three seconds. */
const TIMES = 20;
/** A minute of 256 MB costs a little more than 4 166 micros, so the second minute empties the wallet. */
const PRICE = 1_000_000;
const TICK_MICROS = 4_167;

interface Usage {
  sessions: { ending: string; minutes: number }[];
}

test('a game whose wallet runs empty warns its players, saves and stops, and a credit lets it wake again', async (t) => {
  const program = [join(import.meta.dirname, 'hurried-main.ts'), String(Date.now()), String(TIMES)];
  const settings = {
    SIGNUP_CREDIT_MICROS: '8000',
    PRICE_PER_GB_HOUR_MICROS: String(PRICE),
    START_TIMEOUT_SECONDS: '7200',
    IDLE_TIMEOUT_MINUTES: '1440',
  };
  const service = await startService(t, settings, program);
  const { accountId } = await service.call<{ accountId: string }>('GET', '/v1/whoami');
  const balance = async () =>
    Number((await service.call<{ balanceMicros: string }>('GET', `/v1/accounts/${accountId}/wallet`)).balanceMicros);
  const ready = await fetch(`${service.baseUrl}/readyz`);
  const parts = { lease: 'ok', store: 'ok', engine: 'ok', proxy: 'ok', meter: 'ok' };
  t.deepEqual(await ready.json(), { ready: true, parts });
  await service.create('castle', VERSION, { properties: { gamemode: 'creative' } });
  const address = { port: service.playersPort, version: VERSION, fakeHost: 'castle.localhost' };

  const steve = await joinBot({ ...address, name: 'Steve' });
  await steve.placeBlock(PLACE, 'stone');
  t.is(await steve.blockAt(PLACE), 'stone');
  await steve.waitChat(/run out of money.*goes to sleep in 60 seconds/);
  await steve.ended;
  await service.reach('castle', 'hibernated');
  const { lines } = await service.call<{ lines: string[] }>('GET', '/v1/servers/castle/logs?tail=1000');
  const [warned = -1, stopped = -1] = [/run out of money/, /Stopping/].map((words) =>
    lines.findIndex((line) => words.test(line)),
  );
  t.true(warned >= 0 && warned < stopped, 'the warning comes before the stop');
  const { sessions } = await service.call<Usage>('GET', '/v1/servers/castle/usage');
  t.like(sessions, [{ ending: 'funds', minutes: 2 }]);
  const left = await balance();
  t.true(left <= 0 && left > -TICK_MICROS, String(left));

  const refused = await t.throwsAsync(joinRaw({ ...address, name: 'Alex' }));
  t.regex(refused?.message ?? '', /is out of credit/);
  t.is((await service.call('GET', '/v1/servers/castle')).state, 'hibernated');

  const credit = { amountMicros: 5_000_000, kind: 'credit', note: 'on the house', ref: 'house/1' };
  await service.call('POST', `/v1/operator/accounts/${accountId}:credit`, credit);
  const again = await joinBot({ ...address, name: 'Steve' });
  t.is(await again.blockAt(PLACE), 'stone', 'the placed block was saved');
  await again.end();
  t.true((await balance()) > 4_900_000);
});
