import test from 'ava';
import { agoText, listText, sizeText, untilText } from '../../src/web/text.ts';

test('sizes have one unit, and a decimal if they are small', (t) => {
  const sizes = [0, 1, 1_023, 1_024, 3_500, 327_155_712, 1_288_490_189, '12000000000'];
  t.deepEqual(sizes.map(sizeText), ['0 bytes', '1 byte', '1023 bytes', '1 KB', '3.4 KB', '312 MB', '1.2 GB', '11 GB']);
});

test('time spans are shown in their largest whole unit', (t) => {
  const hour = 3_600_000;
  t.deepEqual(
    [0, 60_000, hour, 50 * hour].map((at) => agoText(0, at)),
    ['just now', '1 minute ago', '1 hour ago', '2 days ago'],
  );
  t.deepEqual(
    [-1, 59_999, 2 * hour, 24 * hour].map((at) => untilText(at, 0)),
    ['in a moment', 'in a moment', 'in 2 hours', 'in 1 day'],
  );
});

test('lists end with “and”', (t) => {
  t.deepEqual([[], ['a'], ['a', 'b'], ['a', 'b', 'c']].map(listText), ['', 'a', 'a and b', 'a, b and c']);
});
