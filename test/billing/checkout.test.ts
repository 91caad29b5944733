import assert from 'node:assert/strict';
import test, { type ExecutionContext } from 'ava';
import * as fc from '../support/property.ts';
import { Checkouts } from '../../src/billing/checkout.ts';
import { balance } from '../../src/billing/ledger.ts';
import { listUnbalanced } from '../../src/billing/wallet-rows.ts';
import { type Checkout, createTestCheckout } from '../../src/billing/payments.ts';
import { createStripeCheckout } from '../../src/billing/stripe-checkout.ts';
import { openCheckout } from '../../src/billing/open.ts';
import { createLog } from '../../src/kernel/log.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { type AuditEntry, type AuditRow, recordAudit } from '../../src/audit/audit.ts';
import type { Store, Tx } from '../../src/store/store.ts';
import { type FakeClock, fakeClock } from '../fakes/clock.ts';
import { addPerson, freshStore } from '../support/store.ts';
import {
  STRIPE_SECRET,
  type StripeStandIn,
  WEBHOOK_SECRET,
  charge,
  dispute,
  paid,
  sign,
  stripeEvent,
  stripeStandIn,
} from './stripe-stand-in.ts';

const NOW = 1_700_000_000_000;
const HOUR_MS = 3_600_000;
const record = (tx: Tx, entry: AuditEntry) => recordAudit(tx, { userId: '', through: 'test' }, entry);

interface Desk {
  store: Store;
  clock: FakeClock;
  checkouts: Checkouts;
  logged: string[];
  open: (accountId?: string, amountUsd?: number) => Promise<string>;
}

async function desk(t: ExecutionContext, checkout: Checkout | undefined): Promise<Desk> {
  const store = await freshStore(t);
  const clock = fakeClock(NOW);
  const logged: string[] = [];
  const log = createLog({ level: 'debug', pretty: false, destination: { write: (line) => void logged.push(line) } });
  const checkouts = new Checkouts({ store, clock, log }, checkout, 'http://panel.example');
  const open = (accountId = 'acc_test', amountUsd = 10) => checkouts.create(accountId, amountUsd, record);
  return { store, clock, checkouts, logged, open };
}

async function stripeDesk(t: ExecutionContext): Promise<Desk & { stripe: StripeStandIn; deliver: Deliver }> {
  const stripe = await stripeStandIn(t);
  const checkout = createStripeCheckout({
    secretKey: STRIPE_SECRET,
    webhookSecret: WEBHOOK_SECRET,
    apiUrl: stripe.url,
    timeoutMs: 60_000,
  });
  const it = await desk(t, checkout);
  const deliver: Deliver = (id, type, session, signed = {}) => {
    const name = type.startsWith('charge.') ? type : `checkout.session.${type}`;
    const body = stripeEvent(id, name, session, it.clock.now());
    const signature = signed.signature ?? sign(body, signed.at ?? it.clock.now(), signed.secret);
    return it.checkouts.callback('stripe', Buffer.from(signed.body?.(body) ?? body), signature);
  };
  return { ...it, stripe, deliver };
}

type Deliver = (
  id: string,
  type: string,
  session: object,
  signed?: { at?: number; secret?: string; signature?: string; body?: (body: string) => string },
) => Promise<void>;

async function topups(store: Store): Promise<[accountId: string, amountMicros: number][]> {
  const sql = `SELECT "accountId", "amountMicros" FROM "ledger" WHERE "kind" = 'topup' ORDER BY "id"`;
  const rows = await store.query<{ accountId: string; amountMicros: number }>(sql);
  return rows.map(({ accountId, amountMicros }) => [accountId, amountMicros]);
}

