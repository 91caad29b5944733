import * as z from 'zod';
import { line, message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { SSH_KEY_CHARS, type SshKeyRow, type SshSessions, addSshKey, removeSshKey, sshKeysOf } from './ssh-keys.ts';

const SshKey = z
  .object({
    keyId: reply.text,
    name: reply.text,
    type: reply.text,
    fingerprint: reply.text.describe('`SHA256:…`, as `ssh-keygen -l` shows it.'),
    createdAt: reply.timestamp,
    lastUsedAt: reply.timestamp.describe('Null if never used.'),
  })
  .meta({ id: 'SshKey' });

export const ListSshKeys = operation({
  id: 'ListSshKeys',
  method: 'get',
  path: '/v1/session/sshKeys',
  auth: 'session',
  summary: 'List SSH keys',
  description: 'Returns your public keys for SFTP, in the order they were added.',
  reply: z.object({ keys: z.array(SshKey).default([]) }).meta({ id: 'ListSshKeysResponse' }),
});

export const AddSshKey = operation({
  id: 'AddSshKey',
  method: 'post',
  path: '/v1/session/sshKeys',
  auth: 'session',
  summary: 'Add an SSH key',
  description:
    'The key replaces the password for SFTP on every server of your account that has SFTP enabled. The user name ' +
    'is the server’s SFTP name. Returns PASSWORD_REQUIRED like `MintKey`.',
  body: message({
    name: line(64).trim().min(1, 'is required'),
    publicKey: text(SSH_KEY_CHARS).describe('A line of a `.pub` file: Ed25519, ECDSA, or RSA of 2048 to 8192 bits.'),
  }).meta({ id: 'AddSshKeyRequest' }),
  reply: SshKey,
});

export const RemoveSshKey = operation({
  id: 'RemoveSshKey',
  method: 'post',
  path: '/v1/session/sshKeys:remove',
  auth: 'session',
  summary: 'Remove an SSH key',
  description: 'Open sessions with this key end immediately.',
  body: message({ keyId: text(64).min(1, 'is required') }).meta({ id: 'RemoveSshKeyRequest' }),
  reply: Nothing,
});

/** Operations on the caller's public keys. */
export const sshKeyOperations = (accounts: Accounts & { sftp: SshSessions }): readonly Served[] => [
  serve(ListSshKeys, async ({ principal }) => ({ keys: (await sshKeysOf(accounts.store, principal)).map(keyView) })),
  serve(AddSshKey, async ({ principal, body }) => keyView(await addSshKey(accounts, principal, body))),
  serve(RemoveSshKey, async ({ principal, body }) => removeSshKey(accounts, principal, body.keyId)),
];

function keyView({ id, ...row }: SshKeyRow): z.input<typeof SshKey> {
  return { ...row, keyId: id };
}
