import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import test from 'ava';
import {
  deleteSamplesBefore,
  insertSample,
  listSamples,
  oldestSampleAt,
  thinSamples,
} from '../../src/insight/metric-rows.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { getKeyByHash } from '../../src/access/key-rows.ts';
import { getUser, hasUsers, users } from '../../src/accounts/rows.ts';
import { insertDiagnostic, listDiagnostics } from '../../src/servers/diagnostics.ts';
import * as rows from '../../src/servers/rows.ts';
import { openDataSources } from '../../src/store/data-source.ts';
import * as leases from '../../src/store/lease-rows.ts';
import { getMeta, setMeta } from '../../src/store/meta.ts';
import { type Store, openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { isHere } from '../support/needs.ts';
import { freshStore, serverRow } from '../support/store.ts';
import { onEach, onEachStore, put, refused, postgresDatabase } from './on-each.ts';

const metaKeys = async (store: Store): Promise<string[]> =>
  (await store.query<{ key: string }>('SELECT "key" FROM "meta" ORDER BY "key"')).map(({ key }) => key);

onEach('migrations create exactly the tables of the entities, and remove them again', async (t, url) => {
  const sources = await openDataSources(url, TABLES);
  t.teardown(() => sources.close());
  const { writer } = sources;
  const missing = async () => (await writer.driver.createSchemaBuilder().log()).upQueries.map(({ query }) => query);
  t.true((await missing()).some((query) => query.includes('servers')));
  const done = await writer.runMigrations({ transaction: 'all' });
  t.deepEqual(await missing(), []);
  for (const _ of done) await writer.undoLastMigration({ transaction: 'all' });
  const runner = writer.createQueryRunner();
  for (const { tableName } of writer.entityMetadatas) t.false(await runner.hasTable(tableName), tableName);
  await runner.release();
  await writer.runMigrations({ transaction: 'all' });
  t.deepEqual(await missing(), []);
});

onEach('a database of a newer version is refused, and a current one is opened unchanged', async (t, url) => {
  const first = await freshStore(t, url);
  await first.migrate();
  await first.write((tx) => tx.run('INSERT INTO "migrations" ("timestamp", "name") VALUES ($1, $2)', [2e12, 'Later']));
  await first.close();
  await refused(t, openStore(url, TABLES), 'STORE_NEWER');
  const sources = await openDataSources(url, TABLES);
  await sources.writer.query(`DELETE FROM "migrations" WHERE "name" = 'Later'`);
  await sources.close();
  const again = await openStore(url, TABLES);
  t.teardown(() => again.close());
  t.true(await hasUsers(again));
});

onEachStore('errors of queries omit their parameters', async (t, store) => {
  const sql = 'SELECT * FROM "nowhere" WHERE "a" = $1';
  for (const attempt of [store.query(sql, ['hidden']), store.write((tx) => tx.query(sql, ['hidden']))]) {
    const error = await t.throwsAsync(attempt, { message: /nowhere/ });
    t.notRegex(inspect(error, { depth: 9 }), /hidden/);
  }
});

onEachStore('meta values can be set, replaced and read', async (t, store) => {
  t.is(await getMeta(store, 'a'), undefined);
  await put(store, 'a', '1');
  await put(store, 'a', '2');
  t.is(await getMeta(store, 'a'), '2');
});

onEachStore(
  'writes run in order, each atomic; a failure affects only itself, and readers see commits only',
  async (t, store) => {
    await put(store, 'balance', '0');
    const order: number[] = [];
    const watching = new AbortController();
    const uneven: unknown[] = [];
    const reader = (async () => {
      while (!watching.signal.aborted) {
        const [row] = await store.query<{ balance: string; notes: number }>(
          `SELECT "value" AS "balance", (SELECT COUNT(*) FROM "meta") - 1 AS "notes" FROM "meta" WHERE "key" = 'balance'`,
        );
        if (Number(row?.balance) !== row?.notes) uneven.push(row);
      }
    })();
    const writes = Array.from({ length: 200 }, (_, n) =>
      store.write(async (tx) => {
        order.push(n);
        await setMeta(tx, 'balance', String(Number(await getMeta(tx, 'balance')) + 1));
        if (n % 10 === 3) throw new Error(`no ${n}`);
        await setMeta(tx, `note ${n}`, '');
        if (n % 10 === 7) await tx.query('SELECT nonsense');
        return n;
      }),
    );
    const results = await Promise.allSettled(writes);
    watching.abort();
    await reader;
    t.deepEqual(
      order,
      Array.from({ length: 200 }, (_, n) => n),
    );
    t.deepEqual(
      results.map(({ status }) => status),
      order.map((n) => (n % 10 === 3 || n % 10 === 7 ? 'rejected' : 'fulfilled')),
    );
    t.is((results[13] as PromiseRejectedResult).reason.message, 'no 13');
    t.is(await getMeta(store, 'balance'), '160');
    t.is((await metaKeys(store)).length, 161);
    t.deepEqual(uneven, []);
  },
);

onEachStore('a write that resolves is committed, even if its work ignored an error', async (t, store) => {
  const [outcome] = await Promise.allSettled([
    store.write(async (tx) => {
      await setMeta(tx, 'before', '');
      await tx.query('SELECT nonsense').catch(() => {});
      await setMeta(tx, 'after', '').catch(() => {});
    }),
    put(store, 'beside'),
  ]);
  t.deepEqual(await metaKeys(store), outcome.status === 'fulfilled' ? ['after', 'before', 'beside'] : ['beside']);
});

onEachStore("TypeORM's manager takes part in the transaction", async (t, store) => {
  const attempt = store.write(async (tx) => {
    const user = { id: 'usr_x', emailVerified: false, passwordHash: '', operator: false, createdAt: 0 };
    await tx.manager.save(users, { ...user, email: 'x', accountId: 'acc_test' });
    await tx.manager.transaction((inner) => inner.delete(users, { id: 'usr_test' }));
    throw new Error('changed my mind');
  });
  await t.throwsAsync(attempt, { message: 'changed my mind' });
  t.is(await getUser(store, 'usr_x'), undefined);
  t.not(await getUser(store, 'usr_test'), undefined);
});

onEachStore(
  'writes refuse an undefined condition, a number beyond 2^53 and a transaction kept too long',
  async (t, store) => {
    await store.write((tx) => rows.insertServer(tx, serverRow('amber')));
    const none = undefined as unknown as string;
    await t.throwsAsync(
      store.write((tx) => tx.manager.findOneBy(rows.servers, { id: none })),
      { message: /undefined/ },
    );
    await t.throwsAsync(
      store.write((tx) => tx.manager.update(rows.servers, { id: none }, { motd: 'x' })),
      { message: /undefined/ },
    );
    await t.throwsAsync(getKeyByHash(store, none), { instanceOf: RangeError });
    for (const bad of [2 ** 53, -(2 ** 53), Number.NaN, Infinity]) {
      await t.throwsAsync(
        store.write((tx) => rows.patchServer(tx, 'amber', { updatedAt: bad })),
        { instanceOf: RangeError },
      );
    }
    t.is((await rows.getServer(store, 'amber'))?.motd, '');
    const kept = await store.write(async (tx) => tx);
    await t.throwsAsync(setMeta(kept, 'late', ''), { message: /await is missing/ });
    t.throws(() => kept.manager, { message: /await is missing/ });
  },
);

onEachStore('closing finishes queued writes and refuses new ones', async (t, store) => {
  const queued = Array.from({ length: 5 }, (_, n) => put(store, `n${n}`));
  const closing = store.close();
  await refused(t, put(store, 'late'), 'STORE_CLOSED');
  await Promise.all([...queued, closing]);
  await t.notThrowsAsync(store.close());
});

onEachStore('a fence stops a whole commit, and only while it is up', async (t, store) => {
  let up = true;
  store.fence(async (tx) => {
    await getMeta(tx, 'x');
    if (up) throw new StatusError('UNAVAILABLE', 'FENCED', 'no');
  });
  await Promise.all([refused(t, put(store, 'a'), 'FENCED'), refused(t, put(store, 'b'), 'FENCED')]);
  t.deepEqual(await metaKeys(store), []);
  up = false;
  await put(store, 'a');
  t.deepEqual(await metaKeys(store), ['a']);
});

onEachStore('a lease is taken only from the expected holder and held until then', async (t, store) => {
  const lease = { name: 'x', hostname: 'h', scope: '', pid: 1, startedAt: '', expiresAt: 5 };
  const take = (token: string, from?: string, beat = lease.expiresAt) => {
    const held = from === undefined ? undefined : { ...lease, token: from, expiresAt: beat };
    return store.write((tx) => leases.takeLease(tx, { ...lease, token }, held));
  };
  const holds = (token: string) => store.write((tx) => leases.holdsLease(tx, store.dialect, 'x', token));
  t.true(await take('a'));
  t.false(await take('b'));
  t.false(await take('b', 'z'));
  t.true(await holds('a'));
  t.false(await take('b', 'a', 4), 'renewed since it was read');
  t.true(await take('b', 'a'));
  t.deepEqual([await holds('a'), await holds('b')], [false, true]);
  await store.write((tx) => leases.renewLease(tx, 'x', 'a', 9));
  t.deepEqual(await leases.getLease(store, 'x'), { ...lease, token: 'b' });
  await store.write((tx) => leases.renewLease(tx, 'x', 'b', 9));
  t.is((await leases.getLease(store, 'x'))?.expiresAt, 9);
  // Each renewal stores a new value, even if the clock does not advance.
  for (const beat of [10, 11]) {
    await store.write((tx) => leases.renewLease(tx, 'x', 'b', 9));
    t.is((await leases.getLease(store, 'x'))?.expiresAt, beat);
  }
  await store.write((tx) => leases.releaseLease(tx, 'x', 'b'));
  t.is(await leases.getLease(store, 'x'), undefined);
});

test.runIf(isHere('postgres'))(
  'postgres: a lost connection fails its pending calls with UNAVAILABLE, and later calls reconnect',
  async (t) => {
    const store = await freshStore(t, await postgresDatabase());
    const cutAll = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                  WHERE datname = current_database() AND pid <> pg_backend_pid()`;
    const cut = store.write(async (tx) => {
      await setMeta(tx, 'lost', '');
      await store.query(cutAll);
      await setMeta(tx, 'lost too', '');
    });
    const behind = put(store, 'behind');
    t.is((await refused(t, cut, 'STORE_UNAVAILABLE')).code, 'UNAVAILABLE');
    await behind;
    t.deepEqual(await metaKeys(store), ['behind']);
    // Cut all connections again, with no call in flight.
    await store.write((tx) => tx.query(cutAll));
    await put(store, 'later');
    // Each pooled connection notices its end at its next call, so at most as many calls fail as there are connections.
    let keys: string[] | undefined;
    for (let call = 0; call < 5 && keys === undefined; call++) keys = await metaKeys(store).catch(() => undefined);
    t.deepEqual(keys, ['behind', 'later']);
  },
);

test('sqlite: the file is private, its settings are durable, and the reader cannot write', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'store-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'store.db');
  const store = await freshStore(t, `sqlite:${file}`);
  t.is((await stat(file)).mode & 0o777, 0o600);
  t.is((await stat(`${file}-wal`)).mode & 0o777, 0o600);
  const settings = await store.write(async (tx) => {
    const names = ['journal_mode', 'synchronous', 'foreign_keys', 'busy_timeout', 'trusted_schema'];
    const found = await Promise.all(names.map((name) => tx.query<Record<string, unknown>>(`PRAGMA ${name}`)));
    return found.map(([row]) => Object.values(row ?? {})[0]);
  });
  t.deepEqual(settings, ['wal', 2, 1, 5_000, 0]);
  const error = await refused(t, store.query('DELETE FROM "users"'), 'STORE_UNAVAILABLE');
  t.regex(String(error.cause), /readonly/);
});

test('sqlite: a full disk refuses the write with UNAVAILABLE and keeps the stored data', async (t) => {
  const store = await freshStore(t);
  await put(store, 'kept');
  await store.write((tx) => tx.query('PRAGMA max_page_count = 60'));
  const big = () => put(store, 'big', 'x'.repeat(1_000_000));
  const error = await refused(t, big(), 'DISK_FULL');
  t.is(error.code, 'UNAVAILABLE');
  // In one commit with others: no acknowledged write of theirs is lost.
  const outcomes = await Promise.allSettled([put(store, 'a'), big(), put(store, 'b')]);
  t.is(outcomes[1].status, 'rejected');
  const told = ['a', 'b'].filter((_, index) => outcomes[index * 2]?.status === 'fulfilled');
  t.deepEqual(await metaKeys(store), [...told, 'kept'].toSorted());
  await store.write((tx) => tx.query('PRAGMA max_page_count = 1000000'));
  await big();
  t.true((await metaKeys(store)).includes('big'));
});

test('sqlite: a write waits for another process that holds the database, and then fails with UNAVAILABLE', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'store-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const url = `sqlite:${join(directory, 'store.db')}`;
  const store = await freshStore(t, url);
  const other = await openStore(url, TABLES);
  t.teardown(() => other.close());
  const latch = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const held = other.write(async (tx) => {
    await setMeta(tx, 'theirs', '');
    began.resolve();
    await latch.promise;
  });
  await began.promise;
  await refused(t, put(store, 'ours'), 'STORE_UNAVAILABLE');
  t.deepEqual(await metaKeys(store), []);
  const patient = put(store, 'ours');
  latch.resolve();
  await Promise.all([held, patient]);
  t.deepEqual(await metaKeys(store), ['ours', 'theirs']);
});

test('sqlite: an in-memory store leaves no file behind and shares no data', async (t) => {
  const [one, two] = await Promise.all([openStore('sqlite::memory:', TABLES), openStore('sqlite::memory:', TABLES)]);
  await put(one, 'a');
  t.deepEqual(await metaKeys(two), []);
  const [row] = await one.query<{ file: string }>('PRAGMA database_list');
  await Promise.all([one.close(), two.close()]);
  await t.throwsAsync(stat(row?.file ?? ''), { code: 'ENOENT' });
});

onEachStore('metrics and failures are read in order as stored, and deleted with their server', async (t, store) => {
  await store.write((tx) => rows.insertServer(tx, serverRow('abc')));
  const failure = {
    at: 1_800_000_000_000,
    kind: 'crash' as const,
    code: 'x',
    summary: 's',
    suggestion: 'g',
    insights: '[]',
  };
  await store.write(async (tx) => {
    for (const at of [3, 1, 2]) await insertSample(tx, 'abc', { at, figures: [-1, 0.5, 0, 2.25, 20, 1] });
    await insertSample(tx, 'gone', { at: 1, figures: [0, 0, 0, 0, 0, 0] });
    for (const evidence of ['a', 'b']) await insertDiagnostic(tx, 'abc', { ...failure, evidence });
  });
  const figures = [-1, 0.5, 0, 2.25, 20, 1];
  t.deepEqual(await listSamples(store, 'abc', 2, 10), [2, 3].map((at) => ({ at, figures })) as never);
  t.deepEqual(await listSamples(store, 'abc', 0, 1), [{ at: 3, figures }] as never);
  t.deepEqual(await listSamples(store, 'gone', 0, 10), []);
  await store.write((tx) => deleteSamplesBefore(tx, 3));
  t.is((await listSamples(store, 'abc', 0, 10)).length, 1);
  t.deepEqual(await listDiagnostics(store, 'abc'), [
    { ...failure, serverId: 'abc', seq: 2, evidence: 'b' },
    { ...failure, serverId: 'abc', seq: 1, evidence: 'a' },
  ]);
  await store.write((tx) => rows.deleteServer(tx, 'abc'));
  t.deepEqual([await listSamples(store, 'abc', 0, 10), await listDiagnostics(store, 'abc')], [[], []]);
});

onEachStore(
  'thinned metrics keep the first sample of each slot of each server, only between two instants',
  async (t, store) => {
    const figures = [1, 2, 3, 4, 5, 6] as const;
    t.is(await oldestSampleAt(store), undefined);
    await store.write(async (tx) => {
      for (const id of ['abc', 'def']) await rows.insertServer(tx, serverRow(id));
      for (const at of [11, 12, 19, 25, 26, 31, 32]) await insertSample(tx, 'abc', { at, figures });
      for (const at of [12, 20, 21]) await insertSample(tx, 'def', { at, figures });
    });
    t.is(await oldestSampleAt(store), 11);
    await store.write((tx) => thinSamples(tx, { from: 0, to: 30, slotMs: 10 }));
    const timesOf = async (id: string) => (await listSamples(store, id, 0, 10)).map(({ at }) => at);
    t.deepEqual(await timesOf('abc'), [11, 25, 31, 32]);
    t.deepEqual(await timesOf('def'), [12, 20]);
  },
);