test('a checkout opens a Stripe session for its amount, and the payment credits the wallet', async (t) => {
  const { stripe, store, open, deliver } = await stripeDesk(t);
  const url = await open('acc_test', 25);
  const [asked] = stripe.asked;
  const [session] = stripe.sessions;
  const [row] = await store.query<{ id: string; providerRef: string; state: string }>('SELECT * FROM "checkouts"');
  t.is(url, session?.url ?? '');
  t.is(row?.providerRef, session?.id);
  t.is(asked?.authorization, `Bearer ${STRIPE_SECRET}`);
  t.is(asked?.idempotencyKey, row?.id);
  t.deepEqual(Object.fromEntries(asked?.form ?? []), {
    mode: 'payment',
    submit_type: 'pay',
    client_reference_id: row?.id ?? '',
    'line_items[0][quantity]': '1',
    'line_items[0][price_data][currency]': 'usd',
    'line_items[0][price_data][unit_amount]': '2500',
    'line_items[0][price_data][product_data][name]': 'Game server credit',
    success_url: `http://panel.example/checkout/${row?.id}`,
    cancel_url: `http://panel.example/checkout/${row?.id}`,
  });
  t.deepEqual(await topups(store), []);
  await deliver('evt_1', 'completed', paid(session!));
  t.deepEqual(await topups(store), [['acc_test', 25_000_000]]);
  t.is(await balance(store, 'acc_test'), 25_000_000);
  const audit = await store.query<AuditRow>('SELECT * FROM "audit" ORDER BY "id"');
  t.deepEqual(
    audit.map(({ action, through, detail }) => [action, through, detail]),
    [
      ['checkout.open', 'test', `25 USD, ${row?.id}`],
      ['wallet.topup', 'system checkout', `25 USD by stripe, ${row?.id}`],
    ],
  );
});

test('a failing Stripe request is retried without a second session, and a lasting failure returns UNAVAILABLE', async (t) => {
  const { stripe, store, open } = await stripeDesk(t);
  stripe.failures.push(500);
  t.regex(await open(), /^https:\/\/checkout\.stripe\.com\//);
  t.is(stripe.asked.length, 2);
  t.is(stripe.asked[0]?.idempotencyKey, stripe.asked[1]?.idempotencyKey);
  t.is(stripe.sessions.length, 1);
  stripe.failures.push(500, 500, 500);
  const error = await t.throwsAsync(open(), { instanceOf: StatusError });
  t.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'CHECKOUT_UNAVAILABLE']);
  t.deepEqual(await topups(store), []);
});

test('duplicate, late, reordered, concurrent or mismatched Stripe events credit a payment at most once', async (t) => {
  const { stripe, store, clock, open, deliver, logged } = await stripeDesk(t);
  await addPerson(store, 'other');
  await open('acc_test', 10);
  await open('acc_other', 7);
  const [mine, theirs] = stripe.sessions as [(typeof stripe.sessions)[0], (typeof stripe.sessions)[0]];

  // The session is complete but not yet paid, because a bank debit is in progress.
  await deliver('evt_unpaid', 'completed', { ...paid(mine), payment_status: 'unpaid' });
  t.deepEqual(await topups(store), []);
  // Events with a wrong amount, currency or session, or without a known checkout.
  await deliver('evt_more', 'completed', paid(mine, { amount_total: 100_000 }));
  await deliver('evt_eur', 'completed', paid(mine, { currency: 'eur' }));
  await deliver('evt_swap', 'completed', paid(theirs, { client_reference_id: mine['client_reference_id'] }));
  await deliver('evt_none', 'completed', paid(mine, { client_reference_id: null }));
  await deliver('evt_unknown', 'completed', paid(mine, { client_reference_id: 'chk_unknown' }));
  t.deepEqual(await topups(store), []);
  t.true(logged.some((line) => line.includes('the paid amount is wrong') && line.includes('evt_more')));
  t.true(logged.some((line) => line.includes('has a different session') && line.includes('evt_swap')));

  // The expired checkout is paid after all. The same event and an equivalent one arrive many times at once.
  await deliver('evt_expired', 'expired', { ...mine, status: 'expired' });
  await clock.advance(48 * HOUR_MS);
  await Promise.all([
    ...Array.from({ length: 20 }, () => deliver('evt_paid', 'completed', paid(mine))),
    ...Array.from({ length: 20 }, () => deliver('evt_async', 'async_payment_succeeded', paid(mine))),
    deliver('evt_theirs', 'completed', paid(theirs)),
  ]);
  await deliver('evt_expired_late', 'expired', { ...mine, status: 'expired' });
  await deliver('evt_paid', 'completed', paid(mine));
  t.deepEqual(
    new Set(await topups(store)),
    new Set([['acc_test', 10_000_000] as const, ['acc_other', 7_000_000] as const]),
  );
  t.is((await topups(store)).length, 2);
  t.deepEqual(await store.query('SELECT "state" FROM "checkouts"'), [{ state: 'paid' }, { state: 'paid' }]);
  t.deepEqual(await listUnbalanced(store), []);
});

