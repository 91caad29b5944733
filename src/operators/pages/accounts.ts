import type { ReplyOf } from '../../http/operation.ts';
import { usdText } from '../../kernel/money.ts';
import { confirmed, hidden } from '../../web/form.ts';
import { ASSETS } from '../../web/assets.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { filling, fillingOf, lineField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import type { Outcome, Panel, PanelRequest } from '../../web/panel/panel.ts';
import { SEARCH_CHARS, copyButton, cursorPager, filterChoice, filterForm, rowTable } from '../../web/panel/parts.ts';
import { timeTag } from '../../web/panel/time.ts';
import { ramText, testMoneyNote } from '../../web/panel/words.ts';
import type { Form } from '../../web/serve.ts';
import { countText, plainName } from '../../web/text.ts';
import { ROWS, mountOperatorPage, operatorPage, reasonField } from './frame.ts';
import { GetSpendCap, ReconcileLedger } from '../../billing/api.ts';
import { ListAccounts } from '../accounts-api.ts';
import { CancelAccountInvitation, InviteAccount, ListAccountInvitations } from '../invitations-api.ts';

type Account = ReplyOf<typeof ListAccounts>['accounts'][number];

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
  const { query, call, isFree } = request;
  const search = plainName(query.get('q') ?? '', SEARCH_CHARS);
  const after = /^[\w-]{1,64}$/.exec(query.get('after') ?? '')?.[0] ?? '';
  const show = SHOWN_NAMES.find(([value]) => value === query.get('show'))?.[0] ?? 'all';
  const [{ accounts }, spending] = await Promise.all([
    call(ListAccounts, {}, { search, after, show, limit: ROWS + 1 }),
    !isFree && call(GetSpendCap, { accountId: request.principal.accountId }),
  ]);
  const shown = accounts.slice(0, ROWS);
  const next = accounts.length > ROWS ? (shown.at(-1)?.accountId ?? '') : '';
  const form = filterForm(
    PATH,
    { value: search, hint: 'id, name or e-mail address' },
    filterChoice('show', 'Show', SHOWN_NAMES, show),
  );
  const main = html`${form}
    <div data-live="accounts">
      <section class="card flush">
        ${
          shown.length === 0
            ? html`<p class="empty">No account matches. <a href="${PATH}">Show all</a></p>`
            : accountTable(shown, isFree)
        }
      </section>
      ${cursorPager(request, next)}
    </div>
    ${await invitationsCard(request)}
    ${
      spending !== false &&
      html`<section class="card">
        <h2>Wallets and ledger</h2>
        ${testMoneyNote(spending)}
        <p>Each balance must equal the sum of its ledger entries. A difference means that the database was edited.</p>
        ${buttonForm(request, 'reconcile', 'Check wallets against the ledger')}
      </section>`
    }`;
  return { ...operatorPage('Accounts', PATH, main), scripts: [ASSETS.listsScript] };
}

const SHOWN_NAMES = [
  ['all', 'All'],
  ['operators', 'Operators'],
  ['servers', 'With servers'],
  ['noServers', 'Without servers'],
] as const;

function accountTable(accounts: readonly Account[], isFree: boolean): Html {
  return rowTable(
    'Accounts',
    ['Account', 'E-mail', ...(isFree ? [] : ['Balance']), 'Servers', 'RAM', 'Since'],
    accounts.map(
      ({ accountId, name, email, operator, balanceMicros, servers, maxServers, maxRamMb, createdAt }) =>
        html`<tr>
          <th scope="row">
            <a href="${PATH}/${accountId}"><bdi>${plainName(name) || accountId}</bdi></a>
            ${operator && html`<span class="tag good">operator</span>`}
            <small><code>${accountId}</code></small>
          </th>
          <td data-label="E-mail"><bdi>${plainName(email, 254) || '–'}</bdi></td>
          ${!isFree && html`<td data-label="Balance">${usdText(Number(balanceMicros))}</td>`}
          <td data-label="Servers"><span>${servers}${maxServers > 0 && ` of ${maxServers}`}</span></td>
          <td data-label="RAM"><span>at most ${ramText(maxRamMb)}</span></td>
          <td data-label="Since">${createdAt !== null && timeTag(createdAt)}</td>
        </tr>`,
    ),
  );
}

