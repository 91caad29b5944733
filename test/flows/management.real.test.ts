import test from 'ava';
import { SAMPLE_MS } from '../../src/servers/sampling.ts';
import { joinRaw } from '../support/bot.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** The number of tries. On a busy machine the first one may fail, and the next one comes a minute later. */
const ROUNDS = 12;

test('a game with a management port shows joins and leaves before the next sample', async (t) => {
  const service = await startService(t);
  await service.create('live', '1.21.11');
  const shows = async (count: number) => {
    const online = async () => (await service.call<{ players: number }>('GET', '/v1/servers/live/metrics')).players;
    await until({ what: `${count} players`, withinMs: 4 * SAMPLE_MS }, async () => (await online()) === count);
  };
  const address = { port: service.playersPort, version: '1.21.11', fakeHost: 'live.localhost', timeoutMs: 180_000 };
  const steve = await joinRaw({ ...address, name: 'Steve' });
  await shows(1);
  const tookMs: number[] = [];
  // If a join and a leave both show within one sampling interval, at least one of them was reported by the game.
  while (tookMs.length < ROUNDS && !tookMs.some((ms) => ms < SAMPLE_MS)) {
    const begun = Date.now();
    const alex = await joinRaw({ ...address, name: 'Alex' });
    await shows(2);
    await alex.end();
    await shows(1);
    tookMs.push(Date.now() - begun);
  }
  t.true(Math.min(...tookMs) < SAMPLE_MS, `${tookMs.join(', ')} ms`);
  await steve.end();
  await shows(0);
});
