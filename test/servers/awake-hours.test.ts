import test from 'ava';
import { awakeHoursUntil, parseAwakeHours } from '../../src/servers/awake-hours.ts';
import { ignoredIn } from '../../src/game/online-players.ts';
import { assert, constantFrom, integer, property } from '../support/property.ts';

const MINUTE_MS = 60_000;
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const ZONES = [
  ['Europe/Berlin', '2026-03-29T01:00Z'],
  ['Europe/Berlin', '2026-10-25T01:00Z'],
  ['America/New_York', '2026-11-01T06:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
  ['Asia/Beirut', '2026-03-28T22:00Z'],
  ['Asia/Kathmandu', '2026-06-01T00:00Z'],
  ['Pacific/Apia', '2011-12-30T10:00Z'],
  ['UTC', '2026-06-01T00:00Z'],
] as const;

/** Returns a zone's clock, by Intl alone. */
function clockOf(timeZone: string): (at: number) => { day: number; minute: number } {
  const options = { timeZone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const format = new Intl.DateTimeFormat('en-US', options);
  return (at) => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
    return { day: DAYS.indexOf(parts['weekday']!), minute: Number(parts['hour']) * 60 + Number(parts['minute']) };
  };
}

test('awake hours follow the clock of any zone in every minute, and their end is the first minute outside', (t) => {
  assert(
    property(
      constantFrom(...ZONES),
      integer({ min: -60 * 60, max: 24 * 60 }),
      integer({ min: 0, max: 6 }),
      integer({ min: 0, max: 6 }),
      integer({ min: 0, max: 1_439 }),
      integer({ min: 1, max: 1_440 }),
      ([timeZone, change], offset, first, last, from, to) => {
        const time = (minute: number) => `${Math.floor(minute / 60)}:${String(minute % 60).padStart(2, '0')}`;
        const hours = { awakeHours: `${DAYS[first]}-${DAYS[last]} ${time(from)}-${time(to)}`, awakeTimeZone: timeZone };
        const clock = clockOf(timeZone);
        const includes = (day: number) => (day - first + 7) % 7 <= (last - first + 7) % 7;
        const isInside = (at: number) => {
          const { day, minute } = clock(at);
          if (includes(day) && minute >= from && (minute < to || to <= from)) return true;
          return to <= from && includes((day + 6) % 7) && minute < to;
        };
        const begin = Date.parse(change) + offset * MINUTE_MS;
        for (let at = begin; at < begin + 36 * 60 * MINUTE_MS; at += 7 * MINUTE_MS) {
          const until = awakeHoursUntil(hours, at);
          if ((until !== undefined) !== isInside(at)) return false;
          if (until === undefined || until === Infinity) continue;
          if (isInside(until) || !isInside(until - MINUTE_MS)) return false;
        }
        return true;
      },
    ),
    { numRuns: 12 },
  );
  t.pass();
});

test('adjacent awake hours end together, a full week never ends, and invalid hours are refused', (t) => {
  const friday = Date.parse('2026-06-05T20:00Z');
  const until = (awakeHours: string, awakeTimeZone = 'UTC') => awakeHoursUntil({ awakeHours, awakeTimeZone }, friday);
  t.is(until('Fri 18-24, sat 0:00–2:30'), Date.parse('2026-06-06T02:30Z'));
  t.is(until('22-21'), Date.parse('2026-06-05T21:00Z'));
  t.is(until('Fri-Sun 18-24', 'Asia/Tokyo'), undefined);
  t.is(until('0-24'), Infinity);
  t.is(until('20-20'), Infinity);
  t.is(until(''), undefined);
  t.is(until('0-24', 'Mars/Olympus'), undefined);
  for (const wrong of ['x', '18', 'Fri', 'Fry 1-2', 'Fri-Xyz 1-2', '24-2', '18-25', '1:60-2', '1-2,', '1-2;3-4'])
    t.is(parseAwakeHours(wrong), undefined, wrong);
  t.is(parseAwakeHours('1-2,'.repeat(60)), undefined, 'too long');
});

test('a list of ignored players names players exactly or by their beginning', (t) => {
  const isIgnored = ignoredIn('NPC_*, Camera, .Bed')!;
  for (const name of ['npc_1', 'NPC_', 'camera', '.bed']) t.true(isIgnored(name), name);
  for (const name of ['NPC', 'Camera2', 'Bed', 'Steve']) t.false(isIgnored(name), name);
  t.false(ignoredIn('')!('Steve'));
  for (const wrong of ['a*b', '*', 'a,,b', 'x y', 'a'.repeat(17), Array.from({ length: 17 }, () => 'a').join(',')])
    t.is(ignoredIn(wrong), undefined, wrong);
});
