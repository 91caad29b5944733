import { Stripe } from 'stripe';
import { StatusError } from '../kernel/status.ts';
import type { Checkout, CheckoutEvent } from './payments.ts';

const TIMEOUT_MS = 10_000;
const RETRIES = 2;
/** Maximum age of a callback, which makes recorded ones useless. Stripe signs every retry anew. */
const TOLERANCE_SECONDS = 300;

/**
 * Stripe Checkout (https://docs.stripe.com/payments/checkout): a hosted page for each order, and signed events at our
 * webhook (https://docs.stripe.com/webhooks), which must be subscribed to `checkout.session.*`, `charge.refunded` and
 * `charge.dispute.*`. `webhookSecret`: of the webhook endpoint, `whsec_…`. `apiUrl`: '' for Stripe's own. `timeoutMs`:
 * limit of one attempt.
 */
export function createStripeCheckout({
  secretKey,
  webhookSecret,
  apiUrl,
  timeoutMs = TIMEOUT_MS,
}: {
  secretKey: string;
  webhookSecret: string;
  apiUrl: string;
  timeoutMs?: number;
}): Checkout {
  const stripe = new Stripe(secretKey, {
    ...(apiUrl !== '' && apiAt(new URL(apiUrl))),
    timeout: timeoutMs,
    maxNetworkRetries: RETRIES,
    telemetry: false,
  });

  return {
    provider: 'stripe',

    async open({ checkoutId, amountUsd, returnUrl }) {
      try {
        const session = await stripe.checkout.sessions.create(
          {
            mode: 'payment',
            submit_type: 'pay',
            client_reference_id: checkoutId,
            line_items: [
              {
                quantity: 1,
                price_data: {
                  currency: 'usd',
                  unit_amount: amountUsd * 100,
                  product_data: { name: 'Game server credit' },
                },
              },
            ],
            success_url: returnUrl,
            cancel_url: returnUrl,
          },
          { idempotencyKey: checkoutId },
        );
        if (session.url === null) throw new Error('the session has no page');
        return { url: session.url, providerRef: session.id };
      } catch (cause) {
        if (isRefusal(cause)) throw refused(cause);
        throw unavailable('The payment provider is unreachable. You were not charged. Try again in a minute.', cause);
      }
    },

    async readCallback(body, signature, at) {
      let event: Stripe.Event;
      try {
        event = stripe.webhooks.constructEvent(body, signature, webhookSecret, TOLERANCE_SECONDS, undefined, at);
      } catch (cause) {
        throw new StatusError('INVALID_ARGUMENT', 'SIGNATURE_INVALID', 'The signature is invalid or too old.', {
          cause,
        });
      }
      return eventOf(stripe, event);
    },
  };
}

/** Converts an event. A slow payment method first sends `completed` as unpaid, then `async_payment_succeeded`. */
async function eventOf(stripe: Stripe, event: Stripe.Event): Promise<CheckoutEvent> {
  const { id, type } = event;
  if (type === 'checkout.session.completed' || type === 'checkout.session.async_payment_succeeded') {
    const session = event.data.object;
    return about(session.payment_status === 'paid' ? 'paid' : 'other', id, session);
  }
  if (type === 'checkout.session.expired' || type === 'checkout.session.async_payment_failed') {
    return about('expired', id, event.data.object);
  }
  if (type === 'charge.refunded') {
    const charge = event.data.object;
    return { ...(await aboutPayment(stripe, 'refunded', id, paymentOf(charge))), backCents: charge.amount_refunded };
  }
  if (type === 'charge.dispute.created' || type === 'charge.dispute.funds_withdrawn') {
    return aboutDispute(stripe, 'disputed', id, event.data.object);
  }
  if (type === 'charge.dispute.funds_reinstated') return aboutDispute(stripe, 'reinstated', id, event.data.object);
  return other(id);
}

/** Converts an event about a dispute. An inquiry (`warning_…`) moves no money and is ignored. */
async function aboutDispute(
  stripe: Stripe,
  type: CheckoutEvent['type'],
  id: string,
  dispute: Stripe.Dispute,
): Promise<CheckoutEvent> {
  if (dispute.status.startsWith('warning_')) return other(id);
  return {
    ...(await aboutPayment(stripe, type, id, paymentOf(dispute))),
    backCents: dispute.amount,
    disputeId: dispute.id,
  };
}

/** Finds the order of a payment. Queries Stripe, because a refund may be reported before the payment. */
async function aboutPayment(
  stripe: Stripe,
  type: CheckoutEvent['type'],
  id: string,
  payment: string,
): Promise<CheckoutEvent> {
  if (payment === '') return other(id);
  try {
    const { data } = await stripe.checkout.sessions.list({ payment_intent: payment, limit: 1 });
    // The Stripe account may sell other things, too.
    return data[0]?.client_reference_id ? about(type, id, data[0]) : other(id);
  } catch (cause) {
    throw unavailable('The payment provider does not respond to a query. Send the event again later.', cause);
  }
}

function other(id: string): CheckoutEvent {
  return { id, type: 'other', checkoutId: '', providerRef: '', paidCents: null, backCents: 0, disputeId: '' };
}

/** Returns the payment of a refund or a dispute. Only the payment's session names the order. */
function paymentOf({ payment_intent: intent }: Stripe.Charge | Stripe.Dispute): string {
  return typeof intent === 'string' ? intent : (intent?.id ?? '');
}

function about(type: CheckoutEvent['type'], id: string, session: Stripe.Checkout.Session): CheckoutEvent {
  return {
    id,
    type,
    checkoutId: session.client_reference_id ?? '',
    providerRef: session.id,
    // The order is in US dollars; an amount in another currency is not comparable.
    paidCents: session.currency === 'usd' ? session.amount_total : null,
    backCents: 0,
    disputeId: '',
  };
}

/**
 * Reports whether Stripe rejected the order. After any other error, or a conflict of two attempts, a session may exist.
 */
function isRefusal(error: unknown): boolean {
  const status = error instanceof Stripe.errors.StripeError ? (error.statusCode ?? 0) : 0;
  return status >= 400 && status < 500 && status !== 409 && status !== 429;
}

function refused(cause: unknown): StatusError {
  const message = 'The payment provider refused the order. You were not charged. Contact the operator.';
  return new StatusError('FAILED_PRECONDITION', 'CHECKOUT_REFUSED', message, { cause });
}

function unavailable(message: string, cause: unknown): StatusError {
  return new StatusError('UNAVAILABLE', 'CHECKOUT_UNAVAILABLE', message, { cause, retryAfterSeconds: 30 });
}

function apiAt({ protocol, hostname, port }: URL): Stripe.StripeConfig {
  const scheme = protocol === 'http:' ? 'http' : 'https';
  return { protocol: scheme, host: hostname, port: port || (scheme === 'http' ? '80' : '443') };
}
