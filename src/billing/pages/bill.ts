import { microsOf, usdText } from '../../kernel/money.ts';
import { lazily } from '../../kernel/once.ts';
import { StatusError } from '../../kernel/status.ts';
import { DAY_MS, MICROS_PER_USD, MINUTE_MS } from '../../kernel/units.ts';
import type { Servers } from '../../servers/servers.ts';
import { ASSETS } from '../../web/assets.ts';
import { html, type Html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { filling, lineField, radioField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import type { Outcome, Panel, PanelRequest } from '../../web/panel/panel.ts';
import { fact } from '../../web/panel/parts.ts';
import { testMoneyNote } from '../../web/panel/words.ts';
import type { Form } from '../../web/serve.ts';
import { plainName } from '../../web/text.ts';
import { type Bill, costsCard, limitsCard, plansCard } from './bill-costs.ts';
import { ENTRIES, ledgerCard } from './ledger.ts';
import { badAmount, lastsText } from './words.ts';
import { GetSpendCap, GetWallet, ListLedger, SetSpendCap } from '../api.ts';
import { GetCapacity } from '../capacity-api.ts';
import { CreateCheckoutLink } from '../checkout-api.ts';
import { GetAccountLimits } from '../limits-api.ts';
import { ListRegions } from '../regions.ts';
import { ListServers } from '../../servers/api/list-servers.ts';

/** A wallet is low below this balance, or if the running servers use it up within a day. */
const LOW_MICROS = MICROS_PER_USD;
/** Servers on a page. */
const SERVERS = 24;

/**
 * An account's balance, its current cost, how long the balance lasts, and all ledger entries. Reads the names of the
 * entries' servers directly, because the API lists servers only in pages. Without prices, only the account's limits.
 */
export function mountBill(panel: Panel, servers: Servers): void {
  panel.page({
    path: '/bill',
    show: (request) => billPage(request, servers),
    stream: '/v1/me/servers/events/stream',
    forms: { 'top-up': topUp, cap: setCap, 'no-cap': clearCap },
    done: { capped: 'Spend cap set.', uncapped: 'Spend cap removed.' },
  });
}

async function billPage(request: PanelRequest, all: Servers): Promise<Page> {
  const { call, query } = request;
  const account = { accountId: request.principal.accountId };
  if (request.isFree) return limitsPage(request, account);
  const before = /^\d{1,15}$/.exec(query.get('before') ?? '')?.[0] ?? '0';
  const after = query.get('servers') ?? '';
  const [wallet, spending, list, limits, capacity, { regions }, { entries }] = await Promise.all([
    call(GetWallet, account),
    call(GetSpendCap, account),
    serversAfter(call, after),
    call(GetAccountLimits, account),
    call(GetCapacity, {}),
    call(ListRegions, {}),
    call(ListLedger, account, { limit: ENTRIES + 1, before }),
  ]);
  const { servers, next = '' } = list;
  const bill: Bill = { wallet, spending, servers, limits, capacity, regions };
  const names = await namesOf(entries, account.accountId, all);
  const main = html`<div class="head"><h1>Bill</h1></div>
    ${walletCard(request, bill)}
    <div class="pair">${topUpCard(request, bill)} ${capCard(request, bill)}</div>
    ${costsCard(bill, { request, isFirst: list.isFirst, next })}
    <div class="pair">${plansCard(bill)} ${limitsCard(bill)}</div>
    ${ledgerCard(request, { entries, names, before })}`;
  return { title: 'Bill', main, styles: [ASSETS.billStyle], scripts: [ASSETS.billScript] };
}

/** The page if servers cost nothing. */
async function limitsPage({ call }: PanelRequest, account: { accountId: string }): Promise<Page> {
  const [limits, capacity, { regions }] = await Promise.all([
    call(GetAccountLimits, account),
    call(GetCapacity, {}),
    call(ListRegions, {}),
  ]);
  const main = html`<div class="head"><h1>Limits</h1></div>
    ${limitsCard({ limits, capacity, regions })}`;
  return { title: 'Limits', main };
}

/** Returns a page of servers, or the first page if none begins there, as in a link from another user. */
async function serversAfter(call: PanelRequest['call'], after: string) {
  const page = (from: string) => call(ListServers, {}, { limit: SERVERS, after: from });
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
  servers: Servers,
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
  const spending = await call(GetSpendCap, { accountId: principal.accountId });
  const { checkoutUrl } = await call(CreateCheckoutLink, { accountId: principal.accountId }, { amountUsd });
  const main = html`<section class="card narrow">
    <h1>Top up</h1>
    ${testMoneyNote(spending)}
    <p>Continue to payment: <strong>${usdText(amountUsd * MICROS_PER_USD)}</strong>.</p>
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
  await call(SetSpendCap, { accountId: principal.accountId }, { monthlyMicros: String(micros), action });
  return 'capped';
}

async function clearCap({ call, principal }: PanelRequest): Promise<Outcome> {
  await call(SetSpendCap, { accountId: principal.accountId }, { monthlyMicros: '0' });
  return 'uncapped';
}

const months = lazily(() => new Intl.DateTimeFormat('en-GB', { month: 'long', timeZone: 'UTC' }));

/** The balance, the current cost, and how long the balance lasts. */
function walletCard(request: PanelRequest, { wallet, spending }: Bill): Html {
  const { burnMicrosPerHour, runwayMinutes, spentMicros } = spending;
  return html`<section class="card" data-live="wallet">
    ${testMoneyNote(spending)}
    <dl class="figures">
      ${fact('Balance', usdText(Number(wallet.balanceMicros)))}
      ${fact('Cost per hour now', usdText(Number(burnMicrosPerHour)))}
      ${fact('Lasts', runwayMinutes === -1 ? '–' : lastsText(runwayMinutes))}
      ${fact(`Spent in ${months().format(request.now)}`, usdText(Number(spentMicros)))}
    </dl>
    <p>${walletText(Number(wallet.balanceMicros), runwayMinutes)}</p>
    ${isLow(Number(wallet.balanceMicros), runwayMinutes) && creditNote(request)}
  </section>`;
}

function walletText(balanceMicros: number, runwayMinutes: number): string {
  if (runwayMinutes === 0) {
    return 'The wallet can’t pay for the running servers. Players are warned, then the servers save and go to sleep.';
  }
  if (runwayMinutes > 0) return 'If the running servers keep running. Sleeping servers are free.';
  if (balanceMicros > 0) return 'Nothing is running. Sleeping servers are free.';
  return 'Paid servers stay asleep until you top up. Then they can start immediately.';
}

function isLow(balanceMicros: number, runwayMinutes: number): boolean {
  return balanceMicros < LOW_MICROS || (runwayMinutes >= 0 && runwayMinutes * MINUTE_MS < DAY_MS);
}

/** Explains how a low wallet gets credit without a payment. */
function creditNote({ principal }: PanelRequest): Html {
  return html`<p class="note warn">
    The wallet is running low.
    ${
      principal.operator
        ? html`As an operator, you can add credit to
            <a href="/operator/accounts/${principal.accountId}">this account</a>.`
        : 'An operator can add credit to your account.'
    }
  </p>`;
}

function topUpCard(request: PanelRequest, { spending: { checkout } }: Bill): Html {
  if (checkout === '') {
    return html`<section class="card">
      <h2>Top up</h2>
      <p>Online payment is off. Ask your administrator for credit.</p>
    </section>`;
  }
  const form = html`${lineField(filling(request, 'top-up'), {
      name: 'amountUsd',
      label: 'Amount in US dollars',
      hint: 'Whole dollars, from 1 to 1000.',
      value: '10',
      maxlength: 4,
      more: html`inputmode="numeric"`,
    })} <button type="submit">Top up…</button>`;
  return html`<section class="card">
    <h2>Top up</h2>
    ${panelForm(request, 'top-up', form)}
  </section>`;
}

/** The cap, its used part, and the consequence of reaching it. */
function capCard(request: PanelRequest, { spending }: Bill): Html {
  const capMicros = Number(spending.monthlyMicros);
  const spentMicros = Number(spending.spentMicros);
  const filled = filling(request, 'cap');
  const form = html`${lineField(filled, {
      name: 'monthlyUsd',
      label: 'Monthly limit in US dollars',
      hint: 'Per calendar month, UTC.',
      value: capMicros === 0 ? '' : String(capMicros / MICROS_PER_USD),
      maxlength: 16,
      more: html`inputmode="decimal"`,
    })}
    ${radioField(filled, {
      name: 'action',
      label: 'When the limit is reached',
      value: spending.action,
      options: [
        ['notify', 'Notify me (e-mail and webhook). Keep servers running.'],
        [
          'stop',
          'Notify me and put servers to sleep until next month. Flat servers keep running while their period is paid.',
        ],
      ],
    })} <button type="submit">${capMicros === 0 ? 'Set the cap' : 'Change the cap'}</button>`;
  return html`<section class="card">
    <h2>Spend cap</h2>
    <div data-live="cap">
      ${
        capMicros === 0
          ? html`<p>No limit set.</p>`
          : html`<p id="used">
                <strong>${usdText(spentMicros)}</strong> of ${usdText(capMicros)} spent this month.
                ${spentMicros >= capMicros && (spending.action === 'stop' ? 'Cap reached: servers are asleep.' : 'Cap reached.')}
              </p>
              <progress
                aria-labelledby="used"
                max="${capMicros}"
                value="${Math.min(spentMicros, capMicros)}"
              ></progress>`
      }
    </div>
    ${panelForm(request, 'cap', form)} ${capMicros > 0 && buttonForm(request, 'no-cap', 'Remove the cap')}
  </section>`;
}
