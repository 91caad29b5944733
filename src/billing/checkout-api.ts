import type { Router } from '@koa/router';
import { z } from 'zod';
import { readBody } from '../http/body.ts';
import { int32, message, reply } from '../http/fields.ts';
import { type Operation, operation } from '../http/operation.ts';
import { KIB } from '../kernel/units.ts';
import { AccountParams } from '../people/account-params.ts';
import { auditActorOf, recordAudit } from '../people/audit/audit.ts';
import { ownAccount, requireWholeAccount } from '../people/caller.ts';
import type { Checkouts } from './checkout.ts';

/** What these operations work with. */
interface Needs {
  checkouts: Checkouts;
}

const MOST_USD = 1_000;
/** Events carry one object of the provider's, a few KiB each. */
const CALLBACK_BYTES = 256 * KIB;

const createCheckoutLink = ({ checkouts }: Needs) =>
  operation({
    id: 'CreateCheckoutLink',
    method: 'post',
    path: '/v1/accounts/{accountId}/checkout-link',
    scope: 'billing:read',
    tag: 'control',
    summary: 'Open a checkout',
    description:
      'Gives the address of a payment page. Once it is paid there, the wallet has the amount; nothing else is to be done.',
    params: AccountParams,
    body: message({ amountUsd: int32({ min: 1, max: MOST_USD }).describe('Whole US dollars.') }).meta({
      id: 'CreateCheckoutLinkRequest',
    }),
    example: { amountUsd: 10 },
    reply: z.object({ checkoutUrl: reply.text }).meta({ id: 'CreateCheckoutLinkResponse' }),
    async run({ params, body, principal }) {
      const accountId = ownAccount(principal, params.accountId);
      requireWholeAccount(principal);
      const checkoutUrl = await checkouts.create(accountId, body.amountUsd, (tx, entry) =>
        recordAudit(tx, auditActorOf(principal), entry),
      );
      return { checkoutUrl };
    },
  });

/**
 * Where payment providers report, without a credential: the signature over the raw body is all that counts. Answered with
 * 200 once what it says is stored or of no concern, so that the provider need not say it again.
 */
export function mountCheckoutCallback(router: Router, checkouts: Pick<Checkouts, 'callback'>): void {
  router.post('/v1/public/checkout/:provider', async (ctx) => {
    const body = await readBody(ctx.req, CALLBACK_BYTES);
    await checkouts.callback(String(ctx.params['provider']), body, ctx.get('stripe-signature'));
    ctx.body = {};
  });
}

export const checkoutOperations = (needs: Needs): readonly Operation[] => [createCheckoutLink(needs)];
