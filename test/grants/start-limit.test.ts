import { BlockList } from 'node:net';
import test from 'ava';
import { START, APP, device, errorOf } from './device.ts';

test('the 21st grant start within an hour gets 429 with Retry-After, and other addresses are not affected', async (t) => {
  const trusted = new BlockList();
  trusted.addAddress('127.0.0.1', 'ipv4');
  const it = await device(t, { trusted, starts: 20 });
  const from = (address: string, body: unknown = { client_id: APP }) =>
    it.post(START, body, { 'x-forwarded-for': address });
  for (let nth = 0; nth < 19; nth++) t.is((await from('203.0.113.1')).status, 200);
  t.is((await from('203.0.113.1', { client_id: 'app_unknown' })).status, 400, 'a failed start counts too');
  await it.clock.advance(600_000);
  for (const body of [{ client_id: APP }, {}, 'nonsense']) {
    const refused = await from('203.0.113.1', body);
    t.is(errorOf(t, refused), '429 rate_limited');
    t.is(refused.headers.get('retry-after'), '3000');
  }
  t.is((await from('203.0.113.2')).status, 200);
  for (let nth = 0; nth < 20; nth++) t.is((await from(`2001:db8:0:1::${nth + 1}`)).status, 200);
  t.is((await from('2001:db8:0:1:ffff::1')).status, 429);
  t.is((await from('2001:db8:0:2::1')).status, 200);
  await it.clock.advance(3_000_000);
  t.is((await from('203.0.113.1')).status, 200);
});

test('a forged X-Forwarded-For does not bypass the limit of grant starts', async (t) => {
  const it = await device(t, { starts: 3 });
  const statuses: number[] = [];
  for (let nth = 0; nth < 5; nth++) {
    const headers = { 'x-forwarded-for': `203.0.113.${nth}`, forwarded: `for=203.0.113.${nth}` };
    statuses.push((await it.post(START, { client_id: APP }, headers)).status);
  }
  t.deepEqual(statuses, [200, 200, 200, 429, 429]);
});

test('the JSON API and the OAuth endpoint share the limit of grant starts', async (t) => {
  const it = await device(t, { starts: 2 });
  t.is((await it.post(START, { client_id: APP })).status, 200);
  t.is((await it.form('/oauth/device_authorization', { client_id: APP })).status, 200);
  t.is((await it.form('/oauth/device_authorization', { client_id: APP })).status, 429);
  t.is((await it.post(START, { client_id: APP })).status, 429);
});
