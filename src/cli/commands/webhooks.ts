import { done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Context, type Subject, call, flag, ofAccount, option } from '../command.ts';
import { failed } from '../errors.ts';
import { listing, relative } from '../format.ts';
import { oneOf } from '../parse.ts';
import { type Messages, read } from '../shapes.ts';
import { suggest } from '../suggest.ts';
import { oneLine } from '../text.ts';

const WEBHOOK = {
  webhookId: '',
  serverId: '',
  url: '',
  format: '',
  kinds: [''],
  enabled: false as boolean,
  failingSince: '' as string | null,
} satisfies Partial<Messages['Webhook']>;
type Webhook = typeof WEBHOOK;

const DELIVERY = {
  deliveryId: '',
  event: '',
  serverId: '',
  state: '',
  status: 0,
  answer: '',
  createdAt: '' as string | null,
} satisfies Partial<Messages['WebhookDelivery']>;

const KINDS = [
  'started',
  'asleep',
  'startFailed',
  'crashed',
  'players',
  'backups',
  'disk',
  'money',
  'members',
  'updates',
] as const;

function kindsOf(texts: readonly string[]) {
  const words = texts.flatMap((text) => text.split(',')).filter((text) => text !== '');
  return words.map((word) =>
    oneOf(KINDS, word, `An event must be one of ${KINDS.join(', ')}. ${suggest(word, KINDS)}`.trimEnd()),
  );
}

/** Finds a webhook by its number in the list or its id. */
async function webhookId({ api }: Context, which: string): Promise<string> {
  const list = await done(api.GET('/v1/accounts/{accountId}/webhooks', await ofAccount(api)));
  const { webhooks: found } = read({ webhooks: [WEBHOOK] }, list, oneLine);
  const byNumber = /^\d{1,3}$/.test(which) ? found[Number(which) - 1] : undefined;
  const one = byNumber ?? found.find((each) => each.webhookId === which);
  if (one !== undefined) return one.webhookId;
  throw failed('NO_SUCH_WEBHOOK', `There is no webhook ${which}. See: ${DORMOUSE} webhooks list`);
}

/** Returns the call's account, with a webhook in its body. */
async function onWebhook<Fields extends object>(context: Context, which: string, fields: Fields) {
  const body = { webhookId: await webhookId(context, which), ...fields };
  return { ...(await ofAccount(context.api)), body };
}

function stateOf({ enabled, failingSince }: Webhook): string {
  if (!enabled) return 'off';
  return failingSince === null || failingSince === '' ? 'on' : 'failing';
}

function withSecret(secret: string): string[] {
  return [`Secret: ${secret}`, 'It is never shown again. It signs each message in the header Dormouse-Signature.'];
}

