import * as z from 'zod';
import { invalidFields } from '../http/errors.ts';
import { ServerId, line, message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { KEY_SCOPES } from '../http/scopes.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { keysOf, mintOwnKey, revokeOwnKey } from './keys.ts';
import type { ApiKeyRow } from './key-rows.ts';

const MOST_SERVERS = 100;

const Key = z
  .object({
    keyId: reply.text,
    name: reply.text,
    prefix: reply.text.describe('The prefix of every API key.'),
    last4: reply.text.describe('The last four characters of this key.'),
    scopes: z.array(z.string()).default([]),
    serverIds: z.array(z.string()).default([]).describe('The servers it can reach. Empty means all of yours.'),
    createdAt: reply.timestamp,
    lastUsedAt: reply.timestamp.describe('Accurate to the minute. Null if never used.'),
    expiresAt: reply.timestamp.describe('Null if it does not expire.'),
  })
  .meta({ id: 'Key' });

export const ListKeys = operation({
  id: 'ListKeys',
  method: 'get',
  path: '/v1/session/keys',
  auth: 'session',
  summary: 'List API keys',
  description: 'The account’s active keys, oldest first. The key itself is shown only when it is created.',
  reply: z.object({ keys: z.array(Key).default([]) }).meta({ id: 'ListKeysResponse' }),
});

export const MintKey = operation({
  id: 'MintKey',
  method: 'post',
  path: '/v1/session/keys',
  auth: 'session',
  summary: 'Create an API key',
  description:
    'The response contains the key, which is never shown again. Returns PASSWORD_REQUIRED if the password was ' +
    'entered more than 15 minutes ago (see `ProvePassword`).',
  body: message({
    name: line(64).trim().min(1, 'is required'),
    scopes: z
      .array(z.enum(KEY_SCOPES, `must each be one of ${KEY_SCOPES.join(', ')}`))
      .min(1, 'must name at least one scope')
      .max(KEY_SCOPES.length, 'must name each scope once')
      .transform((scopes) => [...new Set(scopes)]),
    expiresAt: z.iso
      .datetime({ offset: true, error: 'must be an instant such as 2030-01-31T12:00:00Z' })
      .transform((instant) => Date.parse(instant))
      .optional()
      .describe('If absent, the key does not expire.'),
    serverIds: z
      .array(ServerId)
      .min(1, 'must name at least one server, or be left out')
      .max(MOST_SERVERS, `must name at most ${MOST_SERVERS} servers`)
      .optional()
      .describe('The servers it can reach. If absent, all of yours.'),
  }).meta({ id: 'MintKeyRequest' }),
  example: { name: 'backup script', scopes: ['servers:read', 'backups'] },
  reply: z
    .object({ key: Key, apiKey: reply.text.describe('The key itself. Send it as `x-api-key`.') })
    .meta({ id: 'MintKeyResponse' }),
});

export const RevokeKey = operation({
  id: 'RevokeKey',
  method: 'post',
  path: '/v1/session/keys:revoke',
  auth: 'session',
  summary: 'Revoke an API key',
  description: 'The next call with the key is refused, and its open streams end.',
  body: message({ keyId: text(64).min(1, 'is required') }).meta({ id: 'RevokeKeyRequest' }),
  reply: Nothing,
});

function keyView({ id, serverIds, ...row }: ApiKeyRow): z.input<typeof Key> {
  return { ...row, keyId: id, prefix: 'dmk_', serverIds: serverIds ?? [] };
}

export const keyOperations = (accounts: Accounts): readonly Served[] => [
  serve(ListKeys, async ({ principal }) => ({ keys: (await keysOf(accounts.store, principal)).map(keyView) })),
  serve(MintKey, async ({ principal, body }) => {
    const { name, scopes, expiresAt = null, serverIds = null } = body;
    if (expiresAt !== null && expiresAt <= accounts.clock.now()) {
      throw invalidFields([{ field: 'expiresAt', description: 'must be in the future' }]);
    }
    const { key, row } = await mintOwnKey(accounts, principal, { name, scopes, expiresAt, serverIds });
    return { key: keyView(row), apiKey: key };
  }),
  serve(RevokeKey, async ({ principal, body }) => revokeOwnKey(accounts, principal, body.keyId)),
];
