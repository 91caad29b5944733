import test from 'ava';
import { retryAfterMs } from '../../src/kernel/registry/ask.ts';

const after = (headers: Record<string, string>) => retryAfterMs(new Headers(headers));

test('retryAfterMs reads seconds, a date by the sender’s clock or Modrinth’s header, up to ten minutes', (t) => {
  const date = 'Wed, 21 Oct 2015 07:28:00 GMT';
  t.is(after({ 'retry-after': '30' }), 30_000);
  t.is(after({ 'retry-after': '0' }), 0);
  t.is(after({ 'x-ratelimit-reset': '12' }), 12_000);
  t.is(after({ 'retry-after': '5', 'x-ratelimit-reset': '12' }), 5_000);
  t.is(after({ 'retry-after': 'Wed, 21 Oct 2015 07:29:30 GMT', date }), 90_000);
  t.is(after({ 'retry-after': 'Wed, 21 Oct 2015 07:00:00 GMT', date }), 0, 'a date in the past');
  t.is(after({ 'retry-after': '86400' }), 600_000);
  t.is(after({ 'retry-after': 'Fri, 21 Oct 2039 07:28:00 GMT', date }), 600_000);
});

test('retryAfterMs returns 0 for missing or invalid headers', (t) => {
  for (const text of ['', 'soon', '-5', '1e9', '9999999', 'Wed, 21 Oct 2015 07:29:30 GMT'])
    t.is(after({ 'retry-after': text }), 0, text);
  t.is(after({}), 0);
});
