/** A payment that somebody is about to make. */
export interface CheckoutOrder {
  /** Ours. Asked twice for the same one, a provider opens one page. */
  checkoutId: string;
  /** Whole dollars. */
  amountUsd: number;
  /** Our own page about the checkout, where the payer comes back to. */
  returnUrl: string;
}

/** A provider's page on which an order can be paid. */
export interface CheckoutPage {
  url: string;
  /** The provider's id; '' if it needs none. */
  providerRef: string;
}

/** A provider's report about an order. It states that money came or went, never how much: that is ours to know. */
export interface CheckoutEvent {
  /** The provider's; unique among its events. */
  id: string;
  /** `disputed`: the payer's bank has taken the money back; `reinstated`: it has returned it. `other` is of no concern. */
  type: 'paid' | 'expired' | 'refunded' | 'disputed' | 'reinstated' | 'other';
  checkoutId: string;
  providerRef: string;
  /** The price of what was really paid, to be held against the order. In cents; null for another currency than US dollars. */
  paidCents: number | null;
  /** `refunded`: how much of it has gone back by now in all; `disputed`, `reinstated`: how much the dispute is about; else 0. */
  backCents: number;
  /** The provider's id of the dispute; '' without one. */
  disputeId: string;
}

/** Takes payments, on pages of its own. */
export interface Checkout {
  readonly provider: 'stripe' | 'test';
  /**
   * Rejects with StatusError UNAVAILABLE where the provider cannot be reached; FAILED_PRECONDITION CHECKOUT_REFUSED where it
   * refuses, and there surely is no page now.
   */
  open(order: CheckoutOrder): Promise<CheckoutPage>;
  /**
   * Reads a provider's callback. Its content is trusted only if the signature over the raw bytes is right and recent.
   * Rejects with StatusError INVALID_ARGUMENT SIGNATURE_INVALID, or UNAVAILABLE if the provider must be queried and
   * does not respond: then it has to repeat the report. Absent: the provider makes no callbacks.
   */
  readCallback?(body: Buffer, signature: string, at: number): Promise<CheckoutEvent>;
}
