import { z } from 'zod';
import { line, message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { type SessionOperation, sessionOperation } from '../http/session-operation.ts';
import type { SshKeyRow } from './ssh-key-rows.ts';
import { SSH_KEY_CHARS, addSshKey, removeSshKey, sshKeysOf } from './ssh-keys.ts';

const SshKey = z
  .object({
    keyId: reply.text,
    name: reply.text,
    type: reply.text,
    fingerprint: reply.text.describe('`SHA256:…`, as `ssh-keygen -l` shows it.'),
    createdAt: reply.timestamp,
    lastUsedAt: reply.timestamp.describe('Null: never.'),
  })
  .meta({ id: 'SshKey' });

const list = sessionOperation({
  id: 'ListSshKeys',
  method: 'get',
  path: '/v1/session/sshKeys',
  summary: 'List SSH keys',
  description: 'The public keys you sign in to SFTP with, in the order they were added.',
  reply: z.object({ keys: z.array(SshKey).default([]) }).meta({ id: 'ListSshKeysResponse' }),
}).handle(async ({ principal }, { store }) => ({ keys: (await sshKeysOf(store, principal)).map(keyView) }));

const add = sessionOperation({
  id: 'AddSshKey',
  method: 'post',
  path: '/v1/session/sshKeys',
  summary: 'Add an SSH key',
  description:
    'It opens SFTP of every server of your account where SFTP is on, under the server’s SFTP name, in place of the password. ' +
    'PASSWORD_REQUIRED as for `MintKey`.',
  body: message({
    name: line(64).trim().min(1, 'is required'),
    publicKey: text(SSH_KEY_CHARS).describe('A line of a `.pub` file: Ed25519, ECDSA, or RSA from 2048 bits on.'),
  }).meta({ id: 'AddSshKeyRequest' }),
  reply: SshKey,
}).handle(async ({ principal, body }, services) => keyView(await addSshKey(services, principal, body)));

const remove = sessionOperation({
  id: 'RemoveSshKey',
  method: 'post',
  path: '/v1/session/sshKeys:remove',
  summary: 'Remove an SSH key',
  description: 'What is open with it ends at once.',
  body: message({ keyId: text(64).min(1, 'is required') }).meta({ id: 'RemoveSshKeyRequest' }),
  reply: Nothing,
}).handle(async ({ principal, body }, services) => {
  await removeSshKey(services, principal, body.keyId);
  return {};
});

/** The public keys of who is signed in. */
export const sshKeyOperations: readonly SessionOperation[] = [list, add, remove];

function keyView({ id, ...row }: SshKeyRow): z.input<typeof SshKey> {
  return { ...row, keyId: id };
}
