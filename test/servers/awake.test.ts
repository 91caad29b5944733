import test from 'ava';
import { type AwakeSession, awakeMsIn } from '../../src/servers/pages/awake.ts';

const HOUR = 3_600_000;
const at = (hour: number) => new Date(hour * HOUR).toISOString();

/** A session that was awake from one hour to another, and up after a minute unless its start failed. */
function session(from: number, to: number | null, isUp = true): AwakeSession {
  const readyAt = isUp ? new Date(from * HOUR + 60_000).toISOString() : null;
  return { startedAt: at(from), readyAt, endedAt: to === null ? null : at(to) } as AwakeSession;
}

test('the awake time is that within the span, and an open session lasts until now', (t) => {
  const span = { from: 10 * HOUR, to: 20 * HOUR };
  t.is(awakeMsIn([session(8, 11), session(12, 13), session(19, 22)], span, 30 * HOUR), 3 * HOUR);
  t.is(awakeMsIn([session(15, null)], span, 17 * HOUR), 2 * HOUR);
  t.is(awakeMsIn([session(15, null, false)], span, 16 * HOUR), HOUR, 'a start that goes on');
});

test('a failed start is not awake time', (t) => {
  t.is(awakeMsIn([session(12, 13, false), session(14, 15)], { from: 0, to: 24 * HOUR }, 24 * HOUR), HOUR);
});
