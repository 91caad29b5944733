import test from 'ava';
import { type LiveAnswer, LiveStatus, type LiveStatusOptions, jsonOf } from '../../proxy/live-status.ts';
import { parseStatus } from '../../proxy/ping.ts';

const JSON_TEXT = '{"players":{"online":3},"description":"─"}';

function bench(options: Partial<LiveStatusOptions> = {}) {
  const it = { now: 0, asked: 0 };
  const limits = { maxEntries: 100, maxEntriesPerGame: 100, maxBytes: 1_000_000, maxAsked: 100 };
  const live = new LiveStatus({ freshMs: 100, staleMs: 1_000, ...limits, now: () => it.now, ...options });
  const ask = async (text = JSON_TEXT) => (it.asked++, parseStatus(text));
  const fail = async () => (it.asked++, Promise.reject(new Error('busy')));
  return Object.assign(it, { live, ask, fail });
}

const isAnswer = (answer: LiveAnswer | undefined) => answer?.playersOnline === 3 && jsonOf(answer) === JSON_TEXT;

test('live status answers are shared by concurrent requests, reused while stale, and limited in number', async (t) => {
  const it = bench({ maxEntries: 2 });
  const { live, ask, fail } = it;
  const answers = await Promise.all([live.get('a', '', ask), live.get('a', '', ask), live.get('a', '', fail)]);
  t.deepEqual(answers.map(isAnswer), [true, true, true]);
  t.is(it.asked, 1);
  it.now += 150;
  t.true(isAnswer(await live.get('a', '', fail)));
  t.true(isAnswer(await live.get('a', '', fail)), 'the lack of an answer is remembered as well');
  t.is(it.asked, 2);
  it.now += 1_000;
  t.is(await live.get('a', '', fail), undefined);
  await live.get('b', '', ask);
  await live.get('c', '', ask);
  t.is(it.asked, 5);
  it.now += 50;
  t.true(isAnswer(await live.get('a', '', ask)), 'forgotten, hence asked for again');
  t.is(it.asked, 6);
});

test('many client variants of one game use only that game’s share of the live status cache', async (t) => {
  const { live, ask } = bench({ maxEntriesPerGame: 4 });
  await live.get('quiet', '', ask);
  const ofOne = live.bytes;
  for (let n = 0; n < 50; n++) await live.get('asked', String(n), ask);
  t.is(live.bytes, 5 * ofOne);
});

test('live status answers too old to be used are dropped', async (t) => {
  const it = bench();
  for (let n = 0; n < 50; n++) await it.live.get(`game ${n % 5}`, String(n), it.ask);
  const one = it.live.bytes / 50;
  it.now += 1_000;
  await it.live.get('another', '', it.ask);
  t.is(it.live.bytes, one);
});

test('the live status cache stays within its size limit, however long the answers are', async (t) => {
  const it = bench({ maxBytes: 300_000 });
  const long = JSON.stringify({ description: '─'.repeat(30_000) });
  for (let n = 0; n < 20; n++) await it.live.get(`game ${n}`, '', () => it.ask(long));
  t.true(it.live.bytes <= 300_000, String(it.live.bytes));
  t.true(it.live.bytes > 200_000);
});

test('concurrent status requests to one game are limited across all client variants', async (t) => {
  const it = bench({ maxAsked: 3 });
  const { promise, resolve } = Promise.withResolvers<ReturnType<typeof parseStatus>>();
  const slow = async () => (it.asked++, promise);
  const asking = Array.from({ length: 20 }, (_, n) => it.live.get('a', String(n), slow));
  t.true(isAnswer(await it.live.get('b', '', it.ask)), 'others are asked');
  t.is(it.asked, 4);
  resolve(parseStatus(JSON_TEXT));
  t.is((await Promise.all(asking)).filter(isAnswer).length, 3);
  t.true(isAnswer(await it.live.get('a', '19', it.ask)), 'and it is again');
});
