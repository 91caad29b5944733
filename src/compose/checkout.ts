import type { Checkout } from '../billing/payments.ts';
import { createTestCheckout } from '../billing/test-checkout.ts';
import type { Startup } from './startup.ts';

/** How wallets are funded; undefined: not at all. */
export async function openCheckout({ config, log }: Pick<Startup, 'config' | 'log'>): Promise<Checkout | undefined> {
  if (config.checkout === 'off') return undefined;
  if (config.checkout === 'test') {
    log.warn('wallets are funded by test payments, without money: set CHECKOUT to stripe or off for real customers');
    return createTestCheckout();
  }
  // Only here, so that nobody else pays for it.
  const { createStripeCheckout } = await import('../billing/stripe-checkout.ts');
  const { stripeSecretKey: secretKey, stripeWebhookSecret: webhookSecret, stripeApiUrl: apiUrl } = config;
  return createStripeCheckout({ secretKey, webhookSecret, apiUrl });
}
