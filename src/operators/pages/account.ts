import { badAmount } from '../../billing/pages/words.ts';
import type { ReplyOf } from '../../http/operation.ts';
import { invalidFields } from '../../http/errors.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import { microsOf, usdText } from '../../kernel/money.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { passwordAgain, proved } from '../../accounts/page-parts.ts';
import { confirmed, hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { choiceField, filling, fillingOf, lineField } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { Outcome, Panel, PanelRequest } from '../../web/panel/panel.ts';
import { fact } from '../../web/panel/parts.ts';
import { timeTag } from '../../web/panel/time.ts';
import { ramText, testMoneyNote } from '../../web/panel/words.ts';
import type { Form } from '../../web/serve.ts';
import { plainName } from '../../web/text.ts';
import { linkCard } from './accounts.ts';
import { mountOperatorPage, operatorPage, reasonField } from './frame.ts';
import { stateTag } from './machine-text.ts';
import { GetSpendCap } from '../../billing/api.ts';
import { MakeResetLink, RemoveAccountSecondFactor, SetAccountOperator } from '../access-api.ts';
import { CreditAccount, GetAccount, SetAccountLimits } from '../accounts-api.ts';
import { SetDiskQuota, SuspendServer, UnsuspendServer } from '../servers-api.ts';

type Detail = ReplyOf<typeof GetAccount>;
type Server = Detail['servers'][number];

/** The API's value for the installation's default. */
const INHERITED = -1;
const KINDS = [
  ['credit', 'a credit'],
  ['refund', 'a refund'],
  ['adjustment', 'a correction'],
] as const;

/** One account: money, limits and servers, with an operator's actions on each. */
export function mountAccount(panel: Panel, accounts: Accounts): void {
  mountOperatorPage(panel, {
    path: '/operator/accounts/:accountId',
    show: accountPage,
    forms: {
      credit,
      limits,
      quota: setQuota,
      suspend: setSuspended(SuspendServer, 'suspended'),
      unsuspend: setSuspended(UnsuspendServer, 'unsuspended'),
      access: changeAccess(accounts),
    },
    done: {
      credited: 'Added. The owner sees the note in the ledger.',
      limited: 'Limits saved.',
      quota: 'Disk quota saved.',
      suspended: 'Suspended. The server saves and stops.',
      unsuspended: 'Suspension ended.',
      'made-operator': 'This account is now an operator.',
      'ended-operator': 'This account is no longer an operator.',
      'second-factor': 'Two-factor sign-in is off. We e-mailed them.',
    },
  });
}

async function accountPage(request: PanelRequest): Promise<Page> {
  const { accountId = '' } = request.params;
  const { isFree } = request;
  const [detail, spending] = await Promise.all([
    request.call(GetAccount, { accountId }),
    !isFree && request.call(GetSpendCap, { accountId: request.principal.accountId }),
  ]);
  const { account } = detail;
  const title = plainName(account.name) || account.accountId;
  const main = html`<section class="card">
      <dl class="facts" data-live="facts">
        ${!isFree && fact('Balance', usdText(Number(account.balanceMicros)))}
        ${fact('E-mail', html`<bdi>${plainName(account.email, 254) || '–'}</bdi>`)}
        ${fact('Account', html`<code>${account.accountId}</code>`)}
        ${fact('Since', account.createdAt === null ? '–' : timeTag(account.createdAt))}
      </dl>
    </section>
    <section class="card">
      <h2>Servers</h2>
      <p><a href="/operator?q=${account.accountId}">State machines</a></p>
      ${
        detail.servers.length === 0
          ? html`<p class="empty">No servers yet.</p>`
          : html`<ul class="list">
              ${detail.servers.map((server) => serverItem(request, server))}
            </ul>`
      }
    </section>
    ${spending !== false && creditCard(request, spending)} ${limitsCard(request, detail)} ${accessCard(request, detail)} `;
  return operatorPage(
    title,
    '/operator/accounts',
    main,
    html`<div class="head">
      <h1><bdi>${title}</bdi></h1>
    </div>`,
  );
}

function serverItem(request: PanelRequest, server: Server): Html {
  const { id, name, state, ramMb, plan, suspended, suspendReason, suspendedAt } = server;
  const form = suspended ? 'unsuspend' : 'suspend';
  const filled = fillingOf(request, form, { server: id }, id);
  const reason = reasonField(filled, suspended ? 'Recorded in the audit log.' : 'Shown to the owner.');
  return html`<li>
    <div data-live="${`server-${id}`}">
      <h3>
        <a href="/operator/machines/${id}"><bdi>${plainName(name) || id}</bdi></a> ${stateTag(state)}
        ${suspended && html`<span class="tag bad">suspended</span>`}
      </h3>
      <p><code>${id}</code> · ${ramText(ramMb)}${!request.isFree && ` · ${plan}`} · ${diskText(server)}</p>
      ${
        suspended &&
        html`<p>
          Suspended${suspendedAt !== null && html` since ${timeTag(suspendedAt)}`}:
          <bdi>${plainName(suspendReason, 256)}</bdi>
        </p>`
      }
    </div>
    ${quotaForm(request, server)}
    ${
      suspended
        ? html`<details>
            <summary>End the suspension…<span class="unseen"> of ${id}</span></summary>
            ${panelForm(request, form, html`${hidden('server', id)}${reason}<button type="submit">End the suspension</button>`)}
          </details>`
        : confirmed(
            'The server saves and stops. It can’t wake until you end the suspension. Its data stays.',
            'Suspend…',
            id,
            panelForm(
              request,
              form,
              html`${hidden('server', id)}${reason}<button class="danger" type="submit">Yes, suspend ${id}</button>`,
            ),
          )
    }
  </li>`;
}

function creditCard(request: PanelRequest, spending: { checkout: string }): Html {
  const filled = filling(request, 'credit');
  const form = html`<div class="side">
      ${lineField(filled, {
        name: 'amount',
        label: 'Amount in US dollars',
        hint: 'Use a minus sign to deduct.',
        maxlength: 18,
      })}
      ${choiceField(filled, { name: 'kind', label: 'As', options: KINDS })}
    </div>
    ${lineField(filled, { name: 'note', label: 'Note', hint: 'Shown to the owner in the ledger.', maxlength: 256 })}
    ${hidden('ref', filled.value('ref', randomBase62(22)))}
    <button type="submit">Add entry</button>`;
  return html`<section class="card">
    <h2>Add credit, refund or correction</h2>
    ${testMoneyNote(spending)} ${panelForm(request, 'credit', form)}
  </section>`;
}

function limitsCard(request: PanelRequest, { account, ownMaxRamMb, ownMaxServers }: Detail): Html {
  const filled = filling(request, 'limits');
  const own = (limit: number) => (limit === INHERITED ? '' : String(limit));
  const servers = account.maxServers > 0 ? `${account.maxServers}` : 'no limit';
  const form = html`<div class="side">
      ${lineField(filled, {
        name: 'maxRamMb',
        label: 'Total RAM of the account’s servers, in MB',
        hint: `Current: ${account.maxRamMb} MB. Empty = default.`,
        value: own(ownMaxRamMb),
        type: 'number',
        maxlength: 10,
        required: false,
      })}
      ${lineField(filled, {
        name: 'maxServers',
        label: 'Servers',
        hint: `Current: ${servers}. Empty = default, 0 = unlimited.`,
        value: own(ownMaxServers),
        type: 'number',
        maxlength: 10,
        required: false,
      })}
    </div>
    ${reasonField(filled, 'Recorded in the audit log. Shown to the owner.')}
    <button type="submit">Set the limits</button>`;
  return html`<section class="card">
    <h2>Limits</h2>
    <p>Running servers keep running.</p>
    ${panelForm(request, 'limits', form)}
  </section>`;
}

async function credit({ call, params: { accountId = '' } }: PanelRequest, form: Form): Promise<Outcome> {
  const [, sign = '', size = ''] = /^\s*([-−]?)(.*)$/s.exec(form.get('amount') ?? '') ?? [];
  const micros = microsOf(size);
  if (micros === undefined || micros === 0) throw badAmount('amount', 'Enter US dollars, such as 5, 2.50 or -2.50.');
  const kind = KINDS.find(([each]) => each === form.get('kind'))?.[0] ?? 'credit';
  const amountMicros = String(sign === '' ? micros : -micros);
  await call(
    CreditAccount,
    { accountId },
    { amountMicros, kind, note: form.get('note') ?? '', ref: form.get('ref') ?? '' },
  );
  return 'credited';
}

async function limits({ call, params: { accountId = '' } }: PanelRequest, form: Form): Promise<Outcome> {
  const limit = (name: string) => {
    const typed = (form.get(name) ?? '').trim();
    return typed === '' ? INHERITED : Number(typed);
  };
  const changes = { maxRamMb: limit('maxRamMb'), maxServers: limit('maxServers'), reason: form.get('reason') ?? '' };
  await call(SetAccountLimits, { accountId }, changes);
  return 'limited';
}

function setSuspended(operation: typeof SuspendServer | typeof UnsuspendServer, done: string) {
  return async ({ call }: PanelRequest, form: Form): Promise<Outcome> => {
    await call(operation, { id: form.get('server') ?? '' }, { reason: form.get('reason') ?? '' });
    return done;
  };
}

/** A server's disk use and quota. */
function diskText(server: Server): Html {
  const quota = Number(server.diskQuotaEffectiveMb);
  return html`Disk: ${server.diskUsageKnown ? ramText(Number(server.diskUsageMb)) : 'not measured yet'},
  ${quota === 0 ? 'no quota' : `quota ${ramText(quota)}`}${Number(server.diskQuotaOverrideMb) > 0 && ' of its own'}`;
}

/** The form for a server's own quota. */
function quotaForm(request: PanelRequest, { id, diskQuotaOverrideMb }: Server): Html {
  const filled = fillingOf(request, 'quota', { server: id }, id);
  const field = lineField(filled, {
    name: 'quotaMb',
    label: 'Quota in MB',
    hint: 'Applies immediately: a server over its quota is stopped. Empty = default.',
    value: Number(diskQuotaOverrideMb) > 0 ? diskQuotaOverrideMb : '',
    type: 'number',
    maxlength: 10,
    required: false,
    more: html`min="1"`,
  });
  const reason = reasonField(filled, 'Recorded in the audit log. Shown to the owner.');
  return html`<details ${request.failed === 'quota' && request.sent?.get('server') === id && html`open`}>
    <summary>Disk quota…<span class="unseen"> of ${id}</span></summary>
    ${panelForm(request, 'quota', html`${hidden('server', id)}${field}${reason}<button type="submit">Set the quota</button>`)}
  </details>`;
}

/** Sets a server's own quota. */
async function setQuota({ call }: PanelRequest, form: Form): Promise<Outcome> {
  const typed = (form.get('quotaMb') ?? '').trim();
  if (typed !== '' && !/^[1-9]\d{0,9}$/.test(typed))
    throw invalidFields([{ field: 'quotaMb', description: 'Enter whole MB, such as 20480.' }]);
  await call(
    SetDiskQuota,
    { id: form.get('server') ?? '' },
    { quotaMb: Number(typed), reason: form.get('reason') ?? '' },
  );
  return 'quota';
}

/** Access of an account: password reset, second factor, operator rights. Each requires a recent password. */
function accessCard(request: PanelRequest, { account: { accountId, operator }, secondFactor }: Detail): Html {
  const mayRemoveFactor = secondFactor && accountId !== request.principal.accountId;
  const filled = filling(request, 'access');
  const form = html`${reasonField(filled, 'Recorded in the audit log.')}
    ${passwordAgain({ ...request, path: request.here }, request.failed === 'access' ? request.problem : undefined)}
    <div class="actions">
      <button type="submit" name="do" value="reset-link">Create password reset link</button>
      ${
        operator
          ? html`<button class="danger" type="submit" name="do" value="end-operator">Remove operator rights</button>`
          : html`<button class="second" type="submit" name="do" value="make-operator">Make operator</button>`
      }
      ${mayRemoveFactor && html`<button class="danger" type="submit" name="do" value="second-factor">Turn off two-factor sign-in</button>`}
    </div>`;
  return html`<section class="card">
    <h2>Access ${operator && html`<span class="tag good">operator</span>`}</h2>
    <p>
      The link lets them choose a new password and expires in a day. Nothing changes until they use it.
      ${operator ? 'This account is an operator.' : 'Operators manage all accounts, servers and machines.'}
    </p>
    ${
      mayRemoveFactor &&
      html`<p>
        Sign-in requires a code. If they lost their phone and recovery codes, verify who they are, then turn it off. We
        e-mail them the reason.
      </p>`
    }
    ${panelForm(request, 'access', form)}
  </section>`;
}

/** Carries out the button's action. The link is shown only this once. */
function changeAccess(accounts: Accounts) {
  return async function access(request: PanelRequest, form: Form): Promise<Outcome> {
    const { accountId = '' } = request.params;
    const reason = form.get('reason') ?? '';
    await proved(accounts, request, form);
    if (form.get('do') === 'second-factor') {
      await request.call(RemoveAccountSecondFactor, { accountId }, { reason });
      return 'second-factor';
    }
    if (form.get('do') === 'make-operator' || form.get('do') === 'end-operator') {
      const operator = form.get('do') === 'make-operator';
      await request.call(SetAccountOperator, { accountId }, { operator, reason });
      return operator ? 'made-operator' : 'ended-operator';
    }
    const made = await request.call(MakeResetLink, { accountId }, { reason });
    const { account } = await request.call(GetAccount, { accountId });
    const main = linkCard(html`A link for <bdi>${plainName(account.email, 254)}</bdi> to choose a new password`, made);
    return operatorPage('Accounts', '/operator/accounts', main);
  };
}
