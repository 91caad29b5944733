import test from 'ava';
import { balance } from '../../src/billing/ledger.ts';
import { listUnbalanced } from '../../src/billing/wallet-rows.ts';
import { createStripeCheckout } from '../../src/billing/stripe-checkout.ts';
import { KEY_SCOPES } from '../../src/http/scopes.ts';
import { type MoneyUnderTest, moneySite } from '../support/money.ts';
import { STRIPE_SECRET, WEBHOOK_SECRET, paid, sign, stripeEvent, stripeStandIn } from './stripe-stand-in.ts';

/** The part of the OpenAPI document that these tests read. */
interface OpenApi {
  components: { schemas: Record<string, { properties: object }> };
}

const LINK = '/v1/accounts/acc_test/checkout-link';

/** Returns a key of the account `acc_test` whose user is an operator. */
async function operatorKey({ api }: MoneyUnderTest): Promise<string> {
  await api.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  return (await api.mint(KEY_SCOPES)).key;
}

test('capacity and regions report the resources of the machine and the share that awake servers hold', async (t) => {
  const it = await moneySite(t);
  const { api } = it;
  const idle = {
    available: true,
    activeServers: 0,
    coresUsable: 4,
    coresUsed: 0,
    cpusPerServer: 4,
    ramUsableMb: '15872',
    ramUsedMb: '0',
    ramPerServerMb: '15872',
    diskFreeMb: '40000',
    diskTotalMb: '50000',
    maxServersPerAccount: 0,
    cpuTiers: [
      { ramMb: '2048', cpus: 1 },
      { ramMb: '4096', cpus: 2 },
      { ramMb: '6144', cpus: 3 },
      { ramMb: '8192', cpus: 4 },
    ],
  };
  const first = (await it.call('GET', '/v1/capacity')).json;
  t.deepEqual(first, idle);
  const { components } = (await it.call('GET', '/openapi.json')).json as unknown as OpenApi;
  t.deepEqual(Object.keys(first), Object.keys(components.schemas['CapacityResponse']!.properties), 'as documented');
  t.is(Object.keys(first).at(-1), 'available', 'fields that the reference lacks come last');
  await api.create('awake', { ramMb: 4_096 });
  await api.create('asleep');
  await api.command('awake', 'START');
  const busy = { ...idle, activeServers: 1, coresUsed: 2, ramUsedMb: '4096', maxServersPerAccount: 7 };
  await it.money.accountLimits.set('acc_test', { maxRamMb: null, maxServers: 7 });
  t.deepEqual((await it.call('GET', '/v1/capacity')).json, busy);
  const region = { region: 'na', label: 'North America', available: true, capacity: busy };
  t.deepEqual((await it.call('GET', '/v1/regions')).json, { regions: [region] });

  // A machine without its engine has no capacity.
  api.engine.away();
  await api.clock.advance(5_000);
  const zero = {
    ...idle,
    available: false,
    coresUsable: 0,
    cpusPerServer: 0,
    ramUsableMb: '0',
    ramPerServerMb: '0',
    diskFreeMb: '0',
    diskTotalMb: '0',
  };
  t.deepEqual((await it.call('GET', '/v1/regions')).json, {
    regions: [{ ...region, available: false, capacity: { ...zero, cpuTiers: [] } }],
  });
  api.engine.back();
  await api.clock.advance(5_000);
  t.deepEqual((await it.call('GET', '/v1/regions')).json, { regions: [region] });
});

test('an account reads only its own limits, and its starts obey them', async (t) => {
  const it = await moneySite(t);
  t.deepEqual((await it.call('GET', '/v1/accounts/acc_test/limits')).json, { maxRamMb: 65_536 });
  const other = await it.call('GET', '/v1/accounts/acc_other/limits');
  t.deepEqual([other.status, other.reason], [403, 'ACCOUNT_MISMATCH']);
  await it.money.accountLimits.set('acc_test', { maxRamMb: 1_024, maxServers: null });
  t.deepEqual((await it.call('GET', '/v1/accounts/acc_test/limits')).json, { maxRamMb: 1_024 });
  const { api } = it;
  for (const id of ['a', 'b', 'c']) await api.create(id);
  t.is((await api.call('POST', '/v1/servers/a:start')).status, 200);
  t.is((await api.call('POST', '/v1/servers/b:start')).status, 200);
  const refused = await api.call('POST', '/v1/servers/c:start');
  t.deepEqual([refused.status, refused.json['code'], refused.reason], [429, 8, 'MAX_RAM']);
});

