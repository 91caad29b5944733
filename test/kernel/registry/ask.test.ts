import test from 'ava';
import { RegistryAsk } from '../../../src/kernel/registry/ask.ts';
import type { StatusError } from '../../../src/kernel/status.ts';
import { type FakeClock, fakeClock } from '../../fakes/clock.ts';

const API = 'https://api.example.com/v1/things';

interface Asked {
  url: string;
  key: string | null;
  signal: AbortSignal;
}

type Answer = Response | Error | 'never';

/** A registry that sends these answers in order, then 200s. `asked` lists its requests. */
function registry(answers: readonly Answer[] = []) {
  const clock = fakeClock(1_000_000);
  const left = [...answers];
  const asked: Asked[] = [];
  const fetch = (async (url: URL, init: { headers: Record<string, string>; signal: AbortSignal }) => {
    asked.push({ url: url.href, key: init.headers['x-api-key'] ?? null, signal: init.signal });
    const answer = left.shift() ?? new Response('fine');
    if (answer instanceof Error) throw answer;
    if (answer !== 'never') return answer;
    return await new Promise<Response>((_, reject) =>
      init.signal.addEventListener('abort', () => reject(init.signal.reason as Error)),
    );
  }) as unknown as typeof globalThis.fetch;
  const it = new RegistryAsk({
    name: 'Things',
    baseUrl: 'https://api.example.com/v1',
    fileHosts: ['files.example.net'],
    headers: { 'user-agent': 'dormouse', 'x-api-key': 'secret' },
    goneReason: 'GONE',
    clock,
    fetch,
  });
  return Object.assign(it, { clock, asked });
}

const ask = (it: RegistryAsk, url = API, signal?: AbortSignal) =>
  it.ask(new URL(url), signal, { accept: 'application/json' });

/** Advances the clock until the work settles, and returns its result or StatusError. */
async function inTime<T>(clock: FakeClock, work: Promise<T>, mostMs = 60_000): Promise<T | StatusError> {
  const state = { isOver: false };
  const ended = work.catch((error: unknown) => error as StatusError).finally(() => (state.isOver = true));
  for (let ms = 0; ms < mostMs && !state.isOver; ms += 250) await clock.advance(250);
  return await ended;
}

const status = (code: number, headers: Record<string, string> = {}) => new Response(null, { status: code, headers });

test('a registry request returns 2xx or 404, fails at once on a refusal, and retries server errors', async (t) => {
  t.is((await ask(registry([status(204)]))).status, 204);
  t.is((await ask(registry([status(404)]))).status, 404);
  const refused = registry([status(400)]);
  t.is((await t.throwsAsync<StatusError>(ask(refused))).message, 'Things refused the request with status 400.');
  t.is(refused.asked.length, 1);

  const shaky = registry([status(503), new TypeError('cut off')]);
  t.is(((await inTime(shaky.clock, ask(shaky))) as Response).status, 200);
  t.is(shaky.asked.length, 3);

  const down = registry(Array.from({ length: 10 }, () => status(500)));
  t.like(await inTime(down.clock, ask(down)), { code: 'UNAVAILABLE', reason: 'REGISTRY_UNAVAILABLE' });
  t.is(down.asked.length, 5);
});

test('a 429 from a registry pauses all requests to it for its Retry-After', async (t) => {
  const it = registry([status(429, { 'retry-after': '10' })]);
  const first = inTime(it.clock, ask(it));
  await it.clock.advance(1_000);
  const second = inTime(it.clock, ask(it));
  t.is(it.asked.length, 1);
  await it.clock.advance(8_000);
  t.is(it.asked.length, 1, 'no request is sent during the pause');
  await Promise.all([first, second]);
  t.is(it.asked.length, 3);

  const away = registry([status(429, { 'retry-after': '120' })]);
  const told = (await inTime(away.clock, ask(away))) as StatusError;
  t.deepEqual([told.reason, told.options.retryAfterSeconds], ['REGISTRY_UNAVAILABLE', 120]);
  t.like(await inTime(away.clock, ask(away)), { reason: 'REGISTRY_UNAVAILABLE' }, 'a later request fails at once');
  t.is(away.asked.length, 1);
});

test('registry redirects are few and lead only to known file hosts, which do not receive the API key', async (t) => {
  const to = (location: string) => status(302, { location });
  const file = registry([to('https://files.example.net/a')]);
  t.is(await (await ask(file)).text(), 'fine');
  t.deepEqual(
    file.asked.map(({ url, key }) => [url, key]),
    [
      [API, 'secret'],
      ['https://files.example.net/a', null],
    ],
  );
  for (const location of [
    'https://elsewhere.example.org/a',
    'http://files.example.net/a',
    'https://files.example.net:8443/a',
    'https://user@files.example.net/a',
    'http://169.254.169.254/latest',
    'http://[',
  ]) {
    const it = registry([to(location)]);
    t.is((await t.throwsAsync<StatusError>(ask(it))).reason, 'DOWNLOAD_REFUSED', location);
    t.is(it.asked.length, 1, location);
  }
  const circle = registry(Array.from({ length: 9 }, () => to('/again')));
  t.regex((await t.throwsAsync<StatusError>(ask(circle))).message, /redirects too often/);
  t.is(circle.asked.length, 4);
});

test('a registry gets at most 16 requests at once, and an aborted one makes room and keeps its own error', async (t) => {
  const it = registry(Array.from({ length: 16 }, () => 'never' as const));
  const gone = new AbortController();
  const stuck = Array.from({ length: 16 }, () => ask(it, API, gone.signal).catch((error: Error) => error.message));
  const next = ask(it);
  await it.clock.advance(1_000);
  t.is(it.asked.length, 16);
  gone.abort(new Error('the caller went away'));
  t.deepEqual(new Set(await Promise.all(stuck)), new Set(['the caller went away']));
  t.is((await next).status, 200);
  t.is(it.asked.length, 17);
});

test('a registry client spares the last third of the rate limit until it resets', async (t) => {
  const counted = (left: number) =>
    status(204, { 'x-ratelimit-limit': '300', 'x-ratelimit-remaining': String(left), 'x-ratelimit-reset': '40' });
  const it = registry([counted(101), counted(99)]);
  await ask(it);
  t.is(it.sparesMs(), 0);
  await ask(it);
  t.is(it.sparesMs(), 40_000);
  await it.clock.advance(40_000);
  t.is(it.sparesMs(), 0);
});
