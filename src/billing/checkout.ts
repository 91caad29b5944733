import type { Clock } from '../kernel/clock.ts';
import { randomBase62 } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { usdText } from '../kernel/money.ts';
import { StatusError, quotaFailure } from '../kernel/status.ts';
import { HOUR_MS, MICROS_PER_USD } from '../kernel/units.ts';
import { type AuditEntry, recordThrough } from '../audit/audit.ts';
import type { Store, Tx } from '../store/store.ts';
import {
  type CheckoutRow,
  countCheckouts,
  getCheckout,
  insertCheckout,
  markCheckoutExpired,
  markCheckoutPaid,
  nameCheckout,
} from './checkout-rows.ts';
import { refundedMicros } from './ledger-rows.ts';
import { post } from './ledger.ts';
import type { Checkout, CheckoutEvent, CheckoutOrder, CheckoutPage } from './payments.ts';

/** Most checkouts that an account may open in an hour, because each is a row and a session at the provider. */
const CHECKOUTS_AN_HOUR = 30;
/** An open test payment expires after this time, as with real providers. */
const TEST_EXPIRY_MS = 24 * HOUR_MS;
const MICROS_PER_CENT = 10_000;

const record = recordThrough('system checkout');

/** Funds wallets through a provider's pages. Each paid checkout is credited once, however often it is reported. */
export class Checkouts {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #checkout: Checkout | undefined;
  readonly #baseUrl: string;

  /** `checkout`: undefined if payments are off. `baseUrl`: of the pages. */
  constructor(
    { store, clock, log }: { store: Store; clock: Clock; log: Log },
    checkout: Checkout | undefined,
    baseUrl: string,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#checkout = checkout;
    this.#baseUrl = baseUrl;
  }

  /** The payment provider; undefined if absent. */
  get provider(): Checkout['provider'] | undefined {
    return this.#checkout?.provider;
  }

  /**
   * Opens a checkout and returns the address of its page. Throws UNIMPLEMENTED without a provider; RESOURCE_EXHAUSTED
   * CHECKOUT_LIMIT after too many in an hour; UNAVAILABLE if the provider is unreachable.
   */
  async create(
    accountId: string,
    amountUsd: number,
    recordOpen: (tx: Tx, entry: AuditEntry) => Promise<void>,
  ): Promise<string> {
    const checkout = this.#checkout;
    if (checkout === undefined) throw off();
    const { provider } = checkout;
    const createdAt = this.#clock.now();
    const id = `chk_${randomBase62(22)}`;
    const amountMicros = amountUsd * MICROS_PER_USD;
    const order = { id, accountId, provider, amountUsd, amountMicros, createdAt };
    await this.#store.write(async (tx) => {
      if ((await countCheckouts(tx, accountId, createdAt - HOUR_MS)) >= CHECKOUTS_AN_HOUR) throw tooMany(accountId);
      await insertCheckout(tx, { ...order, state: 'open', providerRef: null, paidAt: null });
      const detail = `${amountUsd} USD, ${id}`;
      await recordOpen(tx, { accountId, action: 'checkout.open', detail, at: createdAt });
    });
    const returnUrl = `${this.#baseUrl}/checkout/${id}`;
    const page = await this.#openPage(checkout, { checkoutId: id, amountUsd, returnUrl });
    // The callback may arrive before this write, but it uses our own id.
    if (page.providerRef !== '') await this.#store.write((tx) => nameCheckout(tx, id, page.providerRef));
    return page.url;
  }

  async find(id: string): Promise<CheckoutRow | undefined> {
    const row = await getCheckout(this.#store, id);
    return row && this.#isStale(row) ? { ...row, state: 'expired' } : row;
  }

  /** Credits or cancels a test payment and returns the result. Throws NOT_FOUND for an unknown one. */
  async settleTest(id: string, decision: 'pay' | 'cancel'): Promise<CheckoutRow> {
    const { row, credited } = await this.#store.write(async (tx) => {
      const row = this.provider === 'test' ? await getCheckout(tx, id) : undefined;
      if (row?.provider !== 'test') throw notFound();
      const payable = row.state === 'open' && !this.#isStale(row) && decision === 'pay';
      const credited = payable ? await credit(tx, row, this.#clock.now()) : undefined;
      if (credited === undefined) await markCheckoutExpired(tx, id);
      return { row: (await getCheckout(tx, id)) ?? row, credited };
    });
    if (credited !== undefined) this.#announce(credited, id);
    return row;
  }

  /**
   * Processes a provider's callback: paid, expired, refunded, disputed. Throws NOT_FOUND for an unknown provider, and
   * INVALID_ARGUMENT for an invalid signature. An event of no known checkout is logged and accepted, because a retry
   * would change nothing.
   */
  async callback(provider: string, body: Buffer, signature: string): Promise<void> {
    const checkout = this.#checkout;
    if (checkout?.readCallback === undefined || checkout.provider !== provider) {
      throw new StatusError('NOT_FOUND', 'ROUTE_NOT_FOUND', 'No such address.');
    }
    const event = await checkout.readCallback(body, signature, this.#clock.now());
    if (event.type === 'other') return;
    const moved = await this.#store.write((tx) => this.#settle(tx, event, provider));
    if (moved !== undefined) this.#announce(moved, event.checkoutId);
  }

  /**
   * Opens the provider's page. A refused checkout does not count, because it cannot be paid. After any other failure, a
   * page may exist.
   */
  async #openPage(provider: Checkout, order: CheckoutOrder): Promise<CheckoutPage> {
    try {
      return await provider.open(order);
    } catch (error) {
      const refused = error instanceof StatusError && error.reason === 'CHECKOUT_REFUSED';
      if (refused) await this.#store.write((tx) => markCheckoutExpired(tx, order.checkoutId));
      throw error;
    }
  }

  /** Reports whether a test payment has expired. Real providers report that themselves. */
  #isStale({ provider, state, createdAt }: CheckoutRow): boolean {
    return provider === 'test' && state === 'open' && this.#clock.now() - createdAt >= TEST_EXPIRY_MS;
  }

  #announce(account: string, checkout: string): void {
    this.#log.info({ account, checkout }, 'a payment changed a wallet balance');
  }

  /**
   * Converts a payment report to a wallet movement, once, however often and in whatever order reports arrive: writes
   * are serialized. Returns the account whose wallet has moved, if any.
   */
  async #settle(tx: Tx, event: CheckoutEvent, provider: string): Promise<string | undefined> {
    const row = await getCheckout(tx, event.checkoutId);
    const about = { event: event.id, checkout: event.checkoutId, session: event.providerRef, provider };
    if (row === undefined || row.provider !== provider) {
      this.#log.warn(about, 'a payment event refers to an unknown checkout');
      return undefined;
    }
    if (row.providerRef !== null && row.providerRef !== event.providerRef) {
      this.#log.error(about, 'a payment event has a different session than its checkout; not credited');
      return undefined;
    }
    if (event.type === 'expired') {
      await markCheckoutExpired(tx, row.id);
      return undefined;
    }
    // A payment with another amount was never credited, so its refund is ignored, too.
    if (event.paidCents !== row.amountUsd * 100) {
      const { paidCents } = event;
      this.#log.error({ ...about, paidCents, amountUsd: row.amountUsd }, 'the paid amount is wrong; not credited');
      return undefined;
    }
    const at = this.#clock.now();
    if (event.type === 'paid') return credit(tx, row, at);
    return event.type === 'refunded' ? refund(tx, row, event, at) : dispute(tx, row, event, at);
  }
}