test('Stripe refunds and disputes adjust the wallet exactly once, in any order of events', async (t) => {
  const order = fc.shuffledSubarray(
    [
      ['completed', 'paid'],
      ['completed', 'paid'],
      ['charge.refunded', 300],
      ['charge.refunded', 300],
      ['charge.refunded', 450],
      ['charge.dispute.created', 'needs_response'],
      ['charge.dispute.created', 'warning_needs_response'],
      ['charge.dispute.funds_withdrawn', 'under_review'],
      ['charge.dispute.funds_reinstated', 'won'],
      ['charge.updated', 0],
    ] as [string, string | number][],
    { minLength: 1 },
  );
  const { stripe, store, open, deliver } = await stripeDesk(t);
  let expected = 0;
  let nth = 0;
  const property = fc.asyncProperty(order, fc.boolean(), async (events, atOnce) => {
    await store.write(async (tx) => void (await tx.run('DELETE FROM "checkouts"')));
    await open('acc_test', 10);
    const session = stripe.sessions.at(-1)!;
    const tell = ([type, detail]: [string, string | number]) => {
      const about =
        detail === 'paid'
          ? paid(session)
          : typeof detail === 'number'
            ? charge(session, detail)
            : dispute(session, `dp_${session.id}`, detail, 500);
      return deliver(`evt_${nth++}`, type, about);
    };
    if (atOnce) await Promise.all(events.map(tell));
    else for (const event of events) await tell(event);
    const told = (type: string, detail?: string) =>
      events.some(([name, what]) => name.startsWith(type) && (detail === undefined || what === detail));
    const refunds = events.flatMap(([type, cents]) => (type === 'charge.refunded' ? Number(cents) : []));
    if (told('completed')) expected += 1_000;
    expected -= Math.max(0, ...refunds);
    if (told('charge.dispute.created', 'needs_response') || told('charge.dispute.funds_withdrawn')) expected -= 500;
    if (told('charge.dispute.funds_reinstated')) expected += 500;
    assert.equal(await balance(store, 'acc_test'), expected * 10_000);
  });
  // These examples cover every kind of entry, whatever the generator picks.
  const completed: [string, string] = ['completed', 'paid'];
  const examples: [[string, string | number][], boolean][] = [
    [[completed, ['charge.refunded', 300], ['charge.refunded', 450]], false],
    [[completed, ['charge.refunded', 450]], false],
    [
      [['charge.dispute.funds_withdrawn', 'under_review'], ['charge.dispute.funds_reinstated', 'won'], completed],
      false,
    ],
  ];
  await t.notThrowsAsync(fc.assert(property, { numRuns: 60, examples, includeErrorInReport: true }));
  t.deepEqual(await listUnbalanced(store), []);
  const kinds = await store.query<{ kind: string; note: string }>('SELECT DISTINCT "kind", "note" FROM "ledger"');
  t.deepEqual(kinds.map(({ kind, note }) => `${kind}: ${note}`).toSorted(), [
    'adjustment: Disputed payment of 5.00 USD returned',
    'adjustment: Disputed payment of 5.00 USD withdrawn by the bank',
    'refund: Refund of 1.50 USD to the payer',
    'refund: Refund of 3.00 USD to the payer',
    'refund: Refund of 4.50 USD to the payer',
    'topup: Payment of 10 USD',
  ]);
});

