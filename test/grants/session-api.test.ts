import test from 'ava';
import { POLL, APP, ORIGIN, device, errorOf } from './device.ts';

test('a device is approved only by a signed-in user with a CSRF token and our origin, and guesses are throttled', async (t) => {
  const it = await device(t);
  const browser = await it.browser('usr_test');
  // The cookie of an https origin has another name.
  const cookie = browser.cookie.replace(/^sid=/, '__Host-sid=');
  const full = { cookie, 'x-csrf-token': browser.csrf, origin: ORIGIN };
  const decide = (verb: string, userCode: string, headers: Record<string, string> = full) =>
    it.post(`/v1/session/device:${verb}`, { userCode }, headers);
  const { code, userCode } = await it.begin();
  const shown = await decide('lookUp', userCode.toLowerCase());
  t.deepEqual(shown.json, {
    userCode,
    client: { clientId: APP, name: 'Launcher', homepage: 'https://launcher.example' },
    scopes: ['servers:list'],
    ip: '127.0.0.1',
    userAgent: 'node',
    createdAt: new Date(it.clock.now()).toISOString(),
    expiresAt: new Date(it.clock.now() + 600_000).toISOString(),
  });
  const { cookie: _, ...noSession } = full;
  const { 'x-csrf-token': __, ...noToken } = full;
  for (const headers of [
    noSession,
    noToken,
    { ...full, 'x-csrf-token': 'x' },
    { ...full, origin: 'https://evil.example' },
  ]) {
    for (const verb of ['approve', 'deny']) {
      const refused = await decide(verb, userCode, headers);
      t.true(refused.status === 401 || refused.status === 403, refused.text);
    }
  }
  t.is(errorOf(t, await it.post(POLL, { device_code: code })), '400 authorization_pending');
  t.is((await decide('approve', userCode)).status, 200);
  t.is((await decide('approve', userCode)).reason, 'GRANT_NOT_FOUND');
  t.is((await it.post(POLL, { device_code: code })).status, 200);

  const declined = await it.begin({});
  t.is((await decide('lookUp', declined.userCode)).json['client'], null);
  t.is((await decide('deny', declined.userCode)).status, 200);
  t.is(errorOf(t, await it.post(POLL, { device_code: declined.code })), '400 access_denied');

  const expired = await it.begin();
  const right = await it.begin();
  await it.clock.advance(599_000);
  const later = await it.begin();
  await it.clock.advance(1_000);
  const answers = [
    await decide('lookUp', 'BCDF-GHJK'),
    await decide('approve', expired.userCode),
    await decide('deny', right.userCode),
    await decide('lookUp', userCode),
    await decide('lookUp', 'nonsense'),
  ];
  t.is(new Set(answers.map(({ text }) => text)).size, 1, 'unknown, expired and used codes get the same answer');
  t.is(answers[0]?.reason, 'GRANT_NOT_FOUND');
  const throttled = await decide('approve', later.userCode);
  t.is(throttled.reason, 'TOO_MANY_ATTEMPTS', 'even for a correct code');
  t.is(throttled.status, 429);
});
