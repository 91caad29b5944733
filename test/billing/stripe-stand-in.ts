import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

export const STRIPE_SECRET = 'sk_test_stand_in';
export const WEBHOOK_SECRET = 'whsec_stand_in';

/** A Checkout Session as Stripe's API returns it. */
export type CheckoutSession = Record<string, unknown> & { id: string; url: string; amount_total: number };

/** A local stand-in for Stripe's API. It creates and finds Checkout Sessions, in Stripe's formats. */
export interface StripeStandIn {
  url: string;
  /** The requests, oldest first: form fields and relevant headers. */
  asked: { form: URLSearchParams; authorization: string; idempotencyKey: string }[];
  sessions: CheckoutSession[];
  /** Error statuses for the next requests. */
  failures: number[];
}

export async function stripeStandIn(t: ExecutionContext): Promise<StripeStandIn> {
  const it: StripeStandIn = { url: '', asked: [], sessions: [], failures: [] };
  const byKey = new Map<string, CheckoutSession>();
  const server = createServer((request, response) => {
    void (async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const answer = (status: number, json: object) => {
        response.writeHead(status, { 'content-type': 'application/json', 'request-id': `req_${it.asked.length}` });
        response.end(JSON.stringify(json));
      };
      const asked = new URL(request.url ?? '/', 'http://stripe');
      const form = request.method === 'GET' ? asked.searchParams : new URLSearchParams(body);
      const { authorization = '', 'idempotency-key': idempotencyKey = '' } = request.headers;
      it.asked.push({ form, authorization, idempotencyKey: String(idempotencyKey) });
      const failure = it.failures.shift();
      if (failure !== undefined) {
        answer(failure, { error: { type: 'api_error', message: 'An unknown error occurred' } });
      } else if (asked.pathname !== '/v1/checkout/sessions') {
        answer(404, { error: { type: 'invalid_request_error', message: `Unrecognized request URL (${request.url})` } });
      } else if (authorization !== `Bearer ${STRIPE_SECRET}`) {
        answer(401, { error: { type: 'invalid_request_error', message: 'Invalid API Key provided' } });
      } else if (request.method === 'GET') {
        const data = it.sessions.filter((session) => intentOf(session) === form.get('payment_intent'));
        answer(200, { object: 'list', data, has_more: false, url: '/v1/checkout/sessions' });
      } else {
        const known = byKey.get(String(idempotencyKey));
        const session = known ?? newSession(form, it.sessions.length + 1);
        if (!known) it.sessions.push(session);
        byKey.set(String(idempotencyKey), session);
        answer(200, session);
      }
    })();
  }).listen(0, '127.0.0.1');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  it.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return it;
}

/** An event about a session, as Stripe posts it. */
export function stripeEvent(id: string, type: string, session: object, at: number): string {
  const request = { id: null, idempotency_key: null };
  const created = Math.floor(at / 1_000);
  const rest = { api_version: '2026-01-28', created, livemode: false, pending_webhooks: 1, request, type };
  return JSON.stringify({ id, object: 'event', ...rest, data: { object: session } }, null, 2);
}

/** `Stripe-Signature` for a body (https://docs.stripe.com/webhooks/signature), computed without Stripe's library. */
export function sign(body: string, at: number, secret = WEBHOOK_SECRET): string {
  const time = Math.floor(at / 1_000);
  return `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')},v0=00`;
}

/** The session after its payment. */
export function paid(session: CheckoutSession, more: object = {}): object {
  const intent = { payment_intent: intentOf(session), status: 'complete', url: null };
  return { ...session, ...intent, payment_status: 'paid', ...more };
}

/** The charge of a paid session, with the amount refunded so far. */
export function charge(session: CheckoutSession, refundedCents: number): object {
  const amounts = {
    amount: session.amount_total,
    amount_captured: session.amount_total,
    amount_refunded: refundedCents,
  };
  const rest = { currency: 'usd', captured: true, paid: true, refunded: refundedCents === session.amount_total };
  return {
    id: `ch_${session.id}`,
    object: 'charge',
    ...amounts,
    ...rest,
    payment_intent: intentOf(session),
    metadata: {},
  };
}

/** A dispute of a paid session's charge. */
export function dispute(session: CheckoutSession, id: string, status: string, cents = session.amount_total): object {
  const about = { charge: `ch_${session.id}`, payment_intent: intentOf(session), reason: 'fraudulent' };
  return { id, object: 'dispute', amount: cents, currency: 'usd', status, ...about, metadata: {} };
}

function intentOf({ id }: CheckoutSession): string {
  return `pi_${id}`;
}

function newSession(form: URLSearchParams, nth: number): CheckoutSession {
  const id = `cs_test_a1StandIn${nth}`;
  const amount =
    Number(form.get('line_items[0][price_data][unit_amount]')) * Number(form.get('line_items[0][quantity]'));
  return {
    id,
    object: 'checkout.session',
    after_expiration: null,
    allow_promotion_codes: null,
    amount_subtotal: amount,
    amount_total: amount,
    automatic_tax: { enabled: false, liability: null, provider: null, status: null },
    billing_address_collection: null,
    cancel_url: form.get('cancel_url'),
    client_reference_id: form.get('client_reference_id'),
    consent: null,
    consent_collection: null,
    created: 1_700_000_000,
    currency: form.get('line_items[0][price_data][currency]'),
    custom_fields: [],
    customer: null,
    customer_creation: 'if_required',
    customer_details: null,
    customer_email: null,
    expires_at: 1_700_086_400,
    invoice: null,
    livemode: false,
    locale: null,
    metadata: {},
    mode: form.get('mode'),
    payment_intent: null,
    payment_link: null,
    payment_method_types: ['card'],
    payment_status: 'unpaid',
    recovered_from: null,
    status: 'open',
    submit_type: form.get('submit_type'),
    subscription: null,
    success_url: form.get('success_url'),
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    ui_mode: 'hosted',
    url: `https://checkout.stripe.com/c/pay/${id}#fidkdWxOYHwnPyd1blpxYHZxWjA0`,
  };
}
