import test from 'ava';
import { initialContext } from '../../machines/server-context.ts';
import type { ServerContext } from '../../machines/server-types.ts';
import { fromStoredTime, inMachineTime, inStoredTime, shiftedContext } from '../../src/servers/snapshots.ts';
import { fakeClock, steadyOf } from '../fakes/clock.ts';
import { KEY, LIMITS } from '../support/world.ts';

const HOUR = 3_600_000;

test('shifting a context moves every instant and no other number', (t) => {
  const cause = { kind: 'system', id: '', note: '' } as const;
  const full: ServerContext = {
    ...initialContext({ id: 'abc', limits: LIMITS, at: 1, cause }),
    wokenAt: 1,
    readyAt: 2,
    bakedAt: 3,
    retries: [4],
    crashes: [5],
    hangs: [12],
    noRoom: { foundAt: 14, tryAt: 15, until: 16 },
    deadlineAt: 6,
    keepAwakeUntil: 7,
    address: { host: 'a', port: 8 },
    rcon: null,
    live: { phase: 'ready', percent: 9, players: 10, lastActiveAt: 11, silentSince: 13 },
  };
  const moved = shiftedContext(full, 100);
  const { limits, live, address, noRoom, ...rest } = moved;
  t.deepEqual(noRoom, { foundAt: 114, tryAt: 115, until: 116 });
  t.deepEqual(limits, LIMITS);
  t.deepEqual(address, { host: 'a', port: 8 });
  t.deepEqual(live, { phase: 'ready', percent: 9, players: 10, lastActiveAt: 111, silentSince: 113 });
  const numbers = Object.values(rest as Record<string, unknown>)
    .flat()
    .filter((value) => typeof value === 'number');
  t.deepEqual(
    numbers.toSorted((one, other) => one - other),
    [101, 102, 103, 104, 105, 106, 107, 112],
  );
  t.is(shiftedContext({ keepAwakeUntil: 0, readyAt: null }, 100).keepAwakeUntil, 0, 'a missing deadline stays missing');
});

test('stored times survive a clock change within a boot, and follow the wall clock after a reboot', async (t) => {
  const clock = fakeClock();
  const steady = steadyOf(clock);
  const snapshot = {
    context: { readyAt: steady.now() },
    children: { alarm: { src: 'alarm', snapshot: { input: { at: steady.now() } } } },
  };
  await clock.set(clock.now() + HOUR);
  const stored = inStoredTime(snapshot, steady);
  t.like(stored, {
    context: { readyAt: clock.now() },
    children: { alarm: { snapshot: { input: { at: clock.now() } } } },
  });
  await clock.set(clock.now() - 3 * HOUR);
  t.deepEqual(fromStoredTime(stored as typeof snapshot, steady), snapshot);
  const next = steadyOf(clock, 'next boot');
  t.is(fromStoredTime(stored as typeof snapshot, next).context.readyAt, clock.now() + 3 * HOUR);
  const old = { context: { readyAt: clock.now() } };
  t.is(fromStoredTime(old, steady).context.readyAt, steady.now());
});

test('the time of an event is capped at now, but a keep-awake deadline may lie in the future', async (t) => {
  const clock = fakeClock();
  const steady = steadyOf(clock);
  await clock.set(clock.now() - HOUR);
  const at = clock.now();
  const event = { type: 'KEEP_AWAKE', at: at + 5_000, until: at + HOUR, cause: KEY } as const;
  t.deepEqual(inMachineTime(event, steady), { ...event, at: steady.now(), until: steady.now() + HOUR });
});
