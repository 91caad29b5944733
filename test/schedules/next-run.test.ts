import test from 'ava';
import { isTimeZone } from '../../src/kernel/time-zone.ts';
import { nextRun } from '../../src/schedules/next-run.ts';
import { assert, constantFrom, integer, property } from '../support/property.ts';
import { api } from '../support/api-harness.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const PATH = '/v1/servers/abc/schedules';
const utc = (text: string) => Date.parse(`${text}Z`);

/** Returns all due times from `from` to `to`, each found from the one before it. */
function dueTimes(cronExpr: string, timeZone: string, from: number, to: number): string[] {
  const found: string[] = [];
  for (let at = nextRun(cronExpr, from, timeZone); at !== null && at <= to; at = nextRun(cronExpr, at, timeZone)) {
    found.push(new Date(at).toISOString().slice(0, 16));
  }
  return found;
}

/** Returns the clock of a zone in each minute after `from`, up to `to`, by Intl alone: `HH:MM` with its date. */
function clockOf(timeZone: string, from: number, to: number): { at: number; day: string; time: string }[] {
  const days = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
  const times = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  return Array.from({ length: (to - from) / MINUTE_MS }, (_, index) => {
    const at = from + (index + 1) * MINUTE_MS;
    return { at, day: days.format(at), time: times.format(at) };
  });
}

/** Returns the next date: Apia once skipped a whole one. */
const dayAfter = (day: string) => new Date(utc(`${day}T00:00`) + 24 * HOUR_MS).toISOString().slice(0, 10);

/** Zones whose clocks change by an hour or half an hour, at night or at midnight, in both hemispheres, or never. */
const CHANGES = [
  ['Europe/Berlin', '2026-03-29T01:00'],
  ['Europe/Berlin', '2026-10-25T01:00'],
  ['America/New_York', '2026-03-08T07:00'],
  ['America/New_York', '2026-11-01T06:00'],
  ['America/Santiago', '2026-09-06T04:00'],
  ['Australia/Lord_Howe', '2026-04-04T15:00'],
  ['Australia/Lord_Howe', '2026-10-03T15:30'],
  ['Asia/Beirut', '2026-03-28T22:00'],
  ['Asia/Kathmandu', '2026-06-01T00:00'],
  ['Pacific/Apia', '2011-12-30T10:00'],
] as const;

test('each daily time is due exactly once a day in any zone, also when the clock skips or repeats it', (t) => {
  const around = integer({ min: -40 * 60, max: 10 * 60 });
  assert(
    property(
      constantFrom(...CHANGES),
      around,
      integer({ min: 0, max: 23 }),
      integer({ min: 0, max: 59 }),
      ([timeZone, change], offset, hour, minute) => {
        const from = utc(change) + offset * MINUTE_MS;
        const to = from + 72 * HOUR_MS;
        const wanted = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
        const clock = clockOf(timeZone, from - 3 * HOUR_MS, to);
        const expected: number[] = [];
        for (const [index, { at, day, time }] of clock.entries()) {
          const before = clock[index - 1];
          const isShown =
            time === wanted && !clock.some((each) => each.at < at && each.day === day && each.time === time);
          const now = `${day} ${time}`;
          const skipped =
            before !== undefined &&
            [before.day, dayAfter(before.day), day].some(
              (on) => `${on} ${wanted}` > `${before.day} ${before.time}` && `${on} ${wanted}` < now,
            );
          if (at > from && (isShown || skipped)) expected.push(at);
        }
        const texts = expected.map((at) => new Date(at).toISOString().slice(0, 16));
        t.deepEqual(dueTimes(`${minute} ${hour} * * *`, timeZone, from, to), texts, `${timeZone} ${wanted}`);
      },
    ),
  );
});

test('a schedule for every hour is due whenever the clock shows its minute, also in a repeated hour', (t) => {
  assert(
    property(constantFrom(...CHANGES), integer({ min: 0, max: 59 }), ([timeZone, change], minute) => {
      const from = utc(change) - 12 * HOUR_MS;
      const to = utc(change) + 12 * HOUR_MS;
      const expected = clockOf(timeZone, from, to).filter(({ time }) => Number(time.slice(3)) === minute);
      const texts = expected.map(({ at }) => new Date(at).toISOString().slice(0, 16));
      t.deepEqual(dueTimes(`${minute} * * * *`, timeZone, from, to), texts, `${timeZone} ${minute}`);
    }),
  );
});

test('times that the clock skips together are due once, when it is put forward', (t) => {
  const spring = (cronExpr: string) =>
    dueTimes(cronExpr, 'Europe/Berlin', utc('2026-03-28T12:00'), utc('2026-03-29T12:00'));
  t.deepEqual(spring('0,30 2 * * *'), ['2026-03-29T01:00']);
  t.deepEqual(spring('0 2,3 * * *'), ['2026-03-29T01:00']);
  t.deepEqual(spring('30 1,2,3 * * *'), ['2026-03-29T00:30', '2026-03-29T01:00', '2026-03-29T01:30']);
});

test('a schedule keeps its time zone until it is changed, and a name such as @daily becomes its five fields', async (t) => {
  t.true(isTimeZone('Asia/Kathmandu'));
  const it = await api(t);
  await it.create('abc');
  const body = { kind: 'start', cronExpr: '@Daily', timeZone: 'Asia/Kathmandu' };
  const made = await it.ok('POST', PATH, body);
  t.like(made, { cronExpr: '0 0 * * *', timeZone: 'Asia/Kathmandu' });
  t.regex(String(made['nextRunAt']), /T18:15:00/);
  const scheduleId = String(made['id']);
  const kept = await it.ok('POST', PATH, { kind: 'stop', cronExpr: '0 4 * * *', scheduleId });
  t.like(kept, { id: scheduleId, kind: 'stop', timeZone: 'Asia/Kathmandu' });
  t.regex(String(kept['nextRunAt']), /T22:15:00/);
  const enabled = await it.ok('POST', `${PATH}:setEnabled`, { scheduleId, enabled: true });
  t.is(enabled['nextRunAt'], kept['nextRunAt']);
  await it.clock.advance(Date.parse(String(kept['nextRunAt'])) - it.clock.now());
  const run = async () => ((await it.ok('GET', PATH))['schedules'] as { nextRunAt: string }[])[0]?.nextRunAt;
  await it.until(async () => (await run()) !== kept['nextRunAt']);
  t.regex(String(await run()), /T22:15:00/, 'the run after that is in the zone too');
  const reset = await it.ok('POST', PATH, { kind: 'stop', cronExpr: '0 4 * * *', scheduleId, timeZone: '' });
  t.like(reset, { timeZone: 'UTC' });
});
