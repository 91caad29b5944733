import test from 'ava';
import { OPERATIONS } from '../../src/reference.ts';
import { routesOf } from '../support/routes.ts';
import { siteRouter } from '../../src/web/site.ts';
import { mintToken } from '../../src/kernel/ids.ts';
import { openSite } from '../web/site.ts';

const called = OPERATIONS.filter(({ auth }) => auth !== 'none');

/** Not a valid slug, so that names derived from it differ from it. */
const MARK = 'M4rkOfSecrets';
const ADDRESS = '203.0.113.77';

/** Adds the mark to each text of a body. */
function marked(value: unknown): unknown {
  if (typeof value === 'string') return `${MARK} ${value}`;
  if (Array.isArray(value)) return value.map(marked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, marked(each)]));
}

const SECRETS = {
  password: MARK,
  currentPassword: MARK,
  newPassword: MARK,
  token: MARK,
  email: `${MARK}@example.com`,
  command: `login ${MARK}`,
  url: `https://discord.com/api/webhooks/1/${MARK}`,
  device_code: MARK,
  userCode: MARK,
};

test('no secret of a request appears in the log, whatever its route', async (t) => {
  const site = await openSite(t);
  await site.create('abc');
  const browser = await site.browser('usr_test');
  const [, session = ''] = browser.cookie.split('=');
  const unknown = mintToken('key');
  const app = mintToken('app');
  const query = `?token=${MARK}&x-api-key=${unknown}&path=${MARK}&tail=${MARK}`;
  const address = (path: string) =>
    path
      .replace('{id}', 'abc')
      .replace('{accountId}', 'acc_test')
      .replaceAll(/\{\w+\}|:\w+$/g, (part) => (part.startsWith('{') ? MARK : part));
  const headers = {
    authorization: `Bearer ${app}`,
    cookie: `${browser.cookie}; other=${MARK}`,
    'x-csrf-token': browser.csrf,
    'x-forwarded-for': ADDRESS,
    referer: `https://panel.example/?${MARK}`,
  };
  let calls = 0;
  const call = async (
    origin: string,
    method: string,
    path: string,
    options: { key: string; body?: string; type?: string },
  ) => {
    const { key, body, type } = options;
    calls++;
    const response = await fetch(origin + path, {
      method,
      redirect: 'manual',
      headers: { ...headers, 'x-api-key': key, ...(type && { 'content-type': type }) },
      ...(body !== undefined && method === 'POST' && { body }),
    });
    // Streams do not end without the client.
    await response.body?.cancel();
  };

  for (const { method, path, example } of called)
    for (const key of [site.key, unknown])
      for (const body of [{ ...(example as object), ...SECRETS }, marked({ ...(example as object), ...SECRETS })]) {
        if (path.endsWith('sign-out')) continue;
        await call(site.origin, method.toUpperCase(), address(path) + query, { key, body: JSON.stringify(body) });
      }
  const router = siteRouter({ ...site.services, openapi: () => ({}), calls: noCalls, takeToken: () => {} });
  for (const { method, path } of routesOf(router))
    await call(site.origin, method, path.replace(/:\w+/, MARK) + query, {
      key: site.key,
      body: new URLSearchParams({ ...SECRETS, csrf: browser.csrf }).toString(),
      type: 'application/x-www-form-urlencoded',
    });
  for (const path of ['/v1/public/device/start', '/v1/public/device/poll'])
    await call(site.origin, 'POST', path, { key: unknown, body: JSON.stringify({ ...SECRETS, client_id: MARK }) });
  for (const path of ['/metrics', '/openapi.json', '/nowhere', '/v1/public/checkout/stripe', `/v1/servers/${MARK}`])
    await call(site.origin, 'POST', path + query, { key: unknown, body: `{${MARK}` });

  t.true(calls > 150, `${calls} calls`);
  t.true(site.logged.length > calls / 2, `${site.logged.length} lines logged`);
  const text = site.logged.join('');
  for (const secret of [MARK, site.key, unknown, app, session, browser.csrf, ADDRESS]) {
    t.true(secret.length > 8);
    const line = site.logged.find((each) => each.includes(secret));
    t.false(text.includes(secret), line?.slice(0, 400));
  }
});

/** Handlers are not called, only their routes are listed. */
function noCalls(): never {
  throw new Error('nothing is called');
}
