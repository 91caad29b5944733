import * as z from 'zod';
import { message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
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

export const GetSecondFactor = operation({
  id: 'GetSecondFactor',
  method: 'get',
  path: '/v1/session/secondFactor',
  auth: 'session',
  summary: 'Get the second factor',
  description: 'Returns whether sign-in also requires a code from an app (TOTP, RFC 6238).',
  reply: z
    .object({
      enabledAt: reply.timestamp.describe('Null if two-factor sign-in is off.'),
      recoveryCodes: reply.int32.describe('Number of codes left.'),
      needed: reply.flag.describe('Whether you must set one up to use your operator rights.'),
    })
    .meta({ id: 'SecondFactor' }),
});

export const BeginSecondFactor = operation({
  id: 'BeginSecondFactor',
  method: 'post',
  path: '/v1/session/secondFactor:begin',
  auth: 'session',
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
});

export const ConfirmSecondFactor = operation({
  id: 'ConfirmSecondFactor',
  method: 'post',
  path: '/v1/session/secondFactor:confirm',
  auth: 'session',
  summary: 'Turn on two-factor sign-in',
  description:
    'Requires a code, which proves that the app has the key. From then on, sign-in requires a code. Ends all ' +
    'other sessions. API keys and connected apps stay. Returns PASSWORD_REQUIRED like `BeginSecondFactor`.',
  precondition: '`BeginSecondFactor` must have returned a key, and two-factor sign-in must be off.',
  body: message({ code: text(CODE_CHARS).min(1, 'is required') }).meta({ id: 'ConfirmSecondFactorRequest' }),
  reply: RecoveryCodes,
});

export const RemoveSecondFactor = operation({
  id: 'RemoveSecondFactor',
  method: 'post',
  path: '/v1/session/secondFactor:remove',
  auth: 'session',
  summary: 'Turn off two-factor sign-in',
  description: 'Requires the password and a code.',
  precondition: 'two-factor sign-in must be on.',
  body: Proof.meta({ id: 'RemoveSecondFactorRequest' }),
  reply: Nothing,
});

export const RenewRecoveryCodes = operation({
  id: 'RenewRecoveryCodes',
  method: 'post',
  path: '/v1/session/secondFactor:renewRecoveryCodes',
  auth: 'session',
  summary: 'Create new recovery codes',
  description: 'The old codes stop working. Requires the password and a code.',
  precondition: 'two-factor sign-in must be on.',
  body: Proof.meta({ id: 'RenewRecoveryCodesRequest' }),
  reply: RecoveryCodes,
});

/** Operations on the caller's own second factor. */
export const secondFactorOperations = (accounts: Accounts): readonly Served[] => [
  serve(GetSecondFactor, async ({ principal }) => {
    return { ...(await secondFactorOf(accounts.store, principal.userId)), needed: principal.needsSecondFactor };
  }),
  serve(BeginSecondFactor, async ({ principal }) => beginSecondFactor(accounts, principal)),
  serve(ConfirmSecondFactor, async ({ principal, body }) => ({
    recoveryCodes: await confirmSecondFactor(accounts, principal, body.code),
  })),
  serve(RemoveSecondFactor, async ({ principal, body, browser }) =>
    removeOwnSecondFactor(accounts, principal, body, browser),
  ),
  serve(RenewRecoveryCodes, async ({ principal, body, browser }) => ({
    recoveryCodes: await renewRecoveryCodes(accounts, principal, body, browser),
  })),
];
