import { listServerDisks, saveDiskUsage, saveQuotaOverride } from '../../src/disk/rows.ts';
import { countMachines, findMachine, listMachines } from '../../src/operators/machine-list.ts';
import { deleteSuspension, listSuspensions, saveSuspension } from '../../src/operators/suspension-rows.ts';
import { insertGrant } from '../../src/grants/rows.ts';
import {
  type ApiKeyRow,
  getKeyByHash,
  insertKey,
  listKeys,
  markKeyRevoked,
  touchKey,
} from '../../src/access/key-rows.ts';
import { getUser, getUserByEmail, insertUser } from '../../src/accounts/rows.ts';
import * as rows from '../../src/servers/rows.ts';
import {
  type NewTransition,
  listServersNotAtRest,
  listStatesSince,
  listTransitions,
  saveSnapshot,
} from '../../src/servers/machine-rows.ts';
import { setMeta } from '../../src/store/meta.ts';
import { type Store } from '../../src/store/store.ts';
import { addPerson, serverRow } from '../support/store.ts';
import { onEachStore, refused } from './on-each.ts';

const metaKeys = async (store: Store): Promise<string[]> =>
  (await store.query<{ key: string }>('SELECT "key" FROM "meta" ORDER BY "key"')).map(({ key }) => key);

onEachStore('servers are stored, found, listed, patched and removed', async (t, store) => {
  const row = serverRow('amber', {
    motd: '§aHällo 🐭 \'";--\\ \n\u0001\u2028',
    properties: { 'level-seed': '42', motd: '"' },
    coldStartsMs: [1, 2],
    createdAt: Number.MAX_SAFE_INTEGER,
    lastStatus: 'x'.repeat(100_000),
  });
  await store.write((tx) => rows.insertServer(tx, row));
  const waiting = serverRow('birch', { waitingRoom: true });
  await store.write((tx) => rows.insertServer(tx, waiting));
  t.deepEqual(await rows.getServer(store, 'amber'), row);
  t.deepEqual(await rows.getServer(store, 'birch'), waiting);
  t.is(await rows.getServer(store, 'Amber'), undefined);
  t.deepEqual(
    (await rows.listServersByAccount(store, 'acc_test', 10)).map(({ id }) => id),
    ['birch', 'amber'],
  );
  t.deepEqual(await rows.listServersByAccount(store, 'acc_other', 10), []);
  const [first] = await rows.listServersByAccount(store, 'acc_test', 1);
  t.is(first?.id, 'birch');
  t.deepEqual(await rows.listServersByAccount(store, 'acc_test', 10, first), [row]);
  t.is(await rows.countServersOfAccount(store, 'acc_test'), 2);
  await store.write((tx) => rows.patchServer(tx, 'amber', { ramMb: 4_096, properties: {}, updatedAt: 5 }));
  await store.write((tx) => rows.patchServer(tx, 'amber', {}));
  t.deepEqual(await rows.getServer(store, 'amber'), { ...row, ramMb: 4_096, properties: {}, updatedAt: 5 });
  await refused(
    t,
    store.write((tx) => rows.patchServer(tx, 'cedar', { motd: '' })),
    'SERVER_NOT_FOUND',
  );
  const routes = await rows.listRoutes(store);
  t.is(routes.length, 2);
  const {
    id,
    name,
    hostname,
    networkPort,
    state,
    type,
    motd,
    version,
    properties,
    waitingRoom,
    clientVersions,
    lastStatus,
    createdAt,
  } = waiting;
  const birch = {
    id,
    name,
    hostname,
    networkPort,
    state,
    type,
    motd,
    version,
    properties,
    waitingRoom,
    clientVersions,
    lastStatus,
    createdAt,
  };
  t.deepEqual(
    routes.find((route) => route.id === 'birch'),
    birch,
  );
  await store.write((tx) => rows.deleteServer(tx, 'amber'));
  await store.write((tx) => rows.deleteServer(tx, 'amber'));
  t.is(await rows.getServer(store, 'amber'), undefined);
});

