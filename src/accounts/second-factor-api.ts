import * as z from 'zod';
import { message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { type SessionOperation, sessionOperation } from '../http/session/session-operation.ts';
import { Password } from './fields.ts';
import type { Accounts } from './accounts.ts';
import {
  CODE_CHARS,
  RECOVERY_CODES,
  beginSecondFactor,
  confirmSecondFactor,
  removeOwnSecondFactor,
  renewRecoveryCodes,
  secondFactorOf,
} from './second-factor.ts';

/** A code of the app, or a recovery code. */
export const Code = text(CODE_CHARS)
  .min(1, 'is required')
  .describe('The six digits that the app shows, or a recovery code. Each works once.');

const Proof = message({ password: Password, code: Code });

const RecoveryCodes = z
  .object({ recoveryCodes: z.array(z.string()).default([]).describe(`${RECOVERY_CODES} codes, returned only once.`) })
  .meta({ id: 'RecoveryCodes' });

const getSecondFactor = ({ store }: Accounts) =>
  sessionOperation({
    id: 'GetSecondFactor',
    method: 'get',
    path: '/v1/session/secondFactor',
    summary: 'Get the second factor',
    description: 'Returns whether sign-in also requires a code from an app (TOTP, RFC 6238).',
    reply: z
      .object({
        enabledAt: reply.timestamp.describe('Null if two-factor sign-in is off.'),
        recoveryCodes: reply.int32.describe('Number of codes left.'),
        needed: reply.flag.describe('Whether you must set one up to use your operator rights.'),
      })
      .meta({ id: 'SecondFactor' }),
    async run({ principal }) {
      return { ...(await secondFactorOf(store, principal.userId)), needed: principal.needsSecondFactor };
    },
  });

const begin = (accounts: Accounts) =>
  sessionOperation({
    id: 'BeginSecondFactor',
    method: 'post',
    path: '/v1/session/secondFactor:begin',
    summary: 'Begin to set up two-factor sign-in',
    description:
      'Returns a key for an authenticator app. Sign-in does not change until `ConfirmSecondFactor`. Returns ' +
      'PASSWORD_REQUIRED if the password was entered more than 15 minutes ago (see `ProvePassword`).',
    precondition: 'two-factor sign-in must be off.',
    reply: z
      .object({
        key: reply.text.describe('Base32, for typing into the app.'),
        uri: reply.text.describe('The key as an `otpauth:` URI, for a QR code.'),
      })
      .meta({ id: 'BeginSecondFactorResponse' }),
    run: async ({ principal }) => beginSecondFactor(accounts, principal),
  });

const confirm = (accounts: Accounts) =>
  sessionOperation({
    id: 'ConfirmSecondFactor',
    method: 'post',
    path: '/v1/session/secondFactor:confirm',
    summary: 'Turn on two-factor sign-in',
    description:
      'Requires a code, which proves that the app has the key. From then on, sign-in requires a code. Ends all ' +
      'other sessions. API keys and connected apps stay. Returns PASSWORD_REQUIRED like `BeginSecondFactor`.',
    precondition: '`BeginSecondFactor` must have returned a key, and two-factor sign-in must be off.',
    body: message({ code: text(CODE_CHARS).min(1, 'is required') }).meta({ id: 'ConfirmSecondFactorRequest' }),
    reply: RecoveryCodes,
    run: async ({ principal, body }) => ({ recoveryCodes: await confirmSecondFactor(accounts, principal, body.code) }),
  });

const remove = (accounts: Accounts) =>
  sessionOperation({
    id: 'RemoveSecondFactor',
    method: 'post',
    path: '/v1/session/secondFactor:remove',
    summary: 'Turn off two-factor sign-in',
    description: 'Requires the password and a code.',
    precondition: 'two-factor sign-in must be on.',
    body: Proof.meta({ id: 'RemoveSecondFactorRequest' }),
    reply: Nothing,
    async run({ principal, body, browser }) {
      await removeOwnSecondFactor(accounts, principal, body, browser);
      return {};
    },
  });

const renew = (accounts: Accounts) =>
  sessionOperation({
    id: 'RenewRecoveryCodes',
    method: 'post',
    path: '/v1/session/secondFactor:renewRecoveryCodes',
    summary: 'Create new recovery codes',
    description: 'The old codes stop working. Requires the password and a code.',
    precondition: 'two-factor sign-in must be on.',
    body: Proof.meta({ id: 'RenewRecoveryCodesRequest' }),
    reply: RecoveryCodes,
    run: async ({ principal, body, browser }) => ({
      recoveryCodes: await renewRecoveryCodes(accounts, principal, body, browser),
    }),
  });

/** Operations on the caller's own second factor. */
export const secondFactorOperations = (accounts: Accounts): readonly SessionOperation[] => [
  getSecondFactor(accounts),
  begin(accounts),
  confirm(accounts),
  remove(accounts),
  renew(accounts),
];