test('an unrelated refund is ignored, and a refund event fails for redelivery while Stripe is unavailable', async (t) => {
  const { stripe, store, open, deliver } = await stripeDesk(t);
  await open('acc_test', 10);
  const session = stripe.sessions[0]!;
  await deliver('evt_1', 'charge.refunded', { ...charge(session, 1_000), payment_intent: 'pi_of_another_shop' });
  await deliver('evt_2', 'charge.refunded', { ...charge(session, 1_000), payment_intent: null });
  session.amount_total = 900;
  await deliver('evt_3', 'charge.refunded', charge(session, 900));
  session.amount_total = 1_000;
  t.is(await balance(store, 'acc_test'), 0);
  stripe.failures.push(500, 500, 500);
  const error = await t.throwsAsync(deliver('evt_4', 'charge.refunded', charge(session, 1_000)), {
    instanceOf: StatusError,
  });
  t.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'CHECKOUT_UNAVAILABLE']);
  await deliver('evt_4', 'charge.refunded', charge(session, 1_000));
  await deliver('evt_5', 'completed', paid(session));
  t.is(await balance(store, 'acc_test'), 0);
  const audit = await store.query<{ action: string }>('SELECT "action" FROM "audit" ORDER BY "id"');
  t.deepEqual(
    audit.map(({ action }) => action),
    ['checkout.open', 'wallet.refund', 'wallet.topup'],
  );
});

test('an event without a fresh and valid Stripe signature is refused and credits no wallet', async (t) => {
  const { stripe, store, clock, open, deliver, checkouts } = await stripeDesk(t);
  await open();
  const session = stripe.sessions[0]!;
  const refused = [
    { secret: 'whsec_another' },
    { signature: '' },
    { signature: 't=1,v1=00' },
    { signature: `t=${clock.now()}` },
    { at: clock.now() - 301_000 },
    { body: (body: string) => body.replace('"amount_total": 1000', '"amount_total": 9000') },
    { body: (body: string) => `${body} ` },
  ];
  for (const signed of refused) {
    const error = await t.throwsAsync(deliver('evt_forged', 'completed', paid(session), signed), {
      instanceOf: StatusError,
    });
    t.deepEqual([error.code, error.reason], ['INVALID_ARGUMENT', 'SIGNATURE_INVALID'], JSON.stringify(signed));
  }
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.string({ maxLength: 200 }), async (body, signature) => {
      await t.throwsAsync(checkouts.callback('stripe', Buffer.from(body), signature), { instanceOf: StatusError });
    }),
    { numRuns: 200 },
  );
  await t.throwsAsync(checkouts.callback('test', Buffer.from('{}'), ''), { message: /No such address/ });
  // Events of other kinds are acknowledged, even without the expected fields.
  const other = JSON.stringify({ id: 'evt_x', object: 'event', type: 'charge.updated', data: { object: {} } });
  await checkouts.callback('stripe', Buffer.from(other), sign(other, clock.now()));
  t.deepEqual(await topups(store), []);
});

