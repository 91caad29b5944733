import type { Clock } from '../../src/kernel/clock.ts';
import type { SessionPrincipal } from '../../src/http/principal.ts';
import { createAccessChanges } from '../../src/http/access-changes.ts';
import { StatusError } from '../../src/kernel/status.ts';
import test, { type ExecutionContext } from 'ava';
import { APP_SCOPES, FULL_SCOPES, KEY_SCOPES, isScope } from '../../src/http/scopes.ts';
import { mintToken } from '../../src/kernel/ids.ts';
import { authenticate, mintKey, revokeOwnKey } from '../../src/access/keys.ts';
import { getKeyByHash, insertKey, listKeys } from '../../src/access/key-rows.ts';
import type { Store } from '../../src/store/store.ts';
import { fakeClock } from '../fakes/clock.ts';
import { addPerson, freshStore } from '../support/store.ts';

test('app scopes and key scopes are disjoint, and the command line gets all key scopes except operator', (t) => {
  t.deepEqual(
    KEY_SCOPES.filter((scope) => APP_SCOPES.includes(scope)),
    [],
  );
  t.deepEqual(
    KEY_SCOPES.filter((scope) => !FULL_SCOPES.includes(scope)),
    ['operator'],
  );
  t.true(isScope('files:read'));
  for (const bad of ['', 'files', 'toString', '__proto__']) t.false(isScope(bad), bad);
});

async function withKey(t: ExecutionContext, fields: { expiresAt?: number; operator?: boolean } = {}) {
  const clock = fakeClock(1_000_000);
  const store = await freshStore(t);
  await addPerson(store, 'mia', fields.operator);
  const wanted = {
    name: 'k',
    userId: 'usr_mia',
    accountId: 'acc_mia',
    createdAt: 0,
    expiresAt: fields.expiresAt ?? null,
  };
  const { key, row } = mintKey({ ...wanted, scopes: ['servers:read', 'operator'] });
  await store.write((tx) => insertKey(tx, row));
  return { clock, store, key, row };
}

/** Returns false if the account has no such active key. */
async function revokeKey(store: Store, clock: Clock, accountId: string, id: string): Promise<boolean> {
  const user = { kind: 'session', userId: 'usr_mia', accountId } as SessionPrincipal;
  try {
    await revokeOwnKey({ store, clock, accessChanges: createAccessChanges() }, user, id);
    return true;
  } catch (error) {
    if (error instanceof StatusError && error.reason === 'KEY_NOT_FOUND') return false;
    throw error;
  }
}

test('a valid API key resolves to its principal, and any other string is rejected', async (t) => {
  const { clock, store, key, row } = await withKey(t);
  const principal = await authenticate(store, clock, key);
  t.like(principal, { kind: 'key', keyId: row.id, userId: 'usr_mia', accountId: 'acc_mia', operator: false });
  t.deepEqual([...(principal?.scopes ?? [])], ['servers:read', 'operator']);
  t.is(row.last4, key.slice(-4));
  t.false(JSON.stringify(row).includes(key.slice(4, -4)));
  for (const bad of ['', `${key}, ${key}`, mintToken('key'), mintToken('app'), mintToken('device'), row.hash]) {
    t.is(await authenticate(store, clock, bad), undefined);
  }
  const operator = await withKey(t, { operator: true });
  t.true((await authenticate(operator.store, clock, operator.key))?.operator);
});

test('a malformed API key is rejected without a query, and a valid one is queried once', async (t) => {
  const { clock, store, key } = await withKey(t);
  let queries = 0;
  const counting: Store = { ...store, query: (sql, parameters) => (queries++, store.query(sql, parameters)) };
  await authenticate(counting, clock, key.slice(0, -1));
  await authenticate(counting, clock, `${key.slice(0, -1)}${key.endsWith('0') ? 1 : 0}`);
  t.is(queries, 0);
  for (let call = 0; call < 5; call++) t.truthy(await authenticate(counting, clock, key));
  t.is(queries, 1);
});

test('an API key expires on time, even if it is cached', async (t) => {
  const { clock, store, key } = await withKey(t, { expiresAt: 1_010_000 });
  t.truthy(await authenticate(store, clock, key));
  await clock.advance(9_999);
  t.truthy(await authenticate(store, clock, key));
  await clock.advance(1);
  t.is(await authenticate(store, clock, key), undefined);
});

test('a revoked API key is rejected as soon as the revocation is confirmed, even during a lookup', async (t) => {
  const { clock, store, key, row } = await withKey(t);
  t.truthy(await authenticate(store, clock, key));
  t.false(await revokeKey(store, clock, 'acc_test', row.id));
  t.truthy(await authenticate(store, clock, key));
  t.true(await revokeKey(store, clock, 'acc_mia', row.id));
  t.is(await authenticate(store, clock, key), undefined);
  t.false(await revokeKey(store, clock, 'acc_mia', row.id));
  t.is((await listKeys(store, 'acc_mia'))[0]?.revokedAt, 1_000_000);

  const slow = await withKey(t);
  const read = Promise.withResolvers<void>();
  const slowly: Store = {
    ...slow.store,
    async query<Row>(sql: string, parameters?: unknown[]) {
      const rows = await slow.store.query<Row>(sql, parameters);
      await read.promise;
      return rows;
    },
  };
  const calling = authenticate(slowly, slow.clock, slow.key);
  await revokeKey(slowly, slow.clock, 'acc_mia', slow.row.id);
  read.resolve();
  t.is(await calling, undefined);
  t.is(await authenticate(slowly, slow.clock, slow.key), undefined);
});

test('an API key reflects account changes within 30 seconds, and its last use is stored once a minute', async (t) => {
  const { clock, store, key, row } = await withKey(t, { operator: true });
  const lastUse = async () => (await getKeyByHash(store, row.hash))?.lastUsedAt;
  const call = async () => {
    const principal = await authenticate(store, clock, key);
    // Wait for the write that records the use.
    await store.write(async () => {});
    return principal;
  };
  await call();
  t.is(await lastUse(), 1_000_000);
  await store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [false, 'usr_mia']));
  await clock.advance(29_999);
  t.true((await call())?.operator);
  await clock.advance(1);
  t.false((await call())?.operator);
  await clock.advance(29_999);
  await call();
  t.is(await lastUse(), 1_000_000);
  await clock.advance(1);
  await call();
  t.is(await lastUse(), 1_060_000);
});
