import test from 'ava';
import { createLog } from '../../src/kernel/log.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/kernel/units.ts';
import { nextRun } from '../../src/schedules/next-run.ts';
import { type ScheduleRow, getSchedule, insertSchedule } from '../../src/schedules/rows.ts';
import { Schedules } from '../../src/schedules/schedules.ts';
import { fakeClock } from '../fakes/clock.ts';
import { asyncProperty, assert, constantFrom, integer } from '../support/property.ts';
import { world } from '../support/world.ts';

const utc = (text: string) => Date.parse(`${text}Z`);

/** Zones near a change of their clocks, at an hour that the change skips or repeats, or another. */
const CHANGES = [
  ['Europe/Berlin', '2026-03-29T01:00'],
  ['Europe/Berlin', '2026-10-25T01:00'],
  ['America/New_York', '2026-03-08T07:00'],
  ['America/New_York', '2026-11-01T06:00'],
  ['Australia/Lord_Howe', '2026-04-04T15:00'],
  ['Asia/Kathmandu', '2026-06-01T00:00'],
] as const;

test('players are warned of each time once, in order and before it, also when the clock changes', async (t) => {
  const w = await world(t);
  await w.create('abc');
  await assert(
    asyncProperty(
      constantFrom(...CHANGES),
      constantFrom('backup', 'restart', 'stop'),
      constantFrom('*', '*/2', '1-3', '2'),
      integer({ min: 0, max: 59 }),
      integer({ min: 30, max: 600 }),
      async ([timeZone, change], kind, hours, minute, warnSeconds) => {
        const cronExpr = `${minute} ${hours} * * *`;
        const clock = fakeClock(utc(change) - 3 * HOUR_MS);
        const until = clock.now() + 27 * HOUR_MS;
        const expected: number[] = [];
        const next = (after: number) => nextRun(cronExpr, after, timeZone)!;
        for (let at = next(clock.now()); at <= until && expected.length < 4; at = next(at)) expected.push(at);
        await w.store.write((tx) => tx.run('DELETE FROM "schedules"', []));
        const row: ScheduleRow = {
          id: 'sch_1',
          serverId: 'abc',
          kind,
          command: '',
          cronExpr,
          timeZone,
          enabled: true,
          onlyWhenEmpty: false,
          warnSeconds,
          lastStatus: '',
          lastError: '',
          createdAt: clock.now(),
          lastRunAt: null,
          nextRunAt: expected[0]!,
          playedMinutes: 0,
          runningSince: null,
          userId: '',
          keyId: '',
        };
        await w.store.write((tx) => insertSchedule(tx, row));
        const warnings: { at: number; of: number }[] = [];
        const actions = {
          // The machine of a server warns its players when it is handed a stop for later.
          run: async (_: ScheduleRow, __: unknown, dueAt?: number) => {
            if (dueAt !== undefined) warnings.push({ at: clock.now(), of: dueAt });
          },
          warnOfBackup: async (_: string, ms: number) => {
            // The clock may have moved on since the service read it, by less than a minute.
            const of = Math.floor((clock.now() + ms) / MINUTE_MS) * MINUTE_MS;
            warnings.push({ at: of - ms, of });
          },
          hasPlayers: async () => true,
          played: () => [],
        };
        const log = createLog({ level: 'silent' });
        const schedules = await Schedules.open({ store: w.store, clock, log, actions });
        const stored = async () => (await getSchedule(w.store, 'abc', 'sch_1'))!;
        for (const [index, dueAt] of expected.entries()) {
          await clock.advance(Math.max(0, dueAt - warnSeconds * 1_000 - 1 - clock.now()));
          await clock.advance(1);
          await w.until(() => warnings.length > index);
          await clock.advance(dueAt - clock.now());
          await w.until(async () => {
            const { nextRunAt, runningSince } = await stored();
            return nextRunAt !== dueAt && runningSince === null;
          });
        }
        await schedules.close();
        t.deepEqual(
          warnings.map(({ of }) => of),
          expected,
          `${cronExpr} ${timeZone}`,
        );
        for (const [index, { at, of }] of warnings.entries()) {
          t.true(at < of && of - at <= warnSeconds * 1_000);
          // A time that the clock skips may be due just before another.
          const gap = of - (expected[index - 1] ?? row.createdAt);
          if (gap > (warnSeconds + 60) * 1_000) t.is(of - at, warnSeconds * 1_000);
        }
      },
    ),
    { numRuns: 40 },
  );
});
