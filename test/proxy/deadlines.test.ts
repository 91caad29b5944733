import test from 'ava';
import { Deadlines } from '../../proxy/client-connection.ts';
import { until } from '../support/until.ts';

test('a clock jump within a turn expires a deadline only after another turn has read what arrived', async (t) => {
  const clock = { now: 0 };
  const order: string[] = [];
  const deadlines = new Deadlines({ now: () => clock.now, sweepMs: 1, alsoEach: () => order.push('pass') });
  t.teardown(() => deadlines.close());
  deadlines.add({ deadlineAt: 10, expire: () => order.push('expired') });
  // This timer fires after that of the deadlines: it starts later, with the same interval.
  const pause = setInterval(() => (clock.now = 20), 1);
  t.teardown(() => clearInterval(pause));
  await until(() => order.includes('expired'));
  t.deepEqual(order.slice(0, 3), ['pass', 'expired', 'pass']);
});
