import { usdText } from '../../kernel/money.ts';
import { StatusError } from '../../kernel/status.ts';
import { csrfField } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Serve } from '../../web/serve.ts';
import type { Page, PageRequest } from '../../web/page-request.ts';
import { testMoneyNote } from '../../web/panel/words.ts';
import type { CheckoutRow } from '../checkout-rows.ts';
import type { Checkouts } from '../checkout.ts';

/**
 * Ids as created by `Checkouts`. They are unguessable, so anyone with the address may see and pay the checkout,
 * signed in or not.
 */
const CHECKOUT_ID = /^chk_[0-9A-Za-z]{22}$/;

/**
 * The page of a checkout: the buttons of the built-in test payment, and its result. With a real provider, the payer
 * only returns here; the provider alone reports whether the checkout was paid.
 */
export function mountCheckout(serve: Serve, checkouts: Checkouts): void {
  serve.open('/checkout/:id', async (request) => checkoutPage(request, await known(request)));

  serve.submit('/checkout/:id', async (request, form) => {
    const { id } = await known(request);
    // Only an explicit yes pays.
    await checkouts.settleTest(id, form.get('decision') === 'pay' ? 'pay' : 'cancel');
    return { to: `/checkout/${id}` };
  });

  async function known({ path }: PageRequest): Promise<CheckoutRow> {
    const id = new URL(path, 'http://localhost').pathname.split('/').at(-1) ?? '';
    const row = CHECKOUT_ID.test(id) ? await checkouts.find(id) : undefined;
    if (row) return row;
    throw new StatusError('NOT_FOUND', 'CHECKOUT_NOT_FOUND', 'Payment not found. The link may be incomplete.');
  }
}

function checkoutPage(request: PageRequest, row: CheckoutRow): Page {
  const amount = usdText(row.amountMicros);
  switch (row.state) {
    case 'paid':
      return card('Payment complete', [
        testMoneyNote({ checkout: row.provider }),
        html`<p>
          ${amount} ${row.provider === 'test' ? 'of test credit was' : 'was'} added to the wallet. Servers can wake
          immediately.
        </p>`,
        HOME,
      ]);
    case 'expired':
      return card('Payment ended', [
        testMoneyNote({ checkout: row.provider }),
        html`<p>You were not charged. Start a new payment to try again.</p>`,
        HOME,
      ]);
    case 'open':
      return row.provider === 'test' ? testPage(request, row, amount) : waitingPage(row, amount);
    default:
      return row.state satisfies never;
  }
}

function testPage({ csrf }: PageRequest, { id }: CheckoutRow, amount: string): Page {
  return card('Test payment', [
    html`<p class="note bad">This is test money: no real money moves, and no card is needed.</p>`,
    html`<p>Game server credit: <strong>${amount}</strong></p>`,
    html`<form method="post" action="/checkout/${id}">
      ${csrfField(csrf)}
      <div class="choice">
        <button type="submit" name="decision" value="pay">Pay ${amount} (test)</button>
        <button class="second" type="submit" name="decision" value="cancel">Cancel</button>
      </div>
    </form>`,
  ]);
}

function waitingPage({ id }: CheckoutRow, amount: string): Page {
  return card('Waiting for the payment', [
    html`<p>
      We are waiting for confirmation of your payment of ${amount}. This can take a minute, or days with some banks.
    </p>`,
    html`<p><a class="button" href="/checkout/${id}">Check again</a></p>`,
  ]);
}

const HOME = html`<p><a class="button" href="/">Home</a></p>`;

function card(title: string, parts: (Html | false)[]): Page {
  return {
    title,
    main: html`<section class="card narrow">
      <h1>${title}</h1>
      ${parts}
    </section>`,
  };
}
