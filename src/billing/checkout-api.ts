import * as z from 'zod';
import { Raw, int32, message, reply } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { KIB } from '../kernel/units.ts';
import { AccountParams } from '../accounts/fields.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import { wholeAccount } from '../access/caller.ts';
import type { Checkouts } from './checkout.ts';

const MOST_USD = 1_000;
/** An event contains one object of the provider, a few KiB in size. */
const CALLBACK_BYTES = 256 * KIB;

export const CreateCheckoutLink = operation({
  id: 'CreateCheckoutLink',
  method: 'post',
  path: '/v1/accounts/{accountId}/checkout-link',
  auth: 'key',
  scope: 'billing:read',
  section: 'Account and wallet',
  summary: 'Open a checkout',
  description:
    'Returns the address of a payment page. Once paid, the amount is in the wallet; no further call is needed.',
  params: AccountParams,
  body: message({ amountUsd: int32({ min: 1, max: MOST_USD }).describe('Whole US dollars.') }).meta({
    id: 'CreateCheckoutLinkRequest',
  }),
  example: { amountUsd: 10 },
  reply: z.object({ checkoutUrl: reply.text }).meta({ id: 'CreateCheckoutLinkResponse' }),
});

/** The callback of payment providers. The signature over the raw body is the only credential. */
export const CheckoutCallback = operation({
  id: 'CheckoutCallback',
  method: 'post',
  path: '/v1/public/checkout/{provider}',
  auth: 'none',
  summary: 'Receive a payment event',
  description:
    'The webhook of the configured payment provider, for bodies of at most 256 KiB. Returns `{}` once the event ' +
    'is stored, or if it does not concern this service. A repeated event changes nothing.',
  params: z.object({ provider: z.string().describe('`stripe`.') }),
  // A missing signature is checked like a wrong one, so that an unknown provider is reported first.
  headers: z.object({
    'stripe-signature': z.preprocess(
      (given = '') => given,
      z.string().describe('Stripe’s signature over the raw body.'),
    ),
  }),
  takes: 'raw',
  body: Raw,
  bodyLimitBytes: CALLBACK_BYTES,
  reply: Nothing,
});

export const checkoutOperations = (checkouts: Checkouts): readonly Served[] => [
  serve(CheckoutCallback, async ({ params, body, headers }) =>
    checkouts.callback(params.provider, body, headers['stripe-signature']),
  ),
  serve(CreateCheckoutLink, async ({ params, body, principal }) => {
    const accountId = wholeAccount(principal, params.accountId);
    const checkoutUrl = await checkouts.create(accountId, body.amountUsd, (tx, entry) =>
      recordAudit(tx, auditActorOf(principal), entry),
    );
    return { checkoutUrl };
  }),
];
