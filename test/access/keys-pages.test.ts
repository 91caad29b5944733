import test, { type ExecutionContext } from 'ava';
import { insertKey } from '../../src/access/key-rows.ts';
import { mintKey } from '../../src/access/keys.ts';
import { DAY_MS } from '../../src/kernel/units.ts';
import { type PanelUnderTest, openPanel } from '../support/panel.ts';

const AT = '/profile/keys';

async function withKeys(t: ExecutionContext, count: number): Promise<PanelUnderTest> {
  const it = await openPanel(t);
  await it.create('castle', { name: 'Old Castle' });
  const now = it.clock.now();
  // Replaces the key that the panel has for its own calls.
  await it.store.write((tx) => tx.run('UPDATE "api_keys" SET "revokedAt" = 1', []));
  await it.store.write(async (tx) => {
    for (let nth = 1; nth <= count; nth++) {
      const { row } = mintKey({
        userId: 'usr_test',
        accountId: 'acc_test',
        name: `script ${nth}`,
        scopes: nth === 2 ? ['backups'] : ['servers:read'],
        createdAt: now + nth,
        expiresAt: nth === 3 ? now + 5 * DAY_MS : null,
        serverIds: nth === 4 ? ['castle'] : null,
      });
      // Random last characters may be those of a search.
      await insertKey(tx, { ...row, last4: 'wxyz', lastUsedAt: nth === 5 ? now : null });
    }
  });
  return it;
}

/** Returns the numbers of the keys that a page shows, in order. */
function shown(text: string): number[] {
  return [...text.matchAll(/<bdi>script (\d+)<\/bdi>/g)].map(([, nth]) => Number(nth));
}

test('a long list of API keys is searched, sorted and paged', async (t) => {
  const it = await withKeys(t, 25);
  const list = async (query: string) => shown((await it.get(`${AT}?${query}`)).text);
  const newest = Array.from({ length: 25 }, (_, nth) => 25 - nth);
  t.deepEqual(await list(''), newest.slice(0, 20));
  t.deepEqual(await list('from=20'), newest.slice(20));
  t.regex((await it.get(AT)).text, /1–20 of 25/);
  t.deepEqual(await list('sort=name'), newest.toReversed().slice(0, 20));
  t.is((await list('sort=used'))[0], 5);
  t.is((await list('sort=expiry'))[0], 3);
  t.deepEqual(await list('sort=none&q=SCRIPT+25'), [25]);
  t.deepEqual(await list('q=backups'), [2]);
  t.deepEqual(await list('q=old+castle'), [4]);
  t.regex((await it.get(`${AT}?q=zzz`)).text, /No key matches\. <a href="\/profile\/keys">Show all/);
});

test('a short list of API keys has no search', async (t) => {
  const it = await withKeys(t, 3);
  const { text } = await it.get(AT);
  t.notRegex(text, /role="search"/);
  t.deepEqual(shown(text), [3, 2, 1]);
});