onEachStore('a server with a taken id or host name is refused with ALREADY_EXISTS', async (t, store) => {
  await store.write((tx) => rows.insertServer(tx, serverRow('amber')));
  for (const other of [serverRow('amber', { hostname: 'x' }), serverRow('birch', { hostname: 'amber' })]) {
    const attempt = store.write(async (tx) => {
      await setMeta(tx, 'beside', 'it');
      await rows.insertServer(tx, other);
    });
    t.is((await refused(t, attempt, 'SERVER_EXISTS')).code, 'ALREADY_EXISTS');
  }
  t.deepEqual(await metaKeys(store), []);
  t.is((await rows.listRoutes(store)).length, 1);
  await t.throwsAsync(store.write((tx) => rows.insertServer(tx, serverRow('cedar', { accountId: 'acc_none' }))));
});

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, n) => first + n);

onEachStore(
  'a snapshot is stored with its transitions; the newest 200 stay, and at most 19 older ones',
  async (t, store) => {
    await store.write(async (tx) => {
      for (const id of ['amber', 'birch']) await rows.insertServer(tx, serverRow(id));
    });
    const step = (at: number): NewTransition => ({ at, event: 'START', from: 'a', to: 'b', cause: '{}' });
    const save = (id: string, count: number, state = 'running') =>
      store.write((tx) =>
        saveSnapshot(tx, id, {
          snapshot: `{"n":${count}}`,
          state,
          updatedAt: 7,
          transitions: Array.from({ length: count }, (_, index) => step(index)),
        }),
      );
    await Promise.all(Array.from({ length: 30 }, () => save('amber', 1)));
    t.deepEqual(
      (await listTransitions(store, 'amber')).map(({ seq }) => seq),
      Array.from({ length: 30 }, (_, i) => 30 - i),
    );
    await save('amber', 190);
    await save('birch', 1, 'starting');
    const kept = await listTransitions(store, 'amber', 1_000);
    t.is(kept.length, 200);
    t.deepEqual(kept[0], { serverId: 'amber', seq: 220, ...step(189) });
    t.is(kept.at(-1)?.seq, 21);
    t.is((await listTransitions(store, 'amber')).length, 50);
    await save('amber', 250);
    t.deepEqual(
      (await listTransitions(store, 'amber', 1_000)).map(({ seq }) => seq).filter((seq) => seq <= 270),
      [],
    );
    const counts: number[] = [];
    for (let n = 0; n < 30; n++) {
      await save('amber', 1);
      counts.push((await listTransitions(store, 'amber', 1_000)).length);
    }
    t.deepEqual(counts, [...range(201, 209), ...range(200, 219), 200]);
    t.is((await listTransitions(store, 'birch')).length, 1);
    const row = await rows.getServer(store, 'amber');
    t.is(row?.snapshot, '{"n":1}');
    t.is(row?.updatedAt, 7);
    t.deepEqual(await listServersNotAtRest(store), ['amber', 'birch']);
    await save('birch', 0, 'start_failed');
    t.deepEqual(await listServersNotAtRest(store), ['amber', 'birch'], 'a failed server may need clearing');
    await save('birch', 0, 'hibernated');
    t.deepEqual(await listServersNotAtRest(store), ['amber']);
    await save('amber', 0, 'deleting');
    t.deepEqual(await listServersNotAtRest(store), ['amber']);
    await store.write((tx) => rows.deleteServer(tx, 'amber'));
    t.deepEqual(await listTransitions(store, 'amber'), []);
    await refused(t, save('amber', 1), 'SERVER_NOT_FOUND');
  },
);

