import test from 'ava';
import { STRIPE_SECRET, WEBHOOK_SECRET, paid, sign, stripeEvent, stripeStandIn } from '../billing/stripe-stand-in.ts';
import { pay } from '../support/payment-page.ts';
import { startService } from '../support/service.ts';

test('an empty wallet refuses a start until a top-up on the payment page or an operator’s credit', async (t) => {
  const service = await startService(t, { SIGNUP_CREDIT_MICROS: '0' });
  const { accountId } = await service.call<{ accountId: string }>('GET', '/v1/whoami');
  const first = await service.create('first', '1.21.4');
  const start = () => service.call('POST', `/v1/servers/${first.id}:start`);
  await t.throwsAsync(start(), { message: /INSUFFICIENT_FUNDS/ });
  const path = `/v1/accounts/${accountId}/checkout-link`;
  const { checkoutUrl } = await service.call<{ checkoutUrl: string }>('POST', path, { amountUsd: 5 });
  await t.throwsAsync(start(), { message: /INSUFFICIENT_FUNDS/ });
  await pay(checkoutUrl.replace(/^https?:\/\/[^/]+/, service.baseUrl));
  const wallet = await service.call<{ balanceMicros: string }>('GET', `/v1/accounts/${accountId}/wallet`);
  t.is(wallet.balanceMicros, '5000000');
  await t.notThrowsAsync(start());
  await service.reach(first.id, 'running');
  await service.call('POST', `/v1/servers/${first.id}:stop`);
  await service.reach(first.id, 'hibernated');

  const credit = (amountMicros: number) =>
    service.call('POST', `/v1/operator/accounts/${accountId}:credit`, {
      amountMicros,
      kind: 'adjustment',
      note: 'rehearsal',
    });
  await credit(-6_000_000);
  await t.throwsAsync(start(), { message: /INSUFFICIENT_FUNDS/ });
  await credit(2_000_000);
  await t.notThrowsAsync(start());
});

test('with test payments, the first operator’s wallet starts with 1000 units', async (t) => {
  const service = await startService(t);
  const { accountId } = await service.call<{ accountId: string }>('GET', '/v1/whoami');
  t.like(await service.call('GET', `/v1/accounts/${accountId}/wallet`), { balanceMicros: '1000000000' });
});

test('a Stripe payment is credited once, even with repeated webhooks and a crash', async (t) => {
  const stripe = await stripeStandIn(t);
  const service = await startService(t, {
    CHECKOUT: 'stripe',
    STRIPE_SECRET_KEY: STRIPE_SECRET,
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    STRIPE_API_URL: stripe.url,
  });
  const { accountId } = await service.call<{ accountId: string }>('GET', '/v1/whoami');
  const path = `/v1/accounts/${accountId}/checkout-link`;
  const { checkoutUrl } = await service.call<{ checkoutUrl: string }>('POST', path, { amountUsd: 20 });
  t.is(checkoutUrl, stripe.sessions[0]!.url);
  const body = stripeEvent('evt_1', 'checkout.session.completed', paid(stripe.sessions[0]!), Date.now());
  const hook = async (signature: string) => {
    const headers = { 'stripe-signature': signature, 'content-type': 'application/json' };
    return (await fetch(`${service.baseUrl}/v1/public/checkout/stripe`, { method: 'POST', headers, body })).status;
  };
  const balance = async () =>
    (await service.call<{ balanceMicros: string }>('GET', `/v1/accounts/${accountId}/wallet`)).balanceMicros;
  t.is(await hook(sign(body, Date.now(), 'whsec_another')), 400);
  t.is(await balance(), '0');
  t.deepEqual(await Promise.all([1, 2, 3].map(() => hook(sign(body, Date.now())))), [200, 200, 200]);
  t.is(await balance(), '20000000');
  await service.kill();
  await service.start();
  t.is(await hook(sign(body, Date.now())), 200);
  t.is(await balance(), '20000000');
});