/** `dormouse webhooks`. */
export const webhooks: Subject = {
  name: 'webhooks',
  summary: 'Events for a chat or a program: starts, crashes, players, backups, money.',
  details: `Name a webhook by its number in the list. Events: ${KINDS.join(', ')}.

Examples: ${DORMOUSE} webhooks add https://discord.com/api/webhooks/1/example started crashed players
          ${DORMOUSE} webhooks add https://example.org/hook backups --json-body --server castle`,
  commands: [
    call({
      usage: 'webhooks list',
      summary: 'List your webhooks.',
      call: async ({ api }) => api.GET('/v1/accounts/{accountId}/webhooks', await ofAccount(api)),
      shape: { webhooks: [WEBHOOK] },
      show: ({ webhooks: all }, { out }) =>
        listing(out, all, `No webhooks yet. Create one with: ${DORMOUSE} webhooks add <url> <event...>`, {
          NO: (_, index) => String(index + 1),
          // Anyone who knows the URL can post to it.
          HOST: ({ url }) => URL.parse(url)?.hostname ?? '',
          SERVER: ({ serverId }) => (serverId === '' ? 'all' : serverId),
          FORMAT: ({ format }) => format,
          STATE: stateOf,
          EVENTS: ({ kinds }) => kinds.join(', '),
        }),
    }),
    call({
      usage: 'webhooks add <url> <event...>',
      summary: 'Create a webhook for some kinds of events.',
      options: {
        server: option('id', 'Only this server. Otherwise all your servers, and your account.'),
        'json-body': flag('Send JSON for your own program. Otherwise, a message for Discord or Slack.'),
      },
      async call({ api }, [url = '', ...events], { server = '', 'json-body': isJson = false }) {
        const format = isJson ? ('json' as const) : ('discord' as const);
        const body = { url, serverId: server, format, kinds: kindsOf(events) };
        return api.POST('/v1/accounts/{accountId}/webhooks', { ...(await ofAccount(api)), body });
      },
      shape: { webhook: WEBHOOK, secret: '' },
      show: ({ secret }) => ['Created the webhook.', ...withSecret(secret)],
    }),
    ...(['on', 'off'] as const).map((word) =>
      call({
        usage: `webhooks ${word} <number>`,
        summary: word === 'on' ? 'Switch a webhook on.' : 'Switch a webhook off.',
        async call(context, [which = '']) {
          const init = await onWebhook(context, which, { enabled: word === 'on' });
          return context.api.POST('/v1/accounts/{accountId}/webhooks:update', init);
        },
        shape: WEBHOOK,
        show: (webhook) => [`The webhook is ${stateOf(webhook)}.`],
      }),
    ),
    call({
      usage: 'webhooks events <number> <event...>',
      summary: 'Choose the kinds of events of a webhook.',
      async call(context, [which = '', ...events]) {
        const init = await onWebhook(context, which, { kinds: kindsOf(events) });
        return context.api.POST('/v1/accounts/{accountId}/webhooks:update', init);
      },
      shape: WEBHOOK,
      show: ({ kinds }) => [`Events: ${kinds.join(', ')}.`],
    }),
    call({
      usage: 'webhooks test <number>',
      summary: 'Send a test message. See the answer with: webhooks deliveries.',
      call: async (context, [which = '']) =>
        context.api.POST('/v1/accounts/{accountId}/webhooks:test', await onWebhook(context, which, {})),
      show: () => ['The test message is queued.'],
    }),
    call({
      usage: 'webhooks deliveries <number>',
      summary: 'List the last messages of a webhook with their answers.',
      async call(context, [which = '']) {
        const { path } = (await ofAccount(context.api)).params;
        const params = { path: { ...path, webhookId: await webhookId(context, which) } };
        return context.api.GET('/v1/accounts/{accountId}/webhooks/{webhookId}/deliveries', { params });
      },
      shape: { deliveries: [DELIVERY] },
      show: ({ deliveries }, { out, now }) =>
        listing(out, deliveries, 'No messages yet.', {
          WHEN: ({ createdAt }) => relative(createdAt ?? '', now),
          EVENT: ({ event }) => event,
          SERVER: ({ serverId }) => serverId,
          STATE: ({ state }) => state,
          ANSWER: ({ status, answer }) => `${status === 0 ? '' : status} ${answer}`.trim().slice(0, 60),
          ID: ({ deliveryId }) => deliveryId,
        }),
    }),
    call({
      usage: 'webhooks resend <number> <message>',
      summary: 'Send a message again, by its id in the list of deliveries.',
      async call(context, [which = '', deliveryId = '']) {
        const init = await onWebhook(context, which, { deliveryId });
        return context.api.POST('/v1/accounts/{accountId}/webhooks:resend', init);
      },
      show: () => ['The message is queued again.'],
    }),
    call({
      usage: 'webhooks rotate <number>',
      summary: 'Create a new secret. The old one also signs messages for 24 hours.',
      call: async (context, [which = '']) =>
        context.api.POST('/v1/accounts/{accountId}/webhooks:rotateSecret', await onWebhook(context, which, {})),
      shape: { webhook: WEBHOOK, secret: '' },
      show: ({ secret }) => withSecret(secret),
    }),
    call({
      usage: 'webhooks delete <number>',
      summary: 'Delete a webhook with its deliveries.',
      call: async (context, [which = '']) =>
        context.api.POST('/v1/accounts/{accountId}/webhooks:delete', await onWebhook(context, which, {})),
      show: () => ['Deleted the webhook.'],
    }),
  ],
};
