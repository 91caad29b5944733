import test from 'ava';
import { ExpiringMap } from '../../proxy/expiring-map.ts';

test('a value expires after its own lifetime, counted from when it was last set', (t) => {
  let now = 0;
  const map = new ExpiringMap<number>(10, () => now);
  map.set('a', 1, 100);
  map.set('b', 2, 1_000);
  now = 99;
  t.deepEqual(map.all(), [
    { key: 'a', value: 1, forMs: 1 },
    { key: 'b', value: 2, forMs: 901 },
  ]);
  now = 100;
  t.deepEqual([map.get('a'), map.has('a'), map.get('b')], [undefined, false, 2]);
  map.set('b', 3, 50);
  map.set('c', 4, 10);
  map.delete('c');
  t.deepEqual(map.all(), [{ key: 'b', value: 3, forMs: 50 }]);
  now = 150;
  t.deepEqual(map.all(), []);
});

test('an expiring map keeps a limited number of entries and drops the least recently set', (t) => {
  const map = new ExpiringMap<true>(3, () => 0);
  map.set('kept', true, 1_000);
  for (let n = 0; n < 20; n++) {
    map.set(`other ${n}`, true, 1_000);
    map.set('kept', true, 1_000);
  }
  t.deepEqual(
    map.all().map(({ key }) => key),
    ['other 18', 'other 19', 'kept'],
  );
});