onEachStore('users and keys are read as they were stored', async (t, store) => {
  await addPerson(store, 'Mia', true);
  const [account] = await store.query('SELECT * FROM "accounts" WHERE "id" = $1', ['acc_Mia']);
  t.deepEqual(account, { id: 'acc_Mia', name: 'Mia', createdAt: 0 });
  const mia = await getUserByEmail(store, 'MIA@Example.org');
  t.like(mia, { id: 'usr_Mia', email: 'mia@example.org', operator: true, emailVerified: true, createdAt: 0 });
  t.deepEqual(await getUser(store, 'usr_Mia'), mia);
  const twin = { ...mia, id: 'usr_twin', email: 'mia@EXAMPLE.org' } as NonNullable<typeof mia>;
  await refused(
    t,
    store.write((tx) => insertUser(tx, twin)),
    'USER_EXISTS',
  );

  const key: ApiKeyRow = {
    id: 'key_1',
    hash: 'h1',
    name: 'laptop',
    serverIds: null,
    last4: 'abcd',
    userId: 'usr_Mia',
    accountId: 'acc_Mia',
    scopes: ['servers:read', 'console'],
    createdAt: 1,
    lastUsedAt: null,
    expiresAt: null,
    revokedAt: null,
  };
  await store.write((tx) => insertKey(tx, key));
  await store.write((tx) => insertKey(tx, { ...key, id: 'key_2', hash: 'h2', userId: 'usr_test', createdAt: 2 }));
  t.deepEqual(await getKeyByHash(store, 'h1'), { ...key, operator: true });
  t.is((await getKeyByHash(store, 'h2'))?.operator, false);
  t.is(await getKeyByHash(store, 'h3'), undefined);
  const used: (number | null | undefined)[] = [];
  for (const at of [100_000, 159_999, 160_000]) {
    await store.write((tx) => touchKey(tx, 'key_1', at));
    used.push((await getKeyByHash(store, 'h1'))?.lastUsedAt);
  }
  t.deepEqual(used, [100_000, 100_000, 160_000]);
  t.false(await store.write((tx) => markKeyRevoked(tx, 'acc_test', 'key_1', 5)));
  t.true(await store.write((tx) => markKeyRevoked(tx, 'acc_Mia', 'key_1', 5)));
  t.false(await store.write((tx) => markKeyRevoked(tx, 'acc_Mia', 'key_1', 6)));
  t.deepEqual(
    (await listKeys(store, 'acc_Mia')).map(({ id, revokedAt }) => [id, revokedAt]),
    [
      ['key_1', 5],
      ['key_2', null],
    ],
  );
});

onEachStore('disk usage and suspensions are stored, and deleted with their server', async (t, store) => {
  await store.write(async (tx) => {
    for (const id of ['abc', 'def']) await rows.insertServer(tx, serverRow(id));
    await saveDiskUsage(tx, 'abc', { realBytes: 5e12, logicalBytes: 2 ** 53 - 1, measuredAt: 1 });
    await saveQuotaOverride(tx, 'abc', 7);
    await saveDiskUsage(tx, 'abc', { realBytes: 6e12, logicalBytes: 0, measuredAt: 2 });
    await saveQuotaOverride(tx, 'def', 8);
    await saveDiskUsage(tx, 'gone', { realBytes: 1, logicalBytes: 1, measuredAt: 1 });
    await saveSuspension(tx, { serverId: 'abc', reason: 'first', userId: 'usr_test', at: 1 });
    await saveSuspension(tx, { serverId: 'abc', reason: 'second', userId: 'usr_test', at: 2 });
  });
  const disks = (await listServerDisks(store)).toSorted((a, b) => a.quotaOverrideMb - b.quotaOverrideMb);
  t.deepEqual(disks, [
    { serverId: 'abc', quotaOverrideMb: 7, realBytes: 6e12, logicalBytes: 0, measuredAt: 2 },
    { serverId: 'def', quotaOverrideMb: 8, realBytes: null, logicalBytes: null, measuredAt: null },
  ]);
  t.deepEqual(await listSuspensions(store), [{ serverId: 'abc', reason: 'second', userId: 'usr_test', at: 2 }]);
  await store.write(async (tx) => {
    t.false(await deleteSuspension(tx, 'def'));
    await rows.deleteServer(tx, 'abc');
  });
  t.deepEqual(await listSuspensions(store), []);
  t.deepEqual(
    (await listServerDisks(store)).map(({ serverId }) => serverId),
    ['def'],
  );
});