/** Credits a payment. Accepts an expired checkout, because the money has arrived. */
async function credit(tx: Tx, row: CheckoutRow, at: number): Promise<string | undefined> {
  const { id, accountId, provider, amountUsd, amountMicros } = row;
  if (!(await markCheckoutPaid(tx, id, at))) return undefined;
  const note = provider === 'test' ? `Test payment of ${amountUsd} USD` : `Payment of ${amountUsd} USD`;
  if (!(await post(tx, { accountId, kind: 'topup', ref: id, amountMicros, note, at }))) return undefined;
  await record(tx, { accountId, action: 'wallet.topup', detail: `${amountUsd} USD by ${provider}, ${id}`, at });
  return accountId;
}

/** Books a refund. Providers report the total refunded so far, and possibly out of order. */
async function refund(tx: Tx, row: CheckoutRow, { backCents }: CheckoutEvent, at: number): Promise<string | undefined> {
  const { id, accountId, provider } = row;
  const micros = backCents * MICROS_PER_CENT - (await refundedMicros(tx, accountId, `${id}/`));
  if (micros <= 0) return undefined;
  const amount = usdText(micros);
  const ref = `${id}/${backCents}`;
  const note = `Refund of ${amount} to the payer`;
  await post(tx, { accountId, kind: 'refund', ref, amountMicros: -micros, note, at });
  await record(tx, { accountId, action: 'wallet.refund', detail: `${amount} by ${provider}, ${id}`, at });
  return accountId;
}

/** Books a dispute. The payer's bank takes the money at once and returns it if the dispute is won. */
async function dispute(tx: Tx, row: CheckoutRow, event: CheckoutEvent, at: number): Promise<string | undefined> {
  const { id, accountId, provider } = row;
  const { type, disputeId, backCents } = event;
  const won = type === 'reinstated';
  const amount = usdText(backCents * MICROS_PER_CENT);
  const amountMicros = (won ? 1 : -1) * backCents * MICROS_PER_CENT;
  const ref = `${id}/${type}/${disputeId}`;
  const note = `Disputed payment of ${amount} ${won ? 'returned' : 'withdrawn by the bank'}`;
  if (!(await post(tx, { accountId, kind: 'adjustment', ref, amountMicros, note, at }))) return undefined;
  await record(tx, { accountId, action: 'wallet.dispute', detail: `${note}; ${provider}, ${id}`, at });
  return accountId;
}

function off(): StatusError {
  const message = 'Online payment is off. Ask the operator for credit.';
  return new StatusError('UNIMPLEMENTED', 'CHECKOUT_OFF', message);
}

function notFound(): StatusError {
  return new StatusError('NOT_FOUND', 'CHECKOUT_NOT_FOUND', 'There is no such checkout.');
}

function tooMany(accountId: string): StatusError {
  const message = `An account may open ${CHECKOUTS_AN_HOUR} checkouts an hour. Use an open one, or try again later.`;
  return new StatusError('RESOURCE_EXHAUSTED', 'CHECKOUT_LIMIT', message, {
    metadata: { limit: String(CHECKOUTS_AN_HOUR) },
    details: [quotaFailure(`account:${accountId}`, message)],
    retryAfterSeconds: HOUR_MS / 1_000,
  });
}
