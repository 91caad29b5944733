import test from 'ava';
import { dayStart, monthStart } from '../../src/kernel/calendar.ts';

const at = (instant: string) => Date.parse(instant);
const text = (instant: number) => new Date(instant).toISOString();

test('days and months begin at midnight UTC', (t) => {
  t.is(text(dayStart(at('2024-03-31T01:30:00+02:00'))), '2024-03-30T00:00:00.000Z');
  t.is(dayStart(at('2024-02-29T00:00:00Z')), at('2024-02-29T00:00:00Z'));
  t.is(text(monthStart(at('2024-03-01T00:30:00+01:00'))), '2024-02-01T00:00:00.000Z');
  t.is(monthStart(at('2024-02-01T00:00:00Z')), at('2024-02-01T00:00:00Z'));
});

test('monthStart counts months back across years, whatever the day of the month', (t) => {
  t.is(text(monthStart(at('2024-03-31T23:59:59Z'), 1)), '2024-02-01T00:00:00.000Z');
  t.is(text(monthStart(at('2024-01-15T00:00:00Z'), 1)), '2023-12-01T00:00:00.000Z');
  t.is(text(monthStart(at('2024-01-15T00:00:00Z'), 25)), '2021-12-01T00:00:00.000Z');
});
