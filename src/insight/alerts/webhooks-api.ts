import * as z from 'zod';
import { wholeAccount } from '../../access/caller.ts';
import { AccountId, AccountParams } from '../../accounts/fields.ts';
import { auditActorOf, recordAudit } from '../../audit/audit.ts';
import { requireScope } from '../../http/auth.ts';
import { invalidFields } from '../../http/errors.ts';
import { HTTPS_URL, message, reply, text } from '../../http/fields.ts';
import { Nothing } from '../../http/nothing.ts';
import { operation } from '../../http/operation.ts';
import type { Principal } from '../../http/principal.ts';
import { type Scope, alsoScopesOf } from '../../http/scopes.ts';
import { type Served, serve } from '../../http/serve.ts';
import { newId } from '../../kernel/ids.ts';
import { StatusError, preconditionFailure, quotaExceeded } from '../../kernel/status.ts';
import { NOTICE_KINDS, type NoticeKind } from '../../notices/events.ts';
import {
  type WebhookMessageRow,
  type WebhookRow,
  deleteWebhook,
  findWebhook,
  insertNotice,
  insertWebhook,
  kindsOf,
  listDeliveries,
  listWebhooks,
  resendMessage,
  switchOff,
  updateWebhook,
} from '../../notices/rows.ts';
import { checkWebhookUrl } from '../../servers/api/fields.ts';
import type { Sql, Tx } from '../../store/store.ts';
import type { StoredNotice } from './body.ts';
import type { SecretOf } from './signature.ts';
import type { Shared } from '../../servers/shared.ts';

const MOST_WEBHOOKS = 20;

const Webhook = z
  .object({
    webhookId: reply.text,
    serverId: reply.text.describe('Empty: all servers of the account, and the account itself.'),
    url: reply.text,
    format: reply.text.describe('`discord` or `json`.'),
    kinds: z.array(z.string()).default([]),
    enabled: reply.flag,
    failingSince: reply.timestamp.describe('The first failure since the last accepted message; null without one.'),
    createdAt: reply.timestamp,
  })
  .meta({ id: 'Webhook' });

const WebhookWithSecret = z
  .object({
    webhook: Webhook,
    secret: reply.text.describe('Signs the messages. It is never shown again.'),
  })
  .meta({ id: 'WebhookWithSecret' });

const Delivery = z
  .object({
    deliveryId: reply.text.describe('The `Idempotency-Key` of the message.'),
    event: reply.text,
    serverId: reply.text,
    state: reply.text.describe('`waiting`, `delivered` or `failed`.'),
    attempts: reply.int32.describe('Failed attempts.'),
    status: reply.int32.describe('The HTTP status of the last answer; 0 without one.'),
    answer: reply.text.describe('The beginning of the last answer, or the reason that it is missing.'),
    createdAt: reply.timestamp,
    nextAt: reply.timestamp.describe('The earliest time of the next attempt; null if it is finished.'),
    doneAt: reply.timestamp,
  })
  .meta({ id: 'WebhookDelivery' });

const KINDS_TEXT = NOTICE_KINDS.map((kind) => `\`${kind}\``).join(', ');
const Url = text(2_048)
  .superRefine((url, ctx) => {
    const wrong = checkWebhookUrl(url);
    if (wrong !== undefined) ctx.addIssue({ code: 'custom', message: wrong });
  })
  .meta({ pattern: HTTPS_URL });
const Format = z.enum(['discord', 'json'], 'must be discord or json');
const Kinds = z
  .array(z.enum(NOTICE_KINDS, `must each be one of ${NOTICE_KINDS.join(', ')}`))
  .min(1, 'must name at least one kind')
  .max(NOTICE_KINDS.length, 'must name each kind once')
  .transform((kinds) => [...new Set(kinds)])
  .describe(`The kinds of events: ${KINDS_TEXT}.`);
const WebhookId = text(64).min(1, 'is required');
const OneWebhook = message({ webhookId: WebhookId });

