import test from 'ava';
import { post } from '../../src/billing/ledger.ts';
import { api } from '../support/api-harness.ts';
import { STEVE } from '../support/world.ts';
import { AT, scene } from './scene.ts';

test('the wallet and ledger APIs return int64 as text, newest entries first, one entry per server hour', async (t) => {
  const it = await api(t);
  t.deepEqual(await it.ok('GET', '/v1/accounts/acc_test/wallet'), { accountId: 'acc_test', balanceMicros: '0' });
  await scene(it);
  const wallet = await it.ok('GET', '/v1/accounts/acc_test/wallet');
  t.deepEqual(wallet, { accountId: 'acc_test', balanceMicros: String(5_000_000 - 10_416) });
  const { entries } = (await it.ok('GET', '/v1/accounts/acc_test/ledger')) as { entries: Record<string, unknown>[] };
  t.deepEqual(
    entries.map(({ id, kind, amountMicros, serverId }) => [id, kind, amountMicros, serverId]),
    [
      ['4', 'usage', '-416', 'abc'],
      ['3', 'usage', '-5000', 'abc'],
      ['2', 'usage', '-5000', 'abc'],
      ['1', 'credit', '5000000', ''],
    ],
  );
  t.deepEqual(Object.keys(entries[0] ?? {}), ['id', 'accountId', 'serverId', 'kind', 'amountMicros', 'note', 'ts']);
  const page = async (query: string) =>
    (await it.ok('GET', `/v1/accounts/acc_test/ledger?${query}`))['entries'] as { id: string }[];
  t.deepEqual(
    (await page('limit=2')).map(({ id }) => id),
    ['4', '3'],
  );
  t.deepEqual(
    (await page('limit=2&before=3')).map(({ id }) => id),
    ['2', '1'],
  );
  t.deepEqual(await page('before=1'), []);
  for (const id of ['acc_other', 'a.b', 'x'.repeat(100)])
    t.is((await it.call('GET', `/v1/accounts/${id}/wallet`)).reason, 'ACCOUNT_MISMATCH');
});

test('server usage returns the cause, duration and cost of each session, and only to the owner', async (t) => {
  const it = await api(t);
  await scene(it);
  const usage = await it.ok('GET', '/v1/servers/abc/usage');
  const gbHours = (125 * 512) / 61_440;
  t.deepEqual(usage, {
    sessions: [
      {
        startedAt: new Date(AT).toISOString(),
        readyAt: new Date(AT).toISOString(),
        endedAt: null,
        ending: '',
        cause: STEVE,
        plan: 'metered',
        ramMb: 512,
        minutes: 125,
        gbHours,
        amountMicros: '10416',
      },
    ],
    gbHours,
    amountMicros: '10416',
    hourMicros: '5000',
    flatMicros: '1500000',
    flatPaidUntil: null,
  });
  const span = (from: number, to: number) =>
    `/v1/servers/abc/usage?from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`;
  t.deepEqual((await it.ok('GET', span(AT - 2_000, AT)))['sessions'], []);
  t.is(((await it.ok('GET', span(AT, AT + 1)))['sessions'] as unknown[]).length, 1);
  const next = await it.ok('GET', span(AT + 1, AT + 2));
  t.is((next['sessions'] as unknown[]).length, 1, 'the session is still awake');
  t.like(next, { gbHours: 0, amountMicros: '0' }, 'all entries began before the span');
  t.is((await it.call('GET', '/v1/servers/abc/usage?from=yesterday')).json['code'], 3);
  const key = await it.stranger();
  await it.share('abc', 'member');
  t.is((await it.call('GET', '/v1/servers/abc/usage', { key })).reason, 'ROLE_TOO_LOW');
});

test('the spend cap API reads, sets and audits the cap, and returns burn rate and runway', async (t) => {
  const it = await api(t);
  const path = '/v1/accounts/acc_test/spend-cap';
  const none = {
    monthlyMicros: '0',
    spentMicros: '0',
    action: 'notify',
    burnMicrosPerHour: '0',
    runwayMinutes: -1,
    awake: [],
    servers: [],
    perGbHourMicros: '10000',
    perGbMonthMicros: '3000000',
    checkout: 'test',
  };
  t.deepEqual(await it.ok('GET', path), none);
  await scene(it);
  const spent = { spentMicros: '10416', servers: [{ serverId: 'abc', spentMicros: '10416' }] };
  t.deepEqual(await it.ok('GET', path), { ...none, ...spent });
  const set = await it.ok('POST', path, { monthlyMicros: '9007199254740991', action: 'stop' });
  t.deepEqual(set, { ...none, ...spent, monthlyMicros: '9007199254740991', action: 'stop' });
  const raised = await it.ok('POST', path, { monthlyMicros: '7000000' });
  t.like(raised, { monthlyMicros: '7000000', action: 'stop' }, 'raising the cap keeps its action');
  t.like(await it.ok('POST', path, { action: 'notify' }), { monthlyMicros: '7000000', action: 'notify' });
  t.like(await it.ok('POST', path, {}), { monthlyMicros: '7000000', action: 'notify' });
  for (const monthlyMicros of ['9007199254740992', '-1', 1.5, 'x', '99999999999999999999']) {
    t.is((await it.call('POST', path, { body: { monthlyMicros } })).status, 400, String(monthlyMicros));
  }
  t.is((await it.call('POST', path, { body: { monthlyMicros: '1', action: 'explode' } })).status, 400);
  const { entries } = (await it.ok('GET', '/v1/accounts/acc_test/audit')) as { entries: { action: string }[] };
  t.is(entries[0]?.action, 'account.setSpendCap');
  await it.command('abc', 'START');
  await it.until(async () => (await it.engine.inspect('abc'))?.up === true);
  await it.reach('abc', 'running');
  t.like(await it.ok('GET', path), {
    burnMicrosPerHour: '5000',
    runwayMinutes: Math.floor((4_989_584 * 60) / 5_000),
    awake: [{ serverId: 'abc', plan: 'metered', microsPerHour: '5000' }],
  });
});

test('operators can reconcile the wallets with the ledger', async (t) => {
  const it = await api(t);
  await it.store.write(async (tx) => void (await tx.run('UPDATE "users" SET "operator" = TRUE')));
  const { key } = await it.mint(['operator']);
  const reconcile = () => it.call('POST', '/v1/operator/ledger:reconcile', { key });
  const posting = { accountId: 'acc_test', kind: 'adjustment', amountMicros: -5, note: '', ref: 'x', at: AT } as const;
  await it.store.write((tx) => post(tx, posting));
  t.deepEqual((await reconcile()).json, { mismatches: [] });
  await it.store.write(async (tx) => void (await tx.run('UPDATE "wallets" SET "balanceMicros" = 7')));
  const found = { accountId: 'acc_test', balanceMicros: '7', ledgerMicros: '-5' };
  t.deepEqual((await reconcile()).json, { mismatches: [found] });
  t.is((await it.call('POST', '/v1/operator/ledger:reconcile')).reason, 'SCOPE_MISSING');
});