test('a checkout link needs a whole amount within bounds and the caller’s own account', async (t) => {
  const it = await moneySite(t);
  const refused = [0, -5, 1_001, 2_147_483_647, 1.5, '1.5', 'ten', null, {}, true];
  for (const amountUsd of refused) {
    const answer = await it.call('POST', LINK, { body: { amountUsd } });
    t.deepEqual(
      [answer.status, answer.json['code'], answer.reason],
      [400, 3, 'INVALID_FIELD'],
      JSON.stringify(amountUsd),
    );
  }
  for (const raw of ['', '{"amountUsd":1e999}']) t.is((await it.call('POST', LINK, { raw })).status, 400);
  const other = await it.call('POST', '/v1/accounts/acc_other/checkout-link', { body: { amountUsd: 5 } });
  t.deepEqual([other.status, other.reason], [403, 'ACCOUNT_MISMATCH']);
  const { api } = it;
  await api.create('abc');
  const keys = {
    SCOPE_MISSING: await api.mint(['servers:read', 'billing:write']),
    KEY_LIMITED: await api.mint(['billing:read'], { serverIds: ['abc'] }),
  };
  for (const [reason, { key }] of Object.entries(keys)) {
    const answer = await it.call('POST', LINK, { key, body: { amountUsd: 5 } });
    t.deepEqual([answer.status, answer.reason], [403, reason]);
  }
  t.is((await it.call('POST', LINK, { key: null, body: { amountUsd: 5 } })).status, 401);
  t.deepEqual(await api.store.query('SELECT 1 FROM "checkouts"'), []);
  for (const amountUsd of [1, '1000', 1_000]) {
    const { status, json } = await it.call('POST', LINK, { body: { amountUsd } });
    t.is(status, 200);
    t.true(String(json['checkoutUrl']).startsWith(`${it.origin}/checkout/chk_`));
  }
  t.deepEqual(await api.store.query('SELECT "amountMicros" FROM "checkouts" ORDER BY "amountMicros"'), [
    { amountMicros: 1_000_000 },
    { amountMicros: 1_000_000_000 },
    { amountMicros: 1_000_000_000 },
  ]);
});

test("Stripe's webhook verifies the raw body, and webhooks of unused providers return 404", async (t) => {
  const stripe = await stripeStandIn(t);
  const options = { secretKey: STRIPE_SECRET, webhookSecret: WEBHOOK_SECRET, apiUrl: stripe.url };
  const it = await moneySite(t, createStripeCheckout(options));
  const { store, clock } = it.api;
  t.is((await it.call('POST', LINK, { body: { amountUsd: 12 } })).json['checkoutUrl'], stripe.sessions[0]?.url);
  const raw = stripeEvent('evt_1', 'checkout.session.completed', paid(stripe.sessions[0]!), clock.now());
  const hook = (body: string, signature: string, provider = 'stripe') =>
    it.call('POST', `/v1/public/checkout/${provider}`, {
      key: null,
      raw: body,
      headers: { 'stripe-signature': signature, 'content-type': 'application/json; charset=utf-8' },
    });
  const signature = sign(raw, clock.now());
  for (const [body, given] of [
    [raw, ''],
    [raw.replaceAll('\n', ''), signature],
    [raw, sign(raw, clock.now() - 400_000)],
    ['', signature],
  ] as const) {
    const answer = await hook(body, given);
    t.deepEqual([answer.status, answer.reason], [400, 'SIGNATURE_INVALID']);
  }
  for (const provider of ['test', 'paypal', '..']) t.is((await hook(raw, signature, provider)).status, 404);
  const large = await hook(`${raw}${' '.repeat(300_000)}`, signature);
  t.deepEqual([large.status, large.reason], [413, 'BODY_TOO_LARGE']);
  t.is(await balance(store, 'acc_test'), 0);

  const answers = await Promise.all(Array.from({ length: 12 }, () => hook(raw, signature)));
  t.true(answers.every(({ status, json }) => status === 200 && Object.keys(json).length === 0));
  t.is(await balance(store, 'acc_test'), 12_000_000);
  t.deepEqual(await listUnbalanced(store), []);
});

test('with checkout off, a checkout link returns 501 and the payment webhook returns 404', async (t) => {
  const it = await moneySite(t, 'off');
  const answer = await it.call('POST', LINK, { body: { amountUsd: 5 } });
  t.deepEqual([answer.status, answer.json['code'], answer.reason], [501, 12, 'CHECKOUT_OFF']);
  t.is((await it.call('POST', '/v1/public/checkout/test', { key: null, raw: '{}' })).status, 404);
});