async function reconcile({ call }: PanelRequest): Promise<Outcome> {
  const { mismatches } = await call(ReconcileLedger, {});
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
  return operatorPage('Accounts', PATH, main);
}

type Invitation = ReplyOf<typeof ListAccountInvitations>['invitations'][number];

/** The form for inviting people, and the open invitations. */
async function invitationsCard(request: PanelRequest): Promise<Html> {
  const { invitations } = await request.call(ListAccountInvitations, {});
  const email = lineField(filling(request, 'invite'), {
    name: 'email',
    label: 'E-mail address',
    hint: 'Creates a one-time sign-up link, valid for 7 days. It works even if sign-up is closed.',
    type: 'email',
    maxlength: 254,
  });
  return html`<section class="card">
      <h2>Invite someone</h2>
      ${panelForm(request, 'invite', html`${email}<button type="submit">Create link</button>`)}
    </section>
    ${
      invitations.length > 0 &&
      html`<section class="card">
        <h2>Open invitations</h2>
        <ul class="list">
          ${invitations.map((each) => invitationItem(request, each))}
        </ul>
      </section>`
    }`;
}

function invitationItem(request: PanelRequest, { invitationId, email, invitedBy, expiresAt }: Invitation): Html {
  const filled = fillingOf(request, 'cancel-invitation', { invitation: invitationId }, invitationId);
  const cancel = html`${hidden('invitation', invitationId)}${reasonField(filled, 'Recorded in the audit log.')}<button
      class="danger"
      type="submit"
    >
      Yes, cancel it<span class="unseen">, ${email}</span>
    </button>`;
  return html`<li>
    <h3><bdi>${plainName(email, 254)}</bdi></h3>
    <p>
      Invited by <bdi>${plainName(invitedBy, 254) || 'a deleted account'}</bdi>${
        expiresAt !== null && html` · until ${timeTag(expiresAt)}`
      }
    </p>
    ${confirmed('Its link stops working.', 'Cancel…', email, panelForm(request, 'cancel-invitation', cancel))}
  </li>`;
}

/**
 * Creates an invitation. Its link is shown only this once, because an e-mail may not arrive or e-mail may not be set
 * up.
 */
async function invite({ call }: PanelRequest, form: Form): Promise<Outcome> {
  const email = (form.get('email') ?? '').trim();
  const { link, expiresAt, sent } = await call(InviteAccount, {}, { email });
  const main = linkCard(html`The link for <bdi>${email}</bdi>`, { link, expiresAt, sent });
  return operatorPage('Accounts', PATH, main);
}

async function cancelInvitation({ call }: PanelRequest, form: Form): Promise<Outcome> {
  const reason = form.get('reason') ?? '';
  await call(CancelAccountInvitation, { invitationId: form.get('invitation') ?? '' }, { reason });
  return 'cancelled';
}

/** A link that is shown once, to be passed on by hand. */
export function linkCard(
  title: Html,
  { link, expiresAt, sent }: { link: string; expiresAt: string | null; sent: boolean },
): Html {
  return html`<section class="card">
    <h2>${title}</h2>
    <p>
      ${
        sent
          ? 'We e-mailed it. It is shown only once, in case you want to pass it on yourself.'
          : 'E-mail is not set up (SMTP_URL), so nothing was sent. Pass the link on yourself. It is shown only once.'
      }
      ${expiresAt !== null && html`Valid until ${timeTag(expiresAt)}, once.`}
    </p>
    <p><code>${link}</code> ${copyButton(link, 'the link')}</p>
    <p><a class="button second" href="${PATH}">Back to the accounts</a></p>
  </section>`;
}
