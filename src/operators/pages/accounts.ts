import type { ReplyOf } from '../../http/calls.ts';
import { usdText } from '../../kernel/money.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { buttonForm } from '../../web/panel/form.ts';
import type { Outcome, Panel, PanelRequest } from '../../web/panel/panel.ts';
import { rowTable } from '../../web/panel/parts.ts';
import { timeTag } from '../../web/panel/time.ts';
import { ramText } from '../../web/panel/words.ts';
import { countText, plainName } from '../../web/text.ts';
import { ROWS, addressOf, mountOperatorPage, operatorPage, pager } from './frame.ts';
import { cancelInvitation, invitationsCard, invite } from './invitations.ts';

export type Account = ReplyOf<'ListAccounts'>['accounts'][number];

const PATH = '/operator/accounts';

/** All accounts, paged, and the invitation of new ones. */
export function mountAccounts(panel: Panel): void {
  mountOperatorPage(panel, {
    path: PATH,
    show: accountsPage,
    forms: { invite, 'cancel-invitation': cancelInvitation, reconcile },
    done: {
      balanced: 'All wallets match their ledgers.',
      cancelled: 'Invitation cancelled. Its link no longer works.',
    },
  });
}

async function accountsPage(request: PanelRequest): Promise<Page> {
  const { query, call } = request;
  const search = plainName(query.get('q') ?? '', 100);
  const after = /^[\w-]{1,64}$/.exec(query.get('after') ?? '')?.[0] ?? '';
  const { accounts } = await call('ListAccounts', {}, { search, after, limit: ROWS + 1 });
  const shown = accounts.slice(0, ROWS);
  const next = accounts.length > ROWS ? (shown.at(-1)?.accountId ?? '') : '';
  const head = html`<h1>Accounts</h1>
    <form class="filter" method="get" action="${PATH}" role="search">
      <div>
        <label for="q">Search</label>
        <input id="q" name="q" type="text" value="${search}" maxlength="100" placeholder="id, name or e-mail address" />
      </div>
      <button type="submit">Show</button>
    </form>`;
  const main = html`<section class="card flush" data-live="accounts">
      ${
        shown.length === 0
          ? html`<p class="empty">No account matches. <a href="${PATH}">Show all</a></p>`
          : accountTable(shown)
      }
    </section>
    ${pager((last) => addressOf(PATH, { q: search, after: last }), after, next)} ${await invitationsCard(request)}
    <section class="card">
      <h2>Wallets and ledger</h2>
      <p>Each balance must equal the sum of its ledger entries. A difference means that the database was edited.</p>
      ${buttonForm(request, 'reconcile', 'Check wallets against the ledger')}
    </section>`;
  return operatorPage('Accounts', PATH, { head, main });
}

function accountTable(accounts: readonly Account[]): Html {
  return rowTable(
    'Accounts',
    ['Account', 'E-mail', 'Balance', 'Servers', 'RAM', 'Since'],
    accounts.map(
      ({ accountId, name, email, operator, balanceMicros, servers, maxServers, maxRamMb, createdAt }) =>
        html`<tr>
          <th scope="row">
            <a href="${PATH}/${accountId}"><bdi>${plainName(name) || accountId}</bdi></a>
            ${operator && html`<span class="tag good">operator</span>`}
            <small><code>${accountId}</code></small>
          </th>
          <td data-label="E-mail"><bdi>${plainName(email, 254) || '–'}</bdi></td>
          <td data-label="Balance">${usdText(Number(balanceMicros))}</td>
          <td data-label="Servers"><span>${servers}${maxServers > 0 && ` of ${maxServers}`}</span></td>
          <td data-label="RAM"><span>at most ${ramText(maxRamMb)}</span></td>
          <td data-label="Since">${createdAt !== null && timeTag(createdAt)}</td>
        </tr>`,
    ),
  );
}

async function reconcile({ call }: PanelRequest): Promise<Outcome> {
  const { mismatches } = await call('ReconcileLedger', {});
  if (mismatches.length === 0) return 'balanced';
  const main = html`<section class="card">
    <p class="note bad" role="alert">
      ${countText(mismatches.length, 'wallet is', 'wallets are')} not equal to the ledger. The database was edited.
    </p>
    <ul class="list">
      ${mismatches.map(
        ({ accountId, balanceMicros, ledgerMicros }) =>
          html`<li>
            <a href="${PATH}/${accountId}"><code>${accountId}</code></a> has ${usdText(Number(balanceMicros))}; ledger
            total ${usdText(Number(ledgerMicros))} (${balanceMicros} and ${ledgerMicros} micros).
          </li>`,
      )}
    </ul>
  </section>`;
  return operatorPage('Accounts', PATH, { main });
}
