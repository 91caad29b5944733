import test from 'ava';
import { watchLateness } from '../../../src/backups/offsite/uploads.ts';
import { createLog } from '../../../src/kernel/log.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/kernel/units.ts';
import { fakeClock } from '../../fakes/clock.ts';

test('backups that wait too long for their upload are logged as an error once a day until the delay ends', async (t) => {
  const clock = fakeClock();
  const logged: { level: string; msg: string; waiting: number }[] = [];
  const log = createLog({
    level: 'info',
    pretty: false,
    destination: { write: (line: string) => void logged.push(JSON.parse(line) as (typeof logged)[number]) },
  });
  const waiting: { count: number; since: number | null } = { count: 0, since: null };
  const stop = watchLateness({ query: async <T>() => [{ ...waiting }] as T[] }, clock, log);
  const told = () => logged.splice(0).map(({ level, waiting: count }) => `${level} ${count}`);
  await clock.advance(DAY_MS);
  t.deepEqual(told(), []);
  Object.assign(waiting, { count: 3, since: clock.now() });
  await clock.advance(5 * HOUR_MS);
  t.deepEqual(told(), []);
  await clock.advance(2 * HOUR_MS);
  t.deepEqual(told(), ['error 3']);
  await clock.advance(DAY_MS);
  t.deepEqual(told(), ['error 3']);
  Object.assign(waiting, { count: 1, since: clock.now() });
  await clock.advance(HOUR_MS);
  t.deepEqual(told(), ['info 1']);
  stop();
  await clock.advance(2 * DAY_MS + MINUTE_MS);
  t.deepEqual(told(), []);
});
