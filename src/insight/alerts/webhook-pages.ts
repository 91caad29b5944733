import { profilePage } from '../../accounts/page-parts.ts';
import type { ReplyOf } from '../../http/operation.ts';
import { type NoticeKind, NOTICE_KINDS } from '../../notices/events.ts';
import { confirmed, hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { type Filling, choiceField, filling, lineField, radioField, tickField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import type { Outcome, Panel, PanelRequest } from '../../web/panel/panel.ts';
import { copyButton, partOf, rowTable } from '../../web/panel/parts.ts';
import { timeTag } from '../../web/panel/time.ts';
import type { Form } from '../../web/serve.ts';
import { plainName } from '../../web/text.ts';
import { ListMyServers } from '../../servers/api/my-servers.ts';
import {
  CreateWebhook,
  DeleteWebhook,
  ListWebhookDeliveries,
  ListWebhooks,
  ResendWebhookDelivery,
  RotateWebhookSecret,
  TestWebhook,
  UpdateWebhook,
} from './webhooks-api.ts';

type Webhook = ReplyOf<typeof ListWebhooks>['webhooks'][number];
type Delivery = ReplyOf<typeof ListWebhookDeliveries>['deliveries'][number];

const KINDS: Readonly<Record<NoticeKind, string>> = {
  started: 'A server is awake',
  asleep: 'A server is asleep',
  startFailed: 'A server could not start',
  crashed: 'A server crashed',
  players: 'A player joined or left',
  backups: 'A backup finished or failed',
  disk: 'Disk space',
  money: 'Money',
  members: 'Members',
  updates: 'Updates of software and mods',
};
const FORMATS = [
  ['discord', 'A message for Discord or Slack'],
  ['json', 'JSON for your own program'],
] as const;
/** The kinds that a new webhook has. */
const USUAL: readonly string[] = ['startFailed', 'crashed', 'backups', 'disk', 'money'];
const DELIVERIES = 10;

/** An account's webhooks, and each with its deliveries. */
export function mountWebhookPages(panel: Panel): void {
  panel.page({
    path: '/profile/webhooks',
    show: webhooksPage,
    forms: { create },
    done: { deleted: 'Webhook deleted.' },
  });
  panel.page({
    path: '/profile/webhooks/:webhookId',
    show: webhookPage,
    forms: {
      save,
      rotate,
      async switch({ call, principal: { accountId }, params: { webhookId = '' } }, form) {
        const enabled = form.get('enabled') === 'true';
        await call(UpdateWebhook, { accountId }, { webhookId, enabled });
        return enabled ? 'on' : 'off';
      },
      async test({ call, principal: { accountId }, params: { webhookId = '' } }) {
        await call(TestWebhook, { accountId }, { webhookId });
        return 'test';
      },
      async resend({ call, principal: { accountId }, params: { webhookId = '' } }, form) {
        await call(ResendWebhookDelivery, { accountId }, { webhookId, deliveryId: form.get('deliveryId') ?? '' });
        return 'resent';
      },
      async delete({ call, principal: { accountId }, params: { webhookId = '' } }) {
        await call(DeleteWebhook, { accountId }, { webhookId });
        return { to: '/profile/webhooks?done=deleted' };
      },
    },
    done: {
      saved: 'Webhook saved.',
      on: 'Webhook on.',
      off: 'Webhook off.',
      test: 'Test message queued. Reload in a few seconds to see the answer.',
      resent: 'Message queued again.',
    },
  });
}

async function webhooksPage(request: PanelRequest): Promise<Page> {
  const { call, principal, query } = request;
  const { accountId } = principal;
  const [{ webhooks }, { my }] = await Promise.all([call(ListWebhooks, { accountId }), call(ListMyServers, {})]);
  const names = new Map(my.map(({ id, name = '' }) => [id, plainName(name) || id]));
  const filled = filling(request, 'create');
  const main = html`<section class="card">
      <p>Send events of your servers and your account to a chat or a program.</p>
      ${
        webhooks.length === 0
          ? html`<p class="empty">No webhooks yet.</p>`
          : html`<ul class="list">
              ${webhooks.map((webhook) => webhookItem(webhook, names))}
            </ul>`
      }
    </section>
    <section class="card">
      <h2>New webhook</h2>
      ${panelForm(
        request,
        'create',
        html`${choiceField(filled, {
            name: 'serverId',
            label: 'For',
            value: query.get('server') ?? '',
            options: [['', 'All servers and the account'], ...names],
          })}
          ${fields(filled, { url: '', format: 'discord', kinds: USUAL })}
          <button type="submit">Create webhook</button>`,
      )}
    </section>`;
  return profilePage(request, 'Webhooks', main);
}

function webhookItem(webhook: Webhook, names: ReadonlyMap<string, string>): Html {
  const { webhookId, serverId, kinds } = webhook;
  return html`<li>
    <h2><a href="/profile/webhooks/${webhookId}">${hostOf(webhook)}</a> ${stateNote(webhook)}</h2>
    <p>
      ${serverId === '' ? 'All servers and the account' : html`<bdi>${names.get(serverId) ?? serverId}</bdi>`} ·
      ${kinds.map((kind) => KINDS[kind as NoticeKind] ?? kind).join(', ')}
    </p>
  </li>`;
}

/** Anyone who knows the URL can post to it, so lists show only its host. */
function hostOf({ url }: Webhook): string {
  return new URL(url).hostname;
}

function stateNote({ enabled, failingSince }: Webhook): Html | false {
  if (enabled) return failingSince !== null && html`<span class="tag bad">failing</span>`;
  return html`<span class="tag">off</span>`;
}

/** The fields of a webhook: its URL, its format and a box for each kind of event. */
function fields(
  filled: Filling,
  { url, format, kinds }: { url: string; format: string; kinds: readonly string[] },
): Html {
  return html`${lineField(filled, {
      name: 'url',
      label: 'URL',
      hint: 'Discord, Slack or your own, beginning with https://.',
      value: url,
      maxlength: 2_048,
      type: 'url',
      more: html`placeholder="https://discord.com/api/webhooks/…"`,
    })}
    ${radioField(filled, { name: 'format', label: 'Format', value: format, options: FORMATS })}
    <fieldset>
      <legend>Events</legend>
      ${filled.wrong('kinds') !== undefined && html`<p class="wrong">${filled.wrong('kinds')}</p>`}
      ${NOTICE_KINDS.map((kind) => tickField(filled, { name: `kind-${kind}`, label: KINDS[kind], on: kinds.includes(kind) }))}
    </fieldset>`;
}

function fieldsOf(form: Form) {
  const kinds = NOTICE_KINDS.filter((kind) => form.get(`kind-${kind}`) === 'true');
  const format = form.get('format') === 'json' ? ('json' as const) : ('discord' as const);
  return { url: (form.get('url') ?? '').trim(), format, kinds };
}

async function create({ call, principal: { accountId } }: PanelRequest, form: Form): Promise<Outcome> {
  const given = { ...fieldsOf(form), serverId: form.get('serverId') ?? '' };
  return secretPage('Webhook created', await call(CreateWebhook, { accountId }, given));
}

async function save(request: PanelRequest, form: Form): Promise<Outcome> {
  const { call, principal, params } = request;
  const { webhookId = '' } = params;
  await call(UpdateWebhook, { accountId: principal.accountId }, { webhookId, ...fieldsOf(form) });
  return 'saved';
}

async function rotate({ call, principal: { accountId }, params: { webhookId = '' } }: PanelRequest): Promise<Outcome> {
  return secretPage('New secret', await call(RotateWebhookSecret, { accountId }, { webhookId }));
}

/** Shows a secret, once. */
function secretPage(title: string, { webhook, secret }: ReplyOf<typeof CreateWebhook>): Page {
  const main = html`<section class="card narrow">
    <h1>${title}</h1>
    <p>
      Your own program can verify messages with this secret. Chats don’t need it.
      <strong>It is never shown again.</strong>
    </p>
    <p><code>${secret}</code> ${copyButton(secret, 'the secret')}</p>
    <p><a class="button" href="/profile/webhooks/${webhook.webhookId}">Continue</a></p>
  </section>`;
  return { title, main };
}

async function webhookPage(request: PanelRequest): Promise<Page> {
  const { call, principal, params } = request;
  const { accountId } = principal;
  const { webhookId = '' } = params;
  const [{ deliveries }, { webhooks }] = await Promise.all([
    call(ListWebhookDeliveries, { accountId, webhookId }),
    call(ListWebhooks, { accountId }),
  ]);
  const webhook = webhooks.find((each) => each.webhookId === webhookId)!;
  const { enabled } = webhook;
  const filled = filling(request, 'save');
  const main = html`<section class="card">
      <h2>${hostOf(webhook)} ${stateNote(webhook)}</h2>
      ${stateText(webhook)}
      <div class="actions">
        ${enabled && buttonForm(request, 'test', 'Send a test message')}
        ${buttonForm(request, 'switch', enabled ? 'Switch off' : 'Switch on', { fields: { enabled: String(!enabled) } })}
      </div>
    </section>
    ${deliveriesCard(request, deliveries, enabled)}
    <section class="card">
      <h2>Settings</h2>
      ${panelForm(request, 'save', html`${fields(filled, webhook)}<button type="submit">Save</button>`)}
    </section>
    <section class="card">
      <h2>Secret</h2>
      <p>Signs each message in the header <code>Dormouse-Signature</code>.</p>
      ${confirmed(
        'For 24 hours, messages are signed with the old secret as well.',
        'Rotate the secret…',
        'of this webhook',
        buttonForm(request, 'rotate', 'Yes, rotate the secret'),
      )}
      ${confirmed(
        'Its deliveries are deleted as well. This can’t be undone.',
        'Delete this webhook…',
        '',
        buttonForm(request, 'delete', 'Yes, delete the webhook', { variant: 'danger' }),
      )}
    </section>`;
  return profilePage(request, 'Webhook', main);
}

function stateText({ enabled, failingSince }: Webhook): Html | false {
  if (failingSince === null) return false;
  if (enabled) return html`<p class="note warn">No message was accepted since ${timeTag(failingSince)}.</p>`;
  return html`<p class="note bad">
    Switched off: no message was accepted since ${timeTag(failingSince)}. Check the address, then switch it on.
  </p>`;
}

function deliveriesCard(request: PanelRequest, deliveries: readonly Delivery[], enabled: boolean): Html {
  const { shown, pager } = partOf(request, deliveries, { key: 'from', most: DELIVERIES, of: 'messages' });
  return html`<section class="card flush">
    <h2>Last messages</h2>
    ${
      deliveries.length === 0
        ? html`<p class="empty">No messages yet.</p>`
        : rowTable(
            'Last messages, newest first',
            ['Event', 'When', 'Result', 'Answer', 'Action'],
            shown.map((delivery) => deliveryRow(request, delivery, enabled)),
          )
    }
    ${pager}
  </section>`;
}

function deliveryRow(request: PanelRequest, delivery: Delivery, enabled: boolean): Html {
  const { deliveryId, event, serverId, state, status, answer, createdAt } = delivery;
  return html`<tr>
    <th scope="row"><code>${event}</code>${serverId !== '' && html` <small>${serverId}</small>`}</th>
    <td data-label="When">${timeTag(createdAt ?? 0)}</td>
    <td data-label="Result">${resultText(delivery)}</td>
    <td data-label="Answer">
      ${status !== 0 && html`${status} `}<small><bdi>${plainName(answer, 200)}</bdi></small>
    </td>
    <td>
      ${
        enabled &&
        state !== 'waiting' &&
        panelForm(
          request,
          'resend',
          html`${hidden('deliveryId', deliveryId)}<button class="second" type="submit">Resend</button>`,
        )
      }
    </td>
  </tr>`;
}

function resultText({ state, attempts, nextAt }: Delivery): Html {
  if (state === 'delivered') return html`<span class="tag good">delivered</span>`;
  if (state === 'failed') return html`<span class="tag bad">given up</span>`;
  return attempts === 0 ? html`waiting` : html`<span>next attempt ${timeTag(nextAt ?? 0)}</span>`;
}
