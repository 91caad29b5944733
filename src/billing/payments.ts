/** A payment that a user is about to make. */
export interface CheckoutOrder {
  /** Our id. A provider opens only one page for it, even if called twice. */
  checkoutId: string;
  /** Whole dollars. */
  amountUsd: number;
  /** Our page about the checkout, to which the payer returns. */
  returnUrl: string;
}

/** A provider's page for paying an order. */
export interface CheckoutPage {
  url: string;
  /** The provider's id; '' if it needs none. */
  providerRef: string;
}

/**
 * A provider's report about an order: that money was paid or returned, for example. The amount to credit comes from our
 * order.
 */
export interface CheckoutEvent {
  /** The provider's id of the event. */
  id: string;
  /**
   * `disputed`: the payer's bank has taken the money back; `reinstated`: it has returned it. `other` events are
   * ignored.
   */
  type: 'paid' | 'expired' | 'refunded' | 'disputed' | 'reinstated' | 'other';
  checkoutId: string;
  providerRef: string;
  /** The amount paid, in cents, for comparison with the order; null if the currency is not US dollars. */
  paidCents: number | null;
  /** `refunded`: the total refunded so far, in cents; `disputed`, `reinstated`: the disputed amount; otherwise 0. */
  backCents: number;
  /** The provider's id of the dispute; '' if absent. */
  disputeId: string;
}

/** A payment provider with its own pages. */
export interface Checkout {
  readonly provider: 'stripe' | 'test';
  /**
   * Opens a page. Rejects with StatusError UNAVAILABLE if the provider is unreachable; FAILED_PRECONDITION
   * CHECKOUT_REFUSED if it refuses, in which case certainly no page exists.
   */
  open(order: CheckoutOrder): Promise<CheckoutPage>;
  /**
   * Reads a provider's callback. Its content is trusted only if the signature over the raw bytes is valid and recent.
   * Rejects with StatusError INVALID_ARGUMENT SIGNATURE_INVALID, or UNAVAILABLE if the provider must be queried and
   * does not respond, so that it repeats the report. Absent if the provider makes no callbacks.
   */
  readCallback?(body: Buffer, signature: string, at: number): Promise<CheckoutEvent>;
}

/**
 * Payments without money, for trying things out. The order's page is our own and says that no money moves. There are no
 * callbacks, because the page itself reports the pressed button.
 */
export function createTestCheckout(): Checkout {
  return {
    provider: 'test',
    open: async ({ returnUrl }) => ({ url: returnUrl, providerRef: '' }),
  };
}