/** The scope that a kind of event requires in addition. */
const SCOPES: Partial<Record<NoticeKind, Scope>> = { money: 'billing:read', members: 'members' };
const ALSO = alsoScopesOf(SCOPES);

const COMMON = {
  auth: 'key',
  scope: 'servers:write',
  section: 'Console, logs and insight',
  params: AccountParams,
} as const;
const PATH = '/v1/accounts/{accountId}/webhooks';

export const ListWebhooks = operation({
  ...COMMON,
  id: 'ListWebhooks',
  method: 'get',
  path: PATH,
  summary: 'List webhooks',
  description: 'Returns the webhooks of the account, oldest first, without their secrets.',
  reply: z.object({ webhooks: z.array(Webhook).default([]) }).meta({ id: 'ListWebhooksResponse' }),
});

export const CreateWebhook = operation({
  ...COMMON,
  alsoScopes: ALSO,
  id: 'CreateWebhook',
  method: 'post',
  path: PATH,
  summary: 'Create a webhook',
  description: [
    'Events of the chosen kinds are sent to a public https address: as a message for Discord or Slack, or as JSON',
    'with `id`, `event`, `kind`, `at`, `accountId`, `serverId`, `serverName`, `text` and `detail`. The header',
    '`Dormouse-Signature` is `t=<seconds>,v1=<hex>`: the HMAC-SHA256, with the secret as the key, of `t`, a dot and the',
    'body, as in Stripe’s webhooks. Messages are sent at least once, in order, with retries for some eighty minutes;',
    '`Idempotency-Key` identifies repetitions. A webhook that accepts nothing for three days is switched off.',
  ].join('\n'),
  body: message({
    url: Url,
    serverId: text(64).default('').describe('One server. Empty: all servers, and the account itself.'),
    format: Format.default('discord'),
    kinds: Kinds,
  }).meta({ id: 'CreateWebhookRequest' }),
  example: { url: 'https://discord.com/api/webhooks/1/example', kinds: ['started', 'crashed', 'players'] },
  reply: WebhookWithSecret,
});

export const UpdateWebhook = operation({
  ...COMMON,
  alsoScopes: ALSO,
  id: 'UpdateWebhook',
  method: 'post',
  path: `${PATH}:update`,
  summary: 'Change a webhook',
  description: 'An absent field stays unchanged. While a webhook is off, its events are not queued.',
  body: message({
    webhookId: WebhookId,
    url: Url.optional(),
    format: Format.optional(),
    kinds: Kinds.optional(),
    enabled: z.boolean('must be true or false').optional(),
  }).meta({ id: 'UpdateWebhookRequest' }),
  reply: Webhook,
});

export const DeleteWebhook = operation({
  ...COMMON,
  id: 'DeleteWebhook',
  method: 'post',
  path: `${PATH}:delete`,
  summary: 'Delete a webhook',
  description: 'Also deletes its deliveries. Waiting messages are not sent.',
  body: OneWebhook.meta({ id: 'DeleteWebhookRequest' }),
  reply: Nothing,
});

export const RotateWebhookSecret = operation({
  ...COMMON,
  id: 'RotateWebhookSecret',
  method: 'post',
  path: `${PATH}:rotateSecret`,
  summary: 'Rotate the secret of a webhook',
  description: 'Returns a new secret. For 24 hours, messages are signed with both secrets, as two `v1`.',
  body: OneWebhook.meta({ id: 'RotateWebhookSecretRequest' }),
  reply: WebhookWithSecret,
});

export const TestWebhook = operation({
  ...COMMON,
  id: 'TestWebhook',
  method: 'post',
  path: `${PATH}:test`,
  summary: 'Send a test message',
  description: 'Queues a message, which is sent within seconds. ListWebhookDeliveries shows the answer.',
  precondition: 'the webhook is off',
  body: OneWebhook.meta({ id: 'TestWebhookRequest' }),
  reply: Nothing,
});

