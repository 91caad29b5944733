import { microsOf, usdText } from '../../kernel/money.ts';
import { ASSETS } from '../../web/assets.ts';
import { html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import type { Outcome, Panel, PanelRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';
import { badAmount } from './amount.ts';
import type { Bill } from './bill-replies.ts';
import { costsCard, limitsCard, plansCard } from './bill-costs.ts';
import { capCard, topUpCard, walletCard } from './bill-wallet.ts';
import { ENTRIES, ledgerCard } from './ledger.ts';

/** What an account has, what it costs now and how long that lasts, and everything that moved its money. */
export function mountBill(panel: Panel): void {
  panel.page({
    path: '/bill',
    show: billPage,
    stream: '/v1/me/servers/events/stream',
    forms: { 'top-up': topUp, cap: setCap, 'no-cap': clearCap },
    done: { capped: 'The spend cap holds from now on.', uncapped: 'There is no spend cap any more.' },
  });
}

async function billPage(request: PanelRequest): Promise<Page> {
  const { call, query } = request;
  const account = { accountId: request.principal.accountId };
  const before = /^\d{1,15}$/.exec(query.get('before') ?? '')?.[0] ?? '0';
  const [wallet, spending, { servers }, limits, capacity, { regions }, { entries }] = await Promise.all([
    call('GetWallet', account),
    call('GetSpendCap', account),
    call('ListServers', {}),
    call('GetAccountLimits', account),
    call('GetCapacity', {}),
    call('ListRegions', {}),
    call('ListLedger', account, { limit: ENTRIES + 1, before }),
  ]);
  const bill: Bill = { wallet, spending, servers, limits, capacity, regions };
  const main = html`${walletCard(bill, request.now)}
    <div class="pair">${topUpCard(request, bill)} ${capCard(request, bill)}</div>
    ${costsCard(bill)}
    <div class="pair">${plansCard(bill)} ${limitsCard(bill)}</div>
    ${ledgerCard(request, { entries, servers, before })}`;
  return { title: 'Bill', main, styles: [ASSETS.billStyle], scripts: [ASSETS.billScript] };
}

/** Leads to the payment by a link: a form of ours may not be sent on to another site. */
async function topUp({ call, principal }: PanelRequest, form: Form): Promise<Outcome> {
  const typed = (form.get('amountUsd') ?? '').trim();
  if (!/^\d{1,4}$/.test(typed)) throw badAmount('amountUsd', 'Say it in whole US dollars, from 1 to 1000.');
  const amountUsd = Number(typed);
  const { checkoutUrl } = await call('CreateCheckoutLink', { accountId: principal.accountId }, { amountUsd });
  const main = html`<section class="card narrow">
    <h1>Top up</h1>
    <p>
      The payment page is open for <strong>${usdText(amountUsd * 1e6)}</strong>. Once it is paid, the wallet has it.
    </p>
    <p class="actions">
      <a class="button" href="${checkoutUrl}">Go to the payment</a> <a class="button second" href="/bill">Not now</a>
    </p>
  </section>`;
  return { title: 'Top up', main };
}

async function setCap({ call, principal }: PanelRequest, form: Form): Promise<Outcome> {
  const micros = microsOf(form.get('monthlyUsd') ?? '');
  if (micros === undefined || micros === 0) throw badAmount('monthlyUsd', 'Say it in US dollars, such as 5 or 2.50.');
  const action = form.get('action') === 'stop' ? 'stop' : 'notify';
  await call('SetSpendCap', { accountId: principal.accountId }, { monthlyMicros: String(micros), action });
  return 'capped';
}

async function clearCap({ call, principal }: PanelRequest): Promise<Outcome> {
  await call('SetSpendCap', { accountId: principal.accountId }, { monthlyMicros: '0' });
  return 'uncapped';
}