test('operators list and search all accounts with their balances, page by page', async (t) => {
  const it = await moneySite(t);
  const { api } = it;
  await api.stranger();
  await api.create('abc');
  for (const { key } of [await api.mint(KEY_SCOPES), { key: await operatorKeyOfNobody(it) }]) {
    const refused = await it.call('GET', '/v1/operator/accounts', { key });
    t.deepEqual([refused.status, refused.reason], [403, 'NOT_OPERATOR']);
  }
  const key = await operatorKey(it);
  t.is((await it.call('GET', '/v1/operator/accounts')).reason, 'SCOPE_MISSING');
  const list = async (query = '') =>
    (await it.call('GET', `/v1/operator/accounts${query}`, { key })).json['accounts'] as Record<string, unknown>[];
  t.deepEqual(
    (await list()).map((account) => Object.assign(account, { createdAt: typeof account['createdAt'] })),
    [
      {
        accountId: 'acc_other',
        name: 'other',
        email: 'stranger@example.com',
        createdAt: 'string',
        balanceMicros: '0',
        servers: 0,
        maxRamMb: 65_536,
        maxServers: 0,
        operator: false,
      },
      {
        accountId: 'acc_test',
        name: 'test',
        email: 'owner@example.com',
        createdAt: 'string',
        balanceMicros: '0',
        servers: 1,
        maxRamMb: 65_536,
        maxServers: 0,
        operator: true,
      },
    ],
  );
  const [first] = await list('?limit=1');
  t.is(first?.['accountId'], 'acc_other');
  t.deepEqual(
    (await list('?limit=1&after=acc_other')).map(({ accountId }) => accountId),
    ['acc_test'],
  );
  t.deepEqual(await list('?after=acc_test'), []);
  const found = async (search: string) =>
    (await list(`?search=${encodeURIComponent(search)}`)).map(({ accountId }) => accountId);
  t.deepEqual(await found('STRANGER@'), ['acc_other']);
  t.deepEqual(await found('example.com'), ['acc_other', 'acc_test']);
  t.deepEqual(await found('c_T'), ['acc_test']);
  for (const none of ['%', 'nobody', 'acc\\_test']) t.deepEqual(await found(none), [], none);
  const { json } = await it.call('GET', '/v1/operator/accounts/acc_test', { key });
  t.like(json, { ownMaxRamMb: -1, ownMaxServers: -1, account: { accountId: 'acc_test', servers: 1 } });
  t.like((json['servers'] as object[])[0], {
    state: 'hibernated',
    suspended: false,
    suspendReason: '',
    suspendedAt: null,
  });
  t.is((await it.call('GET', '/v1/operator/accounts/acc_none', { key })).reason, 'ACCOUNT_NOT_FOUND');
});

test('operators credit, refund and adjust wallets with a note, once per reference, with an audit entry', async (t) => {
  const it = await moneySite(t);
  const { store } = it.api;
  await it.api.stranger();
  const key = await operatorKey(it);
  const credit = (accountId: string, body: object) =>
    it.call('POST', `/v1/operator/accounts/${accountId}:credit`, { key, body });
  const note = 'Sorry for the outage';
  t.is((await credit('acc_other', { amountMicros: '5000000', note })).json['balanceMicros'], '5000000');
  const refunds = Array.from({ length: 5 }, () =>
    credit('acc_other', { amountMicros: -1_500_000, kind: 'refund', note: 'Charged back', ref: 'case-7' }),
  );
  for (const { json } of await Promise.all(refunds)) t.is(json['balanceMicros'], '3500000');
  // A ref is unique within its account. Without a ref, each credit is a new one.
  t.is((await credit('acc_test', { amountMicros: 1, kind: 'refund', note, ref: 'case-7' })).json['balanceMicros'], '1');
  for (const balanceMicros of ['3400000', '3300000']) {
    const { json } = await credit('acc_other', { amountMicros: '-100000', kind: 'adjustment', note });
    t.is(json['balanceMicros'], balanceMicros);
  }
  t.deepEqual(
    await store.query(
      `SELECT "kind", "amountMicros", "note" FROM "ledger" WHERE "accountId" = 'acc_other' ORDER BY "id"`,
    ),
    [
      { kind: 'credit', amountMicros: 5_000_000, note },
      { kind: 'refund', amountMicros: -1_500_000, note: 'Charged back' },
      { kind: 'adjustment', amountMicros: -100_000, note },
      { kind: 'adjustment', amountMicros: -100_000, note },
    ],
  );
  const audit = await store.query<{ userId: string; through: string; detail: string }>(
    `SELECT * FROM "audit" WHERE "accountId" = 'acc_other' AND "action" = 'wallet.credit' ORDER BY "id"`,
  );
  t.is(audit.length, 4);
  t.is(audit[0]?.userId, 'usr_test');
  t.regex(audit[0]?.through ?? '', /^key key_\w+$/);
  t.is(audit[0]?.detail, 'credit 5000000 micros: Sorry for the outage');
  t.deepEqual(await listUnbalanced(store), []);

  const refused: [string, object, number, string][] = [
    ['acc_none', { amountMicros: 1, note }, 404, 'ACCOUNT_NOT_FOUND'],
    ['acc_other', { amountMicros: 1 }, 400, 'INVALID_FIELD'],
    ['acc_other', { amountMicros: 1, note: '  ' }, 400, 'INVALID_FIELD'],
    ['acc_other', { amountMicros: 0, note }, 400, 'INVALID_FIELD'],
    ['acc_other', { amountMicros: 1.5, note }, 400, 'INVALID_FIELD'],
    ['acc_other', { amountMicros: '9007199254740993', note }, 400, 'INVALID_FIELD'],
    ['acc_other', { amountMicros: 1, note, kind: 'usage' }, 400, 'INVALID_FIELD'],
  ];
  for (const [accountId, body, status, reason] of refused) {
    const answer = await credit(accountId, body);
    t.deepEqual([answer.status, answer.reason], [status, reason], JSON.stringify(body));
  }
  for (let nth = 0; nth < 9; nth++) t.is((await credit('acc_other', { amountMicros: 1e15, note })).status, 200);
  const over = await credit('acc_other', { amountMicros: 1e15, note });
  t.deepEqual([over.status, over.reason], [400, 'BALANCE_OUT_OF_RANGE']);
  t.deepEqual(await listUnbalanced(store), []);
});

