import type { Log } from '../kernel/log.ts';
import type { Checkout } from './payments.ts';

/** How wallets are funded. */
export interface CheckoutSettings {
  publicHost: string;
  checkout: 'test' | 'stripe' | 'off';
  stripeSecretKey: string;
  stripeWebhookSecret: string;
  stripeApiUrl: string;
}

/** Opens the payment provider; undefined if wallets are not funded by payments. */
export async function openCheckout(settings: CheckoutSettings, log: Log): Promise<Checkout | undefined> {
  if (settings.checkout === 'off') return undefined;
  if (settings.checkout === 'test') {
    if (settings.publicHost !== 'localhost')
      log.warn('test payments fund wallets without real money: set CHECKOUT to stripe or off for real customers');
    return createTestCheckout();
  }
  // Imported on demand, to keep other starts fast.
  const { createStripeCheckout } = await import('./stripe-checkout.ts');
  const { stripeSecretKey: secretKey, stripeWebhookSecret: webhookSecret, stripeApiUrl: apiUrl } = settings;
  return createStripeCheckout({ secretKey, webhookSecret, apiUrl });
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
