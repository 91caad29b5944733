import type { Clock } from '../kernel/clock.ts';
import { randomBase62 } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError, quotaFailure } from '../kernel/status.ts';
import { HOUR_MS, MICROS_PER_USD } from '../kernel/units.ts';
import type { Store, Tx } from '../store/store.ts';
import {
  type CheckoutRow,
  countCheckouts,
  getCheckout,
  insertCheckout,
  markCheckoutExpired,
  nameCheckout,
} from './checkout-rows.ts';
import type { Checkout, CheckoutOrder, CheckoutPage } from './payments.ts';
import { type CheckoutEntry, createSettlement } from './settlement.ts';

/** Funds wallets through a provider's pages. Each paid checkout is credited once, however often it is reported. */
export interface Checkouts {
  /** The payment provider; undefined if absent. */
  readonly provider: Checkout['provider'] | undefined;
  /**
   * Opens a checkout and returns the address of its page. Throws UNIMPLEMENTED without a provider; RESOURCE_EXHAUSTED
   * CHECKOUT_LIMIT after too many in an hour; UNAVAILABLE if the provider is unreachable.
   */
  create(
    accountId: string,
    amountUsd: number,
    record: (tx: Tx, entry: CheckoutEntry) => Promise<void>,
  ): Promise<string>;
  find(id: string): Promise<CheckoutRow | undefined>;
  /** Credits or cancels a test payment and returns the result. Throws NOT_FOUND for an unknown one. */
  settleTest(id: string, decision: 'pay' | 'cancel'): Promise<CheckoutRow>;
  /**
   * Processes a provider's callback: paid, expired, refunded, disputed. Throws NOT_FOUND for an unknown provider, and
   * INVALID_ARGUMENT for an invalid signature. An event of no known checkout is logged and accepted, because a retry
   * would change nothing.
   */
  callback(provider: string, body: Buffer, signature: string): Promise<void>;
}

export interface CheckoutsOptions {
  store: Store;
  clock: Clock;
  log: Log;
  /** Undefined if payments are off. */
  checkout: Checkout | undefined;
  /** Base URL of the pages. */
  baseUrl: string;
  /** Adds an audit entry in the write of the movement. */
  record: (tx: Tx, entry: CheckoutEntry) => Promise<void>;
}

/** Most checkouts that an account may open in an hour, because each is a row and a session at the provider. */
const CHECKOUTS_AN_HOUR = 30;
/** An open test payment expires after this time, as with real providers. */
const TEST_EXPIRY_MS = 24 * HOUR_MS;

export function createCheckouts({ store, clock, log, checkout, baseUrl, record }: CheckoutsOptions): Checkouts {
  const settlement = createSettlement({ log, record });
  return {
    provider: checkout?.provider,

    async create(accountId, amountUsd, recordOpen) {
      if (checkout === undefined) throw off();
      const { provider } = checkout;
      const at = clock.now();
      const id = `chk_${randomBase62(22)}`;
      const amountMicros = amountUsd * MICROS_PER_USD;
      await store.write(async (tx) => {
        if ((await countCheckouts(tx, accountId, at - HOUR_MS)) >= CHECKOUTS_AN_HOUR) throw tooMany(accountId);
        const state = 'open';
        const row = {
          id,
          accountId,
          provider,
          amountUsd,
          amountMicros,
          state,
          providerRef: null,
          paidAt: null,
        } as const;
        await insertCheckout(tx, { ...row, createdAt: at });
        await recordOpen(tx, { accountId, action: 'checkout.open', detail: `${amountUsd} USD, ${id}`, at });
      });
      const page = await openPage(checkout, { checkoutId: id, amountUsd, returnUrl: `${baseUrl}/checkout/${id}` });
      // The callback may arrive before this write, but it uses our own id.
      if (page.providerRef !== '') await store.write((tx) => nameCheckout(tx, id, page.providerRef));
      return page.url;
    },

    async find(id) {
      const row = await getCheckout(store, id);
      return row && isStale(row) ? { ...row, state: 'expired' } : row;
    },

    async settleTest(id, decision) {
      const { row, credited } = await store.write(async (tx) => {
        const row = checkout?.provider === 'test' ? await getCheckout(tx, id) : undefined;
        if (row?.provider !== 'test') throw notFound();
        const payable = row.state === 'open' && !isStale(row) && decision === 'pay';
        const credited = payable ? await settlement.credit(tx, row, clock.now()) : undefined;
        if (credited === undefined) await markCheckoutExpired(tx, id);
        return { row: (await getCheckout(tx, id)) ?? row, credited };
      });
      if (credited !== undefined) announce(credited, id);
      return row;
    },

    async callback(provider, body, signature) {
      if (checkout?.readCallback === undefined || checkout.provider !== provider) {
        throw new StatusError('NOT_FOUND', 'ROUTE_NOT_FOUND', 'No such address.');
      }
      const event = await checkout.readCallback(body, signature, clock.now());
      if (event.type === 'other') return;
      const moved = await store.write((tx) => settlement.settle(tx, event, provider, clock.now()));
      if (moved !== undefined) announce(moved, event.checkoutId);
    },
  };

  /**
   * Opens the provider's page. A refused checkout does not count, because it cannot be paid. After any other failure, a
   * page may exist.
   */
  async function openPage(provider: Checkout, order: CheckoutOrder): Promise<CheckoutPage> {
    try {
      return await provider.open(order);
    } catch (error) {
      const refused = error instanceof StatusError && error.reason === 'CHECKOUT_REFUSED';
      if (refused) await store.write((tx) => markCheckoutExpired(tx, order.checkoutId));
      throw error;
    }
  }

  /** Reports whether a test payment has expired. Real providers report that themselves. */
  function isStale({ provider, state, createdAt }: CheckoutRow): boolean {
    return provider === 'test' && state === 'open' && clock.now() - createdAt >= TEST_EXPIRY_MS;
  }

  function announce(account: string, checkout: string): void {
    log.info({ account, checkout }, 'a payment changed a wallet balance');
  }
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
