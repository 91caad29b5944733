import { microsOf, usdText } from '../../kernel/money.ts';
import { StatusError } from '../../kernel/status.ts';
import type { Servers } from '../../servers/servers.ts';
import { ASSETS } from '../../web/assets.ts';
import { html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import type { Outcome, Panel, PanelRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';
import { plainName } from '../../web/text.ts';
import { badAmount } from './amount.ts';
import { type Bill, costsCard, limitsCard, plansCard } from './bill-costs.ts';
import { capCard, topUpCard, walletCard } from './bill-wallet.ts';
import { ENTRIES, ledgerCard } from './ledger.ts';

/** Servers on a page. */
const SERVERS = 24;

/** Data that the page needs beyond the API: the names of a few servers. */
export interface BillOptions {
  servers: Servers;
}

/** An account's balance, its current cost, how long the balance lasts, and all ledger entries. */
export function mountBill(panel: Panel, options: BillOptions): void {
  panel.page({
    path: '/bill',
    show: (request) => billPage(request, options),
    stream: '/v1/me/servers/events/stream',
    forms: { 'top-up': topUp, cap: setCap, 'no-cap': clearCap },
    done: { capped: 'Spend cap set.', uncapped: 'Spend cap removed.' },
  });
}

async function billPage(request: PanelRequest, { servers: all }: BillOptions): Promise<Page> {
  const { call, query } = request;
  const account = { accountId: request.principal.accountId };
  const before = /^\d{1,15}$/.exec(query.get('before') ?? '')?.[0] ?? '0';
  const after = query.get('servers') ?? '';
  const [wallet, spending, list, limits, capacity, { regions }, { entries }] = await Promise.all([
    call('GetWallet', account),
    call('GetSpendCap', account),
    serversAfter(call, after),
    call('GetAccountLimits', account),
    call('GetCapacity', {}),
    call('ListRegions', {}),
    call('ListLedger', account, { limit: ENTRIES + 1, before }),
  ]);
  const { servers, next = '' } = list;
  const bill: Bill = { wallet, spending, servers, limits, capacity, regions };
  const names = await namesOf(entries, account.accountId, all);
  const main = html`${walletCard(bill, request.now)}
    <div class="pair">${topUpCard(request, bill)} ${capCard(request, bill)}</div>
    ${costsCard(bill, { request, isFirst: list.isFirst, next })}
    <div class="pair">${plansCard(bill)} ${limitsCard(bill)}</div>
    ${ledgerCard(request, { entries, names, before })}`;
  return { title: 'Bill', main, styles: [ASSETS.billStyle], scripts: [ASSETS.billScript] };
}

/** Returns a page of servers, or the first page if none begins there, as in a link from another user. */
async function serversAfter(call: PanelRequest['call'], after: string) {
  const page = (from: string) => call('ListServers', {}, { limit: SERVERS, after: from });
  if (after === '') return { ...(await page('')), isFirst: true };
  try {
    return { ...(await page(after)), isFirst: false };
  } catch (error) {
    if (error instanceof StatusError && error.code === 'INVALID_ARGUMENT')
      return { ...(await page('')), isFirst: true };
    throw error;
  }
}

/** Returns the names of the account's existing servers that appear in entries. */
async function namesOf(
  entries: readonly { serverId: string }[],
  accountId: string,
  servers: BillOptions['servers'],
): Promise<Map<string, string>> {
  const ids = new Set(entries.map(({ serverId }) => serverId).filter((id) => id !== ''));
  const found = await Promise.all([...ids].map((id) => servers.get(id)));
  // The id of a deleted server may belong to another account by now.
  const own = found.flatMap((now) => (now?.row.accountId === accountId ? [now.row] : []));
  return new Map(own.map(({ id, name }) => [id, plainName(name) || id]));
}

/** Shows a link to the payment, because our forms must not redirect to another site. */
async function topUp({ call, principal }: PanelRequest, form: Form): Promise<Outcome> {
  const typed = (form.get('amountUsd') ?? '').trim();
  if (!/^\d{1,4}$/.test(typed)) throw badAmount('amountUsd', 'Enter whole US dollars, from 1 to 1000.');
  const amountUsd = Number(typed);
  const { checkoutUrl } = await call('CreateCheckoutLink', { accountId: principal.accountId }, { amountUsd });
  const main = html`<section class="card narrow">
    <h1>Top up</h1>
    <p>Continue to payment: <strong>${usdText(amountUsd * 1e6)}</strong>.</p>
    <p class="actions">
      <a class="button" href="${checkoutUrl}">Continue to payment</a> <a class="button second" href="/bill">Not now</a>
    </p>
  </section>`;
  return { title: 'Top up', main };
}

async function setCap({ call, principal }: PanelRequest, form: Form): Promise<Outcome> {
  const micros = microsOf(form.get('monthlyUsd') ?? '');
  if (micros === undefined || micros === 0) throw badAmount('monthlyUsd', 'Enter US dollars, such as 5 or 2.50.');
  const action = form.get('action') === 'stop' ? 'stop' : 'notify';
  await call('SetSpendCap', { accountId: principal.accountId }, { monthlyMicros: String(micros), action });
  return 'capped';
}

async function clearCap({ call, principal }: PanelRequest): Promise<Outcome> {
  await call('SetSpendCap', { accountId: principal.accountId }, { monthlyMicros: '0' });
  return 'uncapped';
}
