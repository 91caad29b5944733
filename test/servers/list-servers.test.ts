import { type IncomingMessage, get } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import type { KeyPrincipal } from '../../src/http/principal.ts';
import type { WrittenReply } from '../../src/http/reply.ts';
import type { Served } from '../../src/http/serve.ts';
import { serverListOperations } from '../../src/servers/api/list-servers.ts';
import type { ServerNow } from '../../src/servers/server-now.ts';
import type { ServerPage, Servers } from '../../src/servers/servers.ts';
import { getServer, insertServer } from '../../src/servers/rows.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';

interface Page {
  servers: { id: string; state: string }[];
  next: string;
}

const idsOf = ({ servers }: Page) => servers.map(({ id }) => id);

/** Creates sleeping servers of `acc_test`, three in each ms. Returns their ids in the order of the list. */
async function make(it: ApiUnderTest, count: number): Promise<string[]> {
  await it.create('a0000');
  const model = (await getServer(it.store, 'a0000'))!;
  const ids = Array.from({ length: count }, (_, n) => `a${String(n).padStart(4, '0')}`);
  await it.store.write(async (tx) => {
    for (const [n, id] of ids.entries()) {
      const createdAt = model.createdAt + Math.floor(n / 3);
      if (n > 0) await insertServer(tx, { ...model, id, name: id, hostname: id, container: id, createdAt });
    }
  });
  return ids;
}

/** Counts the turns of the event loop until the signal aborts. */
async function turnsUntil(over: AbortSignal): Promise<number> {
  for (let turns = 0; ; turns++) {
    if (over.aborted) return turns;
    await turn();
  }
}

test('each page of servers continues after the previous one, even if its last server is deleted meanwhile', async (t) => {
  const it = await api(t);
  const ids = await make(it, 8);
  const page = async (after: string) => (await it.ok('GET', `/v1/servers?limit=4&after=${after}`)) as unknown as Page;
  const first = await page('');
  t.deepEqual(idsOf(first), ids.slice(0, 4));
  await it.ok('DELETE', `/v1/servers/${ids[3]}`);
  await it.reach(ids[3]!, 'gone');
  const second = await page(first.next);
  t.deepEqual(idsOf(second), ids.slice(4));
  // The second page was full, so it has a cursor for one more page.
  t.deepEqual(await page(second.next), { servers: [], next: '' });
});

test('a long list of servers is written in chunks with pauses for other work, and equals its pages combined', async (t) => {
  const it = await api(t);
  const ids = await make(it, 1_050);
  // This server has no files, so its start fails.
  await it.ok('POST', `/v1/servers/${ids[700]}:start`);
  await it.reach(ids[700]!, 'start_failed');
  const over = new AbortController();
  const turns = turnsUntil(over.signal);
  const whole = (await it.ok('GET', '/v1/servers')) as unknown as Page;
  over.abort();
  t.true((await turns) > 6);
  t.deepEqual(idsOf(whole), ids);
  t.is(whole.servers[700]?.state, 'start_failed');
  const paged: Page['servers'] = [];
  for (let next = ''; ;) {
    const page = (await it.ok('GET', `/v1/servers?limit=200&after=${next}`)) as unknown as Page;
    paged.push(...page.servers);
    next = page.next;
    if (next === '') break;
  }
  t.deepEqual(paged, whole.servers);
});

test('parallel lists of 10,000 servers yield after every 50 servers and are streamed in small pieces', async (t) => {
  const place = { createdAt: 0, id: 'a' };
  const page = (n: number) =>
    Array.from({ length: 200 }, (_, at) => ({ row: { id: `s${n * 200 + at}` } }) as ServerNow);
  // Each page resolves at once, as from a cache, so only the list itself can yield.
  async function* pagesByAccount(): AsyncGenerator<ServerPage> {
    for (let n = 0; n < 50; n++) yield { servers: page(n), next: n === 49 ? undefined : place };
  }
  let [since, most] = [0, 0];
  const serverView = ({ row: { id } }: ServerNow) => {
    most = Math.max(most, ++since);
    return { id };
  };
  const servers = { pagesByAccount, count: async () => 10_000 } as Partial<Servers> as Servers;
  const operation = serverListOperations({ servers, serverView })[0] as Served;
  const over = new AbortController();
  const others = (async () => {
    for (; !over.signal.aborted; await turn()) since = 0;
  })();
  const list = async (n: number) => {
    const principal = { kind: 'key', keyId: `k${n}`, accountId: `a${n}`, serverIds: null } as KeyPrincipal;
    const { signal } = new AbortController();
    const none = { params: {}, query: {}, body: async () => ({}), upload: () => t.fail() };
    const reply = (await operation.run(none, { principal, signal, lastEventId: '' })) as WrittenReply;
    let text = '';
    for await (const piece of reply.json as AsyncIterable<string>) {
      t.true(piece.length < 100_000);
      text += piece;
    }
    reply.sent();
    return idsOf(JSON.parse(text) as Page);
  };
  const lists = await Promise.all(Array.from({ length: 8 }, (_, n) => list(n)));
  over.abort();
  await others;
  for (const ids of lists)
    t.deepEqual(
      ids,
      Array.from({ length: 10_000 }, (_, n) => `s${n}`),
    );
  t.true(most >= 50 && most <= 4 * 50, `${most} in a turn`);
});

test('an abandoned list frees its slot, and a list whose servers can no longer be read is cut off', async (t) => {
  const it = await api(t);
  const ids = await make(it, 2_000);
  const begin = () =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const asked = get(`${it.origin}/v1/servers`, { headers: { 'x-api-key': it.key } }, resolve);
      asked.on('error', reject);
    });
  // Begin as many lists as may be sent at once.
  for (let n = 0; n < 4; n++) {
    const reply = await begin();
    t.is(reply.statusCode, 200);
    reply.destroy();
  }
  t.is(((await it.ok('GET', '/v1/servers')) as unknown as Page).servers.length, ids.length);
  const reply = await begin();
  await it.store.close();
  await t.throwsAsync(async () => {
    for await (const _ of reply) continue;
  });
});

test('a key limited to some servers finds them in a long list, and finished lists free their slots', async (t) => {
  const it = await api(t, { rate: { perSecond: 1_000, burst: 1_000 } });
  const ids = await make(it, 401);
  const { key } = await it.mint(['servers:read'], { serverIds: [ids[1]!, ids[400]!] });
  const lists = await Promise.all(Array.from({ length: 12 }, () => it.call('GET', '/v1/servers', { key })));
  for (const { status, json } of lists) {
    t.is(status, 200);
    t.deepEqual(idsOf(json as unknown as Page), [ids[1], ids[400]]);
  }
});

test('the server list rejects malformed cursors and limits', async (t) => {
  const { call } = await api(t);
  for (const after of ['2', 'a-b', '1-', '1-Ä', '9999999999999999-a', "1-a'; --"]) {
    const { status, reason, text } = await call('GET', `/v1/servers?after=${encodeURIComponent(after)}`);
    t.is(status, 400, after);
    t.is(reason, 'INVALID_FIELD');
    t.true(text.includes('must be `next` of the previous page'), text);
  }
  t.is((await call('GET', '/v1/servers?limit=99999999999')).status, 200, 'a larger limit is capped at the page size');
  for (const limit of ['', '9007199254740993', '1e400'])
    t.is((await call('GET', `/v1/servers?limit=${limit}`)).status, 200, limit);
  for (const limit of ['-1', '-1e400', '1.5', 'x'])
    t.is((await call('GET', `/v1/servers?limit=${limit}`)).status, 400, limit);
});
