import type { Log } from '../kernel/log.ts';
import { usdText } from '../kernel/money.ts';
import type { Tx } from '../store/store.ts';
import { type CheckoutRow, getCheckout, markCheckoutExpired, markCheckoutPaid } from './checkout-rows.ts';
import { refundedMicros } from './ledger-rows.ts';
import { post } from './ledger.ts';
import type { CheckoutEvent } from './payments.ts';

/** An entry for the audit log about a checkout or a movement of money. */
export interface CheckoutEntry {
  accountId: string;
  action: 'checkout.open' | 'wallet.topup' | 'wallet.refund' | 'wallet.dispute';
  detail: string;
  at: number;
}

export interface SettlementOptions {
  log: Log;
  /** Adds an audit entry in the write of the movement. */
  record: (tx: Tx, entry: CheckoutEntry) => Promise<void>;
}

/**
 * Converts payment reports to wallet movements, each once, however often and in whatever order they are reported. All
 * methods run in the caller's write, and writes are serialized. They return the account whose wallet has moved, if any.
 */
export interface Settlement {
  /** Credits a payment. Accepts an expired checkout, because the money has arrived. */
  credit(tx: Tx, row: CheckoutRow, at: number): Promise<string | undefined>;
  settle(tx: Tx, event: CheckoutEvent, provider: string, at: number): Promise<string | undefined>;
}

const MICROS_PER_CENT = 10_000;

export function createSettlement({ log, record }: SettlementOptions): Settlement {
  return { credit, settle };

  async function settle(tx: Tx, event: CheckoutEvent, provider: string, at: number): Promise<string | undefined> {
    const row = await getCheckout(tx, event.checkoutId);
    const about = { event: event.id, checkout: event.checkoutId, session: event.providerRef, provider };
    if (row === undefined || row.provider !== provider) {
      log.warn(about, 'a payment event refers to an unknown checkout');
      return undefined;
    }
    if (row.providerRef !== null && row.providerRef !== event.providerRef) {
      log.error(about, 'a payment event has a different session than its checkout; not credited');
      return undefined;
    }
    if (event.type === 'expired') {
      await markCheckoutExpired(tx, row.id);
      return undefined;
    }
    // A payment with another amount was never credited, so its refund is ignored, too.
    if (event.paidCents !== row.amountUsd * 100) {
      const { paidCents } = event;
      log.error({ ...about, paidCents, amountUsd: row.amountUsd }, 'the paid amount is wrong; not credited');
      return undefined;
    }
    if (event.type === 'paid') return credit(tx, row, at);
    return event.type === 'refunded' ? refund(tx, row, event, at) : dispute(tx, row, event, at);
  }

  async function credit(tx: Tx, row: CheckoutRow, at: number): Promise<string | undefined> {
    const { id, accountId, provider, amountUsd, amountMicros } = row;
    if (!(await markCheckoutPaid(tx, id, at))) return undefined;
    const note = provider === 'test' ? `Test payment of ${amountUsd} USD` : `Payment of ${amountUsd} USD`;
    if (!(await post(tx, { accountId, kind: 'topup', ref: id, amountMicros, note, at }))) return undefined;
    await record(tx, { accountId, action: 'wallet.topup', detail: `${amountUsd} USD by ${provider}, ${id}`, at });
    return accountId;
  }

  /** Books a refund. Providers report the total refunded so far, and possibly out of order. */
  async function refund(
    tx: Tx,
    row: CheckoutRow,
    { backCents }: CheckoutEvent,
    at: number,
  ): Promise<string | undefined> {
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
}
