import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { SAMPLE_MS } from '../../src/servers/sampling.ts';
import { joinRaw } from '../support/bot.ts';
import { startService } from '../support/service.ts';

/** Far below the time between two readings, even on a machine with much else to do. */
const PUSH_MS = SAMPLE_MS / 3;

test('who comes and goes shows before the next reading where the game has a management port', async (t) => {
  const service = await startService(t);
  await service.create('live', '1.21.11');
  const online = async () => (await service.call<{ players: number }>('GET', '/v1/servers/live/metrics')).players;
  const shows = async (count: number, withinMs: number) => {
    for (const end = Date.now() + withinMs; (await online()) !== count; await delay(200))
      if (Date.now() > end) return false;
    return true;
  };
  const address = { port: service.playersPort, version: '1.21.11', fakeHost: 'live.localhost', timeoutMs: 180_000 };
  const steve = await joinRaw({ ...address, name: 'Steve' });
  // He may have come in before the first reading, which begins to follow; the next one is 15 s away.
  t.true(await shows(1, SAMPLE_MS + 5_000));
  const alex = await joinRaw({ ...address, name: 'Alex' });
  t.true(await shows(2, PUSH_MS));
  await steve.end();
  t.true(await shows(1, PUSH_MS));
  await alex.end();
  t.true(await shows(0, PUSH_MS));
});