test("operators set an account's limits field by field, effective at once", async (t) => {
  const it = await moneySite(t);
  const { api } = it;
  const key = await operatorKey(it);
  const set = (body: object, accountId = 'acc_test') =>
    it.call('POST', `/v1/operator/accounts/${accountId}:setLimits`, { key, body });
  const limits = ({ json }: Awaited<ReturnType<typeof set>>) => [json['maxRamMb'], json['maxServers']];
  t.deepEqual(limits(await set({ maxRamMb: 512 })), [512, 0]);
  t.deepEqual(limits(await set({ maxServers: 2 })), [512, 2]);
  await api.create('a');
  await api.create('b');
  t.is((await api.call('POST', '/v1/servers/a:start')).status, 200);
  t.is((await api.call('POST', '/v1/servers/b:start')).reason, 'MAX_RAM');
  t.deepEqual(limits(await set({ maxRamMb: -1 })), [65_536, 2]);
  t.is((await api.call('POST', '/v1/servers/b:start')).status, 200);
  t.deepEqual(limits(await set({ maxServers: 0 })), [65_536, 0]);
  t.deepEqual(limits(await set({})), [65_536, 0]);
  t.is((await set({ maxServers: -2 })).reason, 'INVALID_FIELD');
  t.is((await set({ maxServers: 1 }, 'acc_none')).reason, 'ACCOUNT_NOT_FOUND');
  const audit = await api.store.query<{ detail: string }>(
    `SELECT "detail" FROM "audit" WHERE "action" = 'account.setLimits' ORDER BY "id"`,
  );
  t.is(audit.length, 5);
  t.regex(audit[1]?.detail ?? '', /RAM 512 MB, servers 2$/);
});

test('a server too large to ever wake is refused on creation and update, and the server limit applies', async (t) => {
  const it = await moneySite(t);
  const { api } = it;
  const create = (name: string, ramMb: number) => api.call('POST', '/v1/servers', { body: { name, ramMb } });
  const over = await create('large', 16_000);
  t.deepEqual([over.status, over.json['code'], over.reason], [429, 8, 'NODE_CAPACITY']);
  t.is((await create('one', 15_872)).status, 200);
  const grown = await api.call('POST', '/v1/servers/one:update', { body: { ramMb: 15_873 } });
  t.is(grown.reason, 'NODE_CAPACITY');
  await it.money.accountLimits.set('acc_test', { maxRamMb: 16_384, maxServers: 2 });
  t.is((await create('two', 2_048)).reason, 'MAX_RAM');
  const created = await Promise.all(Array.from({ length: 8 }, (_, nth) => create(`s${nth}`, 256)));
  t.is(created.filter(({ status }) => status === 200).length, 1);
  t.is(created.filter(({ reason }) => reason === 'MAX_SERVERS').length, 7);
});

/** Returns a key with the scope `operator` whose user is not an operator. */
async function operatorKeyOfNobody({ api }: MoneyUnderTest): Promise<string> {
  return (await api.mint(['operator'], { accountId: 'acc_other', userId: 'usr_other' })).key;
}
