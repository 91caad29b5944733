import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import { getServer, insertServer } from '../../src/servers/rows.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';

interface Page {
  servers: { id: string; state: string }[];
  next: string;
}

const idsOf = ({ servers }: Page) => servers.map(({ id }) => id);

/** Sleeping servers of `acc_test`, always three made in the same ms; as they are to be listed. */
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

/** How often others got their turn. */
async function turnsUntil(over: AbortSignal): Promise<number> {
  for (let turns = 0; ; turns++) {
    if (over.aborted) return turns;
    await turn();
  }
}

test('servers come in pages, each where the one before ended, though its last server is gone by then', async (t) => {
  const it = await api(t);
  const ids = await make(it, 8);
  const page = async (after: string) => (await it.ok('GET', `/v1/servers?limit=4&after=${after}`)) as unknown as Page;
  const first = await page('');
  t.deepEqual(idsOf(first), ids.slice(0, 4));
  await it.ok('DELETE', `/v1/servers/${ids[3]}`);
  await it.reach(ids[3]!, 'gone');
  const second = await page(first.next);
  t.deepEqual(idsOf(second), ids.slice(4));
  // It was full, so that there may be one more.
  t.deepEqual(await page(second.next), { servers: [], next: '' });
});

test('a long list is written in pieces, between which others get their turn, and is what its pages are', async (t) => {
  const it = await api(t);
  const ids = await make(it, 1_050);
  // It has no files.
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

test('a key for some servers finds them in a long list, and lists that were sent make room for others', async (t) => {
  const it = await api(t, { rate: { perSecond: 1_000, burst: 1_000 } });
  const ids = await make(it, 401);
  const { key } = await it.mint(['servers:read'], { serverIds: [ids[1]!, ids[400]!] });
  const lists = await Promise.all(Array.from({ length: 12 }, () => it.call('GET', '/v1/servers', { key })));
  for (const { status, json } of lists) {
    t.is(status, 200);
    t.deepEqual(idsOf(json as unknown as Page), [ids[1], ids[400]]);
  }
});

test('a page begins where the one before said, and nowhere else', async (t) => {
  const { call } = await api(t);
  for (const after of ['2', 'a-b', '1-', '1-Ä', '9999999999999999-a', "1-a'; --"]) {
    const { status, reason, text } = await call('GET', `/v1/servers?after=${encodeURIComponent(after)}`);
    t.is(status, 400, after);
    t.is(reason, 'INVALID_FIELD');
    t.true(text.includes('must be `next` of the page before'), text);
  }
  t.is((await call('GET', '/v1/servers?limit=99999999999')).status, 200, 'as many as there are on a page');
  for (const limit of ['-1', 'x']) t.is((await call('GET', `/v1/servers?limit=${limit}`)).status, 400, limit);
});
