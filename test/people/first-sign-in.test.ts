import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import type { FirstRun } from '../../src/people/first-run.ts';
import { startService } from '../support/service.ts';

test('until somebody has signed in, the page says where the first password lies, and never the password', async (t) => {
  const service = await startService(t);
  const file = join(service.dataDir, 'first-run.json');
  const { email, password, baseUrl: origin } = JSON.parse(await readFile(file, 'utf8')) as FirstRun;
  const before = await fetch(`${service.baseUrl}/sign-in`);
  const text = await before.text();
  t.true(text.includes(`<code>${file}</code>`), text);
  t.false(text.includes(password));
  const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(text) ?? [];
  const signedIn = await fetch(`${service.baseUrl}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: before.headers.get('set-cookie')?.split(';')[0] ?? '', origin },
    body: new URLSearchParams({ csrf, email, password, next: '' }),
  });
  t.is(signedIn.headers.get('location'), '/servers', await signedIn.text());
  t.notRegex(await (await fetch(`${service.baseUrl}/sign-in`)).text(), /first-run/);
});
