import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { WebhookError, type WebhookOptions, createWebhook } from '../../src/insight/alerts/webhook.ts';
import { isPublicAddress } from '../../src/kernel/ip.ts';
import { receiver } from '../support/receiver.ts';

const V4 = (address: string): LookupAddress => ({ address, family: 4 });
const HERE = V4('127.0.0.1');
const URL_HERE = 'https://hooks.example/services/secret';

/** A webhook adapter that resolves every name to this machine and allows its address. */
async function local(t: ExecutionContext, options: Partial<WebhookOptions> = {}) {
  const it = await receiver(t);
  const { port, ca } = it;
  const webhook = createWebhook({
    isAllowed: (address) => address === HERE.address,
    port,
    ca,
    resolve: (_, callback) => callback(null, [HERE]),
    ...options,
  });
  const post = (url = URL_HERE) => webhook.post({ url, id: 'dlv_1', body: { content: 'hé' } });
  const fails = async (reason: WebhookError['reason'], url?: string) => {
    const error = await t.throwsAsync(post(url), { instanceOf: WebhookError });
    t.is(error.reason, reason, String(error.cause));
    t.false(error.message.includes('secret'));
  };
  return { it, webhook, post, fails };
}

test('a webhook call sends an id and a fixed user agent but no cookies, and returns the response status', async (t) => {
  const { it, post } = await local(t);
  t.deepEqual(await post(), { status: 204, retryAfterSeconds: null, text: '' });
  const [call] = it.calls;
  t.is(call?.path, '/services/secret');
  t.deepEqual(call?.json, { content: 'hé' });
  const { host, 'idempotency-key': id, 'user-agent': agent, 'content-type': type, cookie } = call?.headers ?? {};
  t.deepEqual(
    [host, id, agent, type, cookie],
    ['hooks.example', 'dlv_1', 'Dormouse-Webhook/1', 'application/json', undefined],
  );
  it.answer = (response) => void response.writeHead(429, { 'Retry-After': '7', 'Set-Cookie': 'a=b' }).end('slow down');
  t.deepEqual(await post(), { status: 429, retryAfterSeconds: 7, text: 'slow down' });
  await post();
  t.is(it.calls.at(-1)?.headers.cookie, undefined, 'no cookies are kept between calls');
});

test('a webhook URL that is not a plain public https URL is refused', async (t) => {
  const { it, fails } = await local(t, { isAllowed: isPublicAddress });
  for (const url of [
    'http://hooks.example/',
    'https://user:pw@hooks.example/',
    `https://hooks.example:${it.port}/`,
    'https://127.0.0.1/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::1]/',
    'https://2130706433/',
    'nonsense',
  ])
    await fails('refused', url);
  t.is(it.calls.length, 0);
});

test('a webhook host is resolved for each call and refused if any resolved address is not public', async (t) => {
  const answers: LookupAddress[][] = [[HERE], [V4('203.0.113.1'), HERE], [HERE, { address: '::1', family: 6 }], []];
  const { it, fails } = await local(t, {
    isAllowed: isPublicAddress,
    resolve: (_, callback) => callback(null, answers.shift() ?? []),
  });
  for (let n = 0; n < 4; n++) await fails('refused');
  t.is(it.calls.length, 0);
  t.is(answers.length, 0, 'every call resolves the name again');
});

test('a webhook call returns a redirect status without following it', async (t) => {
  const { it, post } = await local(t);
  it.answer = (response) => void response.writeHead(302, { Location: `https://127.0.0.1:${it.port}/inside` }).end();
  t.is((await post()).status, 302);
  t.is(it.calls.length, 1);
});

test('an endless webhook response is cut off, and a stalled one ends at the timeout', async (t) => {
  const { it, post, fails } = await local(t, { timeoutMs: 8_000 });
  const closed = Promise.withResolvers<number>();
  it.answer = (response) => {
    let bytes = 0;
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(1_024))) bytes += 1_024;
    };
    response.on('drain', more).on('close', () => closed.resolve(bytes));
    response.on('error', () => {});
    more();
  };
  t.is((await post()).status, 200);
  t.true((await closed.promise) < 16 * 1024 * 1024, 'the response was cut off');

  const silent = Promise.withResolvers<void>();
  it.answer = (response) => void response.writeHead(200).write('a', () => response.on('close', () => silent.resolve()));
  t.is((await post()).status, 200, 'the status has arrived');
  await silent.promise;

  it.answer = () => {};
  await fails('timeout');
});

test('oversized headers, a bad certificate, missing TLS and an unknown host all make a webhook unreachable', async (t) => {
  const { it, fails } = await local(t);
  it.answer = (response) => void response.writeHead(200, { 'x-long': 'x'.repeat(16_000) }).end();
  await fails('unreachable');
  await fails('unreachable', 'https://another.example/');

  const plain = createServer((socket) => void socket.on('error', () => {}).end('HTTP/1.1 200 OK\r\n\r\n'));
  plain.listen(0, '127.0.0.1');
  await once(plain, 'listening');
  t.teardown(() => plain.close());
  const noTls = await local(t, { port: (plain.address() as AddressInfo).port });
  await noTls.fails('unreachable');

  const unknown = await local(t, {
    resolve: (_, callback) => callback(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), []),
  });
  await unknown.fails('unreachable');
});

test('a webhook call times out if its DNS lookup never answers', async (t) => {
  const { fails } = await local(t, { timeoutMs: 200, resolve: () => {} });
  await fails('timeout');
});

test('with the production address check, webhooks cannot call localhost or link-local addresses', async (t) => {
  const webhook = createWebhook({ isAllowed: isPublicAddress });
  for (const url of ['https://localhost/', 'https://127.0.0.1/', 'https://169.254.169.254/'])
    await t.throwsAsync(webhook.post({ url, id: 'dlv_1', body: {} }), { instanceOf: WebhookError, message: /public/ });
});