export const ListWebhookDeliveries = operation({
  ...COMMON,
  id: 'ListWebhookDeliveries',
  method: 'get',
  path: `${PATH}/{webhookId}/deliveries`,
  summary: 'List the deliveries of a webhook',
  description: 'Returns the last 50 messages, newest first.',
  params: message({
    accountId: AccountId,
    webhookId: z.string().max(64).describe('The webhook.'),
  }),
  reply: z.object({ deliveries: z.array(Delivery).default([]) }).meta({ id: 'ListWebhookDeliveriesResponse' }),
});

export const ResendWebhookDelivery = operation({
  ...COMMON,
  id: 'ResendWebhookDelivery',
  method: 'post',
  path: `${PATH}:resend`,
  summary: 'Resend a message',
  description: 'Sends a finished message again within seconds, with the same `Idempotency-Key`.',
  precondition: 'the webhook is off, or the message is still waiting',
  body: message({ webhookId: WebhookId, deliveryId: text(64).min(1, 'is required') }).meta({
    id: 'ResendWebhookDeliveryRequest',
  }),
  reply: Nothing,
});

function webhookView(row: WebhookRow): z.input<typeof Webhook> {
  const { id, serverId, url, format, offAt, failingSince, createdAt } = row;
  const kinds = kindsOf(row);
  return {
    webhookId: id,
    serverId: serverId ?? '',
    url,
    format,
    kinds,
    enabled: offAt === null,
    failingSince,
    createdAt,
  };
}

function deliveryView(row: WebhookMessageRow): z.input<typeof Delivery> {
  const { id, serverId, state, tries, status, answer, createdAt, dueAt, doneAt } = row;
  const { event } = JSON.parse(row.notice) as StoredNotice;
  const nextAt = state === 'waiting' ? dueAt : null;
  const seen = { event, serverId: serverId ?? '', attempts: tries, createdAt, nextAt, doneAt };
  return { deliveryId: id, state, status, answer, ...seen };
}