test('a test checkout is paid at most once, and never after it is cancelled or expired', async (t) => {
  const { store, clock, checkouts, open } = await desk(t, createTestCheckout());
  const url = await open('acc_test', 3);
  const id = url.split('/').at(-1)!;
  t.is(url, `http://panel.example/checkout/${id}`);
  const rows = await Promise.all(Array.from({ length: 20 }, () => checkouts.settleTest(id, 'pay')));
  t.true(rows.every(({ state }) => state === 'paid'));
  t.is((await checkouts.settleTest(id, 'cancel')).state, 'paid');
  t.deepEqual(await topups(store), [['acc_test', 3_000_000]]);

  const cancelled = (await open()).split('/').at(-1)!;
  t.is((await checkouts.settleTest(cancelled, 'cancel')).state, 'expired');
  t.is((await checkouts.settleTest(cancelled, 'pay')).state, 'expired');
  const forgotten = (await open()).split('/').at(-1)!;
  t.is((await checkouts.find(forgotten))?.state, 'open');
  await clock.advance(25 * HOUR_MS);
  t.is((await checkouts.find(forgotten))?.state, 'expired', 'a forgotten checkout expires after a day');
  t.is((await checkouts.settleTest(forgotten, 'pay')).state, 'expired');
  await t.throwsAsync(checkouts.settleTest('chk_unknown', 'pay'), { message: /no such checkout/ });
  t.deepEqual(await topups(store), [['acc_test', 3_000_000]]);
});

test('the test page cannot settle a checkout of a real provider', async (t) => {
  const { store, open, checkouts } = await stripeDesk(t);
  await open();
  const [row] = await store.query<{ id: string }>('SELECT "id" FROM "checkouts"');
  await t.throwsAsync(checkouts.settleTest(row!.id, 'pay'), { message: /no such checkout/ });
  t.deepEqual(await topups(store), []);
});

test('orders refused by Stripe do not count against the checkout limit, and orders of unknown outcome do', async (t) => {
  const { stripe, store, open } = await stripeDesk(t);
  for (let nth = 0; nth < 35; nth++) {
    stripe.failures.push(nth % 2 === 0 ? 401 : 400);
    const error = await t.throwsAsync(open(), { instanceOf: StatusError });
    t.deepEqual([error.code, error.reason], ['FAILED_PRECONDITION', 'CHECKOUT_REFUSED'], 'it is not retryable');
  }
  t.is((await store.query(`SELECT 1 FROM "checkouts" WHERE "state" = 'expired'`)).length, 35);
  stripe.failures.push(409, 409, 409);
  const unknown = await t.throwsAsync(open(), { instanceOf: StatusError });
  t.is(unknown.reason, 'CHECKOUT_UNAVAILABLE');
  for (let nth = 1; nth < 30; nth++) await open();
  const error = await t.throwsAsync(open(), { instanceOf: StatusError });
  t.is(error.reason, 'CHECKOUT_LIMIT');
});

test('checkouts are refused if they are disabled, and beyond 30 per hour', async (t) => {
  const off = await t.throwsAsync((await desk(t, undefined)).open(), { instanceOf: StatusError });
  t.deepEqual([off.code, off.reason], ['UNIMPLEMENTED', 'CHECKOUT_OFF']);
  const { open, clock, store } = await desk(t, createTestCheckout());
  const opened = await Promise.allSettled(Array.from({ length: 40 }, () => open()));
  t.is(opened.filter(({ status }) => status === 'fulfilled').length, 30);
  const error = await t.throwsAsync(open(), { instanceOf: StatusError });
  t.deepEqual([error.code, error.reason], ['RESOURCE_EXHAUSTED', 'CHECKOUT_LIMIT']);
  t.is((await store.query('SELECT 1 FROM "checkouts"')).length, 30);
  await clock.advance(HOUR_MS + 1);
  await t.notThrowsAsync(open());
});

test('test payments log a warning if the public host is not local', async (t) => {
  const warnings: string[] = [];
  const log = createLog({ level: 'warn', pretty: false, destination: { write: (line) => void warnings.push(line) } });
  const settings = { checkout: 'test' as const, stripeSecretKey: '', stripeWebhookSecret: '', stripeApiUrl: '' };
  await openCheckout({ ...settings, publicHost: 'localhost' }, log);
  t.deepEqual(warnings, []);
  await openCheckout({ ...settings, publicHost: 'play.example.org' }, log);
  t.regex(warnings.join(''), /test payments fund wallets/);
});