onEachStore('machines are listed by urgency, filtered, paged and counted', async (t, store) => {
  const grant = { deviceHash: 'd', userHmac: 'u', clientId: null, userId: null, ip: '', userAgent: '', snapshot: '{}' };
  const waits = { id: 'grt_1', state: 'authorization_pending', createdAt: 40, expiresAt: 900, changedAt: 40 };
  const cleared = '{"value":{"startFailed":"cleared"},"context":{}}';
  await store.write(async (tx) => {
    await insertGrant(tx, { ...grant, ...waits, history: '[]' });
    for (const [id, state, snapshot] of [
      ['b-asleep', 'hibernated', '{}'],
      ['a-asleep', 'hibernated', '{}'],
      ['runs', 'running', '{}'],
      ['failed', 'start_failed', cleared],
      // Text that looks like the mark of rest does not count as rest.
      ['clearing', 'start_failed', JSON.stringify({ value: { startFailed: 'clearing' }, context: { raw: cleared } })],
      ['stops', 'stopping', '{}'],
    ] as const)
      await rows.insertServer(tx, serverRow(id, { state, snapshot, name: `Name of ${id}` }));
    const stop = { event: 'STOP', from: 'running', to: 'stopping', cause: '{}' };
    const transitions = [
      { ...stop, at: 500 },
      { ...stop, at: 700, from: 'stopping' },
    ];
    await saveSnapshot(tx, 'stops', { snapshot: '{}', state: 'stopping', updatedAt: 700, transitions });
  });
  const all = { kind: '', state: '', search: '', now: 800 } as const;
  const ids = async (filter: object) =>
    (await listMachines(store, { ...all, ...filter }, undefined, 50)).map(({ id }) => id);
  const order = ['stops', 'clearing', 'failed', 'runs', 'grt_1', 'a-asleep', 'b-asleep'];
  t.deepEqual(await ids({}), order);
  t.deepEqual(await ids({ now: 900 }), [...order.filter((id) => id !== 'grt_1'), 'grt_1'], 'the grant has expired');
  t.deepEqual(await ids({ stuckSince: 500 }), ['stops', 'grt_1']);
  t.deepEqual(await ids({ stuckSince: 499 }), ['grt_1']);
  t.deepEqual(await ids({ state: 'start_failed', kind: 'server', search: 'NAME OF F' }), ['failed']);
  t.deepEqual(await ids({ search: '%' }), []);
  t.deepEqual(await ids({ kind: 'grant', search: 'command' }), ['grt_1']);

  const [stops, clearing] = await listMachines(store, all, undefined, 2);
  t.like(stops, { kind: 'server', accountId: 'acc_test', since: 500, urgency: 0, snapshot: '{}', history: '[]' });
  t.deepEqual(
    (await listMachines(store, all, clearing, 2)).map(({ id }) => id),
    ['failed', 'runs'],
  );
  const counts = await countMachines(store, { ...all, state: 'running', kind: 'server' });
  t.deepEqual(Object.fromEntries(counts.map(({ state, count }) => [state, count])), {
    hibernated: 2,
    running: 1,
    start_failed: 2,
    stopping: 1,
  });
  t.like(await findMachine(store, 'a-asleep', 800), { since: 1_000, state: 'hibernated' });
  t.like(await findMachine(store, 'grt_1', 800), { kind: 'grant', name: 'The command line', since: 40 });
  t.is(await findMachine(store, 'none', 800), undefined);
});

onEachStore(
  'the states of several servers begin with the one at the instant, and leave out phases',
  async (t, store) => {
    const entered: [id: string, at: number, from: string, to: string][] = [
      ['amber', 1, 'hibernated', 'starting'],
      ['amber', 2, 'starting', 'starting'],
      ['amber', 5, 'starting', 'running'],
      ['birch', 7, 'hibernated', 'starting'],
      ['cedar', 4, 'hibernated', 'starting'],
    ];
    for (const id of ['amber', 'birch', 'cedar', 'dogwood']) {
      await store.write((tx) => rows.insertServer(tx, serverRow(id)));
      const of = entered.filter(([server]) => server === id);
      const transitions = of.map(([, at, from, to]): NewTransition => ({ at, event: 'E', from, to, cause: '{}' }));
      await store.write((tx) => saveSnapshot(tx, id, { snapshot: '', state: 'running', updatedAt: 9, transitions }));
    }
    const states = async (ids: string[], since: number) =>
      (await listStatesSince(store, ids, since)).map(({ serverId, at, to }) => `${serverId} ${at} ${to}`).toSorted();
    t.deepEqual(await states(['amber', 'birch', 'dogwood'], 4), [
      'amber 1 starting',
      'amber 5 running',
      'birch 7 starting',
    ]);
    t.deepEqual(await states(['amber'], 5), ['amber 5 running']);
    t.deepEqual(await states(['amber'], 0), ['amber 1 starting', 'amber 5 running']);
    t.deepEqual(await states([], 0), []);
  },
);