/** Operations on an account's webhooks. The audit log names only a URL's host, because anyone who knows it may post. */
export const webhookOperations = ({ store, servers, clock }: Shared, secretOf: SecretOf): readonly Served[] => {
  const change = async <T>(
    { params, principal, body }: { params: { accountId: string }; principal: Principal; body: { webhookId: string } },
    action: string,
    work: (tx: Tx, row: WebhookRow, at: number) => Promise<T>,
  ): Promise<T> => {
    const accountId = wholeAccount(principal, params.accountId);
    return store.write(async (tx) => {
      const row = await requireWebhook(tx, accountId, body.webhookId);
      const at = clock.now();
      const done = await work(tx, row, at);
      const detail = `${row.id} at ${new URL(row.url).hostname}`;
      await recordAudit(tx, auditActorOf(principal), { action, accountId, detail, at });
      return done;
    });
  };

  return [
    serve(ListWebhooks, async ({ params, principal }) => ({
      webhooks: (await listWebhooks(store, wholeAccount(principal, params.accountId))).map(webhookView),
    })),
    serve(CreateWebhook, async ({ params, principal, body }) => {
      const accountId = wholeAccount(principal, params.accountId);
      const { url, format, serverId, kinds } = body;
      requireKinds(principal, kinds);
      if (serverId !== '' && (await servers.get(serverId))?.row.accountId !== accountId)
        throw invalidFields([{ field: 'serverId', description: 'must be a server of this account' }]);
      const at = clock.now();
      const row: WebhookRow = {
        id: newId('whk'),
        accountId,
        serverId: serverId === '' ? null : serverId,
        url,
        format,
        kinds: JSON.stringify(kinds),
        secretNth: 1,
        rotatedAt: null,
        failingSince: null,
        offAt: null,
        createdAt: at,
      };
      await store.write(async (tx) => {
        if ((await listWebhooks(tx, accountId)).length >= MOST_WEBHOOKS) throw tooMany(accountId);
        await insertWebhook(tx, row);
        const detail = `${row.id} at ${new URL(url).hostname}`;
        await recordAudit(tx, auditActorOf(principal), { action: 'webhook.create', accountId, detail, at });
      });
      return { webhook: webhookView(row), secret: secretOf(row.id, row.secretNth) };
    }),
    serve(UpdateWebhook, async (call) =>
      change(call, 'webhook.update', async (tx, row, at) => {
        const { url = row.url, format = row.format, kinds = kindsOf(row), enabled } = call.body;
        if (url !== row.url || call.body.kinds !== undefined) requireKinds(call.principal, kinds);
        // The failures were those of the former receiver, or before it was switched on.
        const failingSince = url === row.url && enabled !== true ? row.failingSince : null;
        const fields = { url, format, kinds: JSON.stringify(kinds), failingSince };
        await updateWebhook(tx, row.id, { ...fields, ...(enabled === true && { offAt: null }) });
        if (enabled === false && row.offAt === null) await switchOff(tx, row.id, at);
        return webhookView(await requireWebhook(tx, row.accountId, row.id));
      }),
    ),
    serve(DeleteWebhook, async (call) => change(call, 'webhook.delete', (tx, { id }) => deleteWebhook(tx, id))),
    serve(RotateWebhookSecret, async (call) =>
      change(call, 'webhook.rotateSecret', async (tx, row, rotatedAt) => {
        const rotated = { secretNth: row.secretNth + 1, rotatedAt };
        await updateWebhook(tx, row.id, rotated);
        return { webhook: webhookView({ ...row, ...rotated }), secret: secretOf(row.id, rotated.secretNth) };
      }),
    ),
    serve(TestWebhook, async (call) =>
      change(call, 'webhook.test', async (tx, row, at) => {
        requireOn(row);
        await insertNotice(tx, row.id, row.serverId, { event: 'test', detail: '', at });
      }),
    ),
    serve(ListWebhookDeliveries, async ({ params, principal }) => {
      const accountId = wholeAccount(principal, params.accountId);
      const { id } = await requireWebhook(store, accountId, params.webhookId);
      return { deliveries: (await listDeliveries(store, id)).map(deliveryView) };
    }),
    serve(ResendWebhookDelivery, async (call) =>
      change(call, 'webhook.resend', async (tx, row, at) => {
        requireOn(row);
        if (!(await resendMessage(tx, row.id, call.body.deliveryId, at)))
          throw refused(row, 'DELIVERY_NOT_FINISHED', 'This message is still waiting, or no longer stored.');
      }),
    ),
  ];
};

function requireKinds(principal: Principal, kinds: readonly NoticeKind[]): void {
  for (const kind of kinds) {
    const scope = SCOPES[kind];
    if (scope !== undefined) requireScope(principal, scope);
  }
}

async function requireWebhook(db: Sql, accountId: string, webhookId: string): Promise<WebhookRow> {
  const row = await findWebhook(db, accountId, webhookId);
  if (row !== undefined) return row;
  const metadata = { webhookId };
  throw new StatusError('NOT_FOUND', 'WEBHOOK_NOT_FOUND', 'There is no such webhook.', { metadata });
}

function requireOn(row: WebhookRow): void {
  if (row.offAt !== null) throw refused(row, 'WEBHOOK_OFF', 'The webhook is off. Switch it on first.');
}

function refused({ id, accountId }: WebhookRow, reason: string, sentence: string): StatusError {
  const details = [preconditionFailure('WEBHOOK', `account:${accountId}`, sentence)];
  return new StatusError('FAILED_PRECONDITION', reason, sentence, { metadata: { webhookId: id }, details });
}

function tooMany(accountId: string): StatusError {
  const message = `An account may have ${MOST_WEBHOOKS} webhooks.`;
  return quotaExceeded('WEBHOOK_LIMIT', `account:${accountId}`, message, { limit: String(MOST_WEBHOOKS) });
}
