import test from 'ava';
import { createCache } from '../../src/kernel/cache.ts';

/** Counts reads. */
function reader<T>() {
  const read = { count: 0, of: (value: T) => async () => (read.count++, value) };
  return read;
}

test('a cached value lives for its own TTL and is read again if the clock goes back', async (t) => {
  const cache = createCache<number>({ most: 10, ttlMs: (value) => value });
  const read = reader<number>();
  t.is(await cache.get('a', 0, read.of(100)), 100);
  t.is(await cache.get('a', 99, read.of(200)), 100);
  t.is(await cache.get('a', 100, read.of(200)), 200);
  t.is(await cache.get('a', -100, read.of(0)), 0, 'the clock was set back');
  t.is(await cache.get('a', -100, read.of(5)), 5, 'a TTL of 0 caches no value');
  t.is(read.count, 4);
});

test('concurrent reads of a cache key share one load, and a failure reaches all of them and is not cached', async (t) => {
  const cache = createCache<string>({ most: 10, ttlMs: () => 1_000 });
  const held = Promise.withResolvers<string>();
  const never = () => Promise.reject(new Error('asked twice'));
  const waiting = [cache.get('a', 0, () => held.promise), cache.get('a', 5_000, never)];
  t.is(cache.inFlight(), 1);
  const failures = waiting.map((each) => t.throwsAsync(each, { message: 'failed' }));
  held.reject(new Error('failed'));
  await Promise.all(failures);
  t.is(cache.inFlight(), 0);
  t.is(await cache.get('a', 0, async () => 'again'), 'again');
});

test('the cache evicts the least recently used key beyond its limit', async (t) => {
  const cache = createCache<string>({ most: 2, ttlMs: () => Infinity });
  const read = reader<string>();
  for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) await cache.get(key, 0, read.of(key));
  t.is(read.count, 4, 'c evicted b, and a stayed cached');
});

test('another version of a cache key is read anew, even while the old version is loading', async (t) => {
  const cache = createCache<string>({ most: 2, ttlMs: () => Infinity });
  const old = Promise.withResolvers<string>();
  const first = cache.get('a', 0, () => old.promise, '1');
  t.is(await cache.get('a', 0, async () => 'new', '2'), 'new');
  old.resolve('old');
  t.is(await first, 'old');
  t.is(await cache.get('a', 0, async () => 'newer', '2'), 'new', 'the old version did not replace the new one');
});

test('forget removes matching cached values and repeats loads in progress', async (t) => {
  const cache = createCache<string>({ most: 10, ttlMs: () => Infinity });
  await cache.get('a', 0, async () => 'kept');
  await cache.get('b', 0, async () => 'gone');
  const held = Promise.withResolvers<string>();
  const reads = [held.promise, Promise.resolve('after')];
  const reading = cache.get('c', 0, () => reads.shift() ?? Promise.reject(new Error('read too often')));
  cache.forget((value) => value === 'gone');
  const joined = cache.get('c', 0, () => Promise.reject(new Error('not joined')));
  held.resolve('before');
  t.deepEqual(await Promise.all([reading, joined]), ['after', 'after']);
  t.is(await cache.get('a', 0, async () => 'read'), 'kept');
  t.is(await cache.get('b', 0, async () => 'read'), 'read');
});

test('a cache key dropped during its load is not cached', async (t) => {
  const cache = createCache<string>({ most: 10, ttlMs: () => Infinity });
  const held = Promise.withResolvers<string>();
  const reading = cache.get('a', 0, () => held.promise);
  cache.drop('a');
  held.resolve('old');
  t.is(await reading, 'old');
  t.is(await cache.get('a', 0, async () => 'new'), 'new');
  cache.drop('a');
  t.is(await cache.get('a', 0, async () => 'newer'), 'newer');
});
