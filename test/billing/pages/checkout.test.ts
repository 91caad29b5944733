import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { balance } from '../../../src/billing/ledger.ts';
import { listUnbalanced } from '../../../src/billing/wallet-rows.ts';
import { createStripeCheckout } from '../../../src/billing/stripe-checkout.ts';
import { closeBrowser, openTab } from '../../support/browser.ts';
import { type MoneyUnderTest, moneySite } from '../../support/money.ts';
import { isHere } from '../../support/needs.ts';
import { STRIPE_SECRET, WEBHOOK_SECRET, paid, sign, stripeEvent, stripeStandIn } from '../stripe-stand-in.ts';

const INSPECT = readFileSync(join(import.meta.dirname, '../../web/inspect.js'), 'utf8');
const PHONE = { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true };

test.after.always(closeBrowser);

async function open(it: MoneyUnderTest, amountUsd: number): Promise<string> {
  const { json } = await it.call('POST', '/v1/accounts/acc_test/checkout-link', { body: { amountUsd } });
  return String(json['checkoutUrl']);
}

test.runIf(isHere('chromium'))(
  'a test payment works without scripts or sign-in, is credited once and is marked as a test',
  async (t) => {
    const it = await moneySite(t);
    const url = await open(it, 12);
    const { page, complaints, asked } = await openTab(t, { ...PHONE, javaScriptEnabled: false });
    await page.goto(url);
    t.regex(await page.innerText('main'), /Test payment\s+This is test money: no real money moves[^]*12\.00 USD/);
    await page.getByRole('button', { name: 'Pay 12.00 USD (test)' }).click();
    t.is(page.url(), url);
    t.regex(
      await page.innerText('main'),
      /Payment complete\s+This is test money: no real money moves\.\s+12\.00 USD of test credit was added to the wallet/,
    );
    t.is(await balance(it.api.store, 'acc_test'), 12_000_000);
    await page.reload();
    // Send the form from the browser's history again.
    await page.goBack();
    const again = page.getByRole('button', { name: /^Pay/ });
    if (await again.isVisible()) await again.click();
    t.is(await balance(it.api.store, 'acc_test'), 12_000_000);
    t.deepEqual(complaints, []);
    t.true(asked.every((each) => each.startsWith(`${it.origin}/`)));
    t.deepEqual(await listUnbalanced(it.api.store), []);
  },
);

test.runIf(isHere('chromium'))('a cancelled test payment cannot be paid in another tab', async (t) => {
  const it = await moneySite(t);
  const url = await open(it, 5);
  const [first, second] = [await openTab(t), await openTab(t)];
  await second.page.goto(url);
  await first.page.goto(url);
  await first.page.getByRole('button', { name: 'Cancel' }).click();
  t.regex(
    await first.page.innerText('main'),
    /Payment ended\s+This is test money: no real money moves\.\s+You were not charged/,
  );
  await second.page.getByRole('button', { name: /^Pay/ }).click();
  t.regex(await second.page.innerText('main'), /Payment ended/);
  t.is(await balance(it.api.store, 'acc_test'), 0);
});

test.runIf(isHere('chromium'))(
  'each checkout page fits a phone and is accessible in light and dark mode',
  async (t) => {
    const it = await moneySite(t);
    const [waiting, cancelled, done] = [await open(it, 1_000), await open(it, 2), await open(it, 3)];
    await it.checkouts.settleTest(cancelled.split('/').at(-1)!, 'cancel');
    await it.checkouts.settleTest(done.split('/').at(-1)!, 'pay');
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, complaints } = await openTab(t, { ...PHONE, colorScheme });
      for (const url of [waiting, cancelled, done]) {
        await page.goto(url);
        const found = await page.evaluate<Record<string, unknown>>(INSPECT);
        const wrong = Object.entries(found).filter(
          ([name, value]) =>
            !['language', 'title', 'headings'].includes(name) && String(value) !== '0' && String(value) !== '',
        );
        t.deepEqual(wrong, [], url);
        t.is(found['headings'], 1);
      }
      t.deepEqual(complaints, []);
    }
  },
);

test('the checkout page shows the state reported by the provider, not that of the return URL', async (t) => {
  const stripe = await stripeStandIn(t);
  const options = { secretKey: STRIPE_SECRET, webhookSecret: WEBHOOK_SECRET, apiUrl: stripe.url };
  const it = await moneySite(t, createStripeCheckout(options));
  await open(it, 9);
  const [session] = stripe.sessions;
  const back = String(session?.['success_url']);
  const read = async () => (await fetch(`${back}?session_id=cs_paid&state=paid`)).text();
  t.regex(await read(), /Waiting for the payment/);
  t.notRegex(await read(), /<form[^>]*checkout/);
  const body = stripeEvent('evt_1', 'checkout.session.completed', paid(session!), it.api.clock.now());
  await it.checkouts.callback('stripe', Buffer.from(body), sign(body, it.api.clock.now()));
  t.regex(await read(), /Payment complete/);
});

test('a payment needs its own form: a bad CSRF token, another site and an unknown address are refused', async (t) => {
  const it = await moneySite(t);
  const url = await open(it, 4);
  const shown = await fetch(url);
  const cookie = shown.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const csrf = /name="csrf" value="([^"]+)"/.exec(await shown.text())?.[1] ?? '';
  t.is(shown.headers.get('x-frame-options'), 'DENY');
  const press = (to: string, fields: Record<string, string>, headers: Record<string, string> = { cookie }) =>
    fetch(to, { method: 'POST', body: new URLSearchParams(fields), headers, redirect: 'manual' });
  t.is((await press(url, { decision: 'pay' })).status, 403);
  t.is((await press(url, { decision: 'pay', csrf }, {})).status, 403);
  t.is((await press(url, { decision: 'pay', csrf: `${csrf.slice(1)}x` })).status, 403);
  t.is((await press(url, { decision: 'pay', csrf }, { cookie, origin: 'https://evil.example' })).status, 403);
  t.is((await press(url, { decision: 'pay', csrf }, { cookie, 'sec-fetch-site': 'cross-site' })).status, 403);
  for (const path of ['chk_unknown', 'chk_0123456789012345678901', 'x', '..%2f']) {
    t.is((await fetch(`${it.origin}/checkout/${path}`)).status, 404, path);
    t.is((await press(`${it.origin}/checkout/${path}`, { decision: 'pay', csrf })).status, 404, path);
  }
  t.is(await balance(it.api.store, 'acc_test'), 0);
  t.is((await press(url, { decision: 'pay', csrf })).status, 303);
  t.is(await balance(it.api.store, 'acc_test'), 4_000_000);
});
