import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import type { FirstRun } from '../../src/accounts/first-run.ts';
import { startService } from '../support/service.ts';

test('the sign-in page names the first-run file until the first sign-in, with its path only for local visitors', async (t) => {
  const service = await startService(t, { TRUSTED_PROXIES: '127.0.0.1' });
  const file = join(service.dataDir, 'first-run.json');
  const { email, password, baseUrl: origin } = JSON.parse(await readFile(file, 'utf8')) as FirstRun;
  const before = await fetch(`${service.baseUrl}/sign-in`);
  const text = await before.text();
  t.true(text.includes(`<code>${file}</code>`), text);
  t.false(text.includes(password));
  for (const [address, isNear] of [
    ['127.0.0.1', true],
    ['192.168.1.7', false],
    ['203.0.113.7', false],
    ['10.0.0.1, 203.0.113.7', false],
  ] as const) {
    const seen = await fetch(`${service.baseUrl}/sign-in`, { headers: { 'x-forwarded-for': address } });
    const page = await seen.text();
    t.is(page.includes(service.dataDir), isNear, `${address}: ${page}`);
    t.true(page.includes('first-run.json'), 'a remote visitor may be the owner');
  }
  const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(text) ?? [];
  const signedIn = await fetch(`${service.baseUrl}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: before.headers.get('set-cookie')?.split(';')[0] ?? '', origin },
    body: new URLSearchParams({ csrf, email, password, next: '' }),
  });
  t.is(signedIn.headers.get('location'), '/servers', await signedIn.text());
  t.notRegex(await (await fetch(`${service.baseUrl}/sign-in`)).text(), /first-run/);
  const { apiKey } = JSON.parse(await readFile(file, 'utf8')) as FirstRun;
  const headers = { 'x-api-key': apiKey };
  const created = await fetch(`${service.baseUrl}/v1/servers`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Lobby', ramMb: 512 }),
  });
  t.is(created.status, 200, 'the key of the file still works after the sign-in');
  const cookie = signedIn.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ');
  const servers = await (await fetch(`${service.baseUrl}/servers`, { headers: { cookie } })).text();
  const [, action = ''] = /action="([^"]*dismiss[^"]*)"/.exec(servers) ?? [];
  const [, token = ''] = /name="csrf" value="([^"]+)"/.exec(servers) ?? [];
  const dismissed = await fetch(new URL(action, service.baseUrl), {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie, origin },
    body: new URLSearchParams({ csrf: token }),
  });
  t.is(dismissed.headers.get('location'), '/servers', await dismissed.text());
  await t.throwsAsync(readFile(file, 'utf8'), { code: 'ENOENT' });
});
