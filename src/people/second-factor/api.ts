import * as z from 'zod';
import { message, reply, text } from '../../http/fields.ts';
import { Nothing } from '../../http/nothing.ts';
import { type SessionOperation, sessionOperation } from '../../http/session/session-operation.ts';
import { Password } from '../people-fields.ts';
import type { People } from '../people.ts';
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
  .describe('The six digits that the app shows, or a recovery code. Either is taken once.');

const Proof = message({ password: Password, code: Code });

const RecoveryCodes = z
  .object({ recoveryCodes: z.array(z.string()).default([]).describe(`${RECOVERY_CODES}, shown this once.`) })
  .meta({ id: 'RecoveryCodes' });

const getSecondFactor = ({ store }: People) =>
  sessionOperation({
    id: 'GetSecondFactor',
    method: 'get',
    path: '/v1/session/secondFactor',
    summary: 'Read the second factor',
    description: 'Whether signing in asks for a code of an app too (TOTP, RFC 6238).',
    reply: z
      .object({
        enabledAt: reply.timestamp.describe('Null without one.'),
        recoveryCodes: reply.int32.describe('How many are left.'),
        needed: reply.flag.describe('An operator here who cannot run the installation before having one.'),
      })
      .meta({ id: 'SecondFactor' }),
    async run({ principal }) {
      return { ...(await secondFactorOf(store, principal.userId)), needed: principal.needsSecondFactor };
    },
  });

const begin = (people: People) =>
  sessionOperation({
    id: 'BeginSecondFactor',
    method: 'post',
    path: '/v1/session/secondFactor:begin',
    summary: 'Begin to set up a second factor',
    description:
      'Gives a key for an authenticator app. Signing in is as before until `ConfirmSecondFactor`. PASSWORD_REQUIRED where ' +
      'the password was given more than a quarter of an hour ago: `ProvePassword` first.',
    precondition: 'there must be none yet.',
    reply: z
      .object({
        key: reply.text.describe('Base32, to be typed into the app.'),
        uri: reply.text.describe('The same as an `otpauth:` address, for a QR code.'),
      })
      .meta({ id: 'BeginSecondFactorResponse' }),
    run: async ({ principal }) => beginSecondFactor(people, principal),
  });

const confirm = (people: People) =>
  sessionOperation({
    id: 'ConfirmSecondFactor',
    method: 'post',
    path: '/v1/session/secondFactor:confirm',
    summary: 'Switch the second factor on',
    description:
      'With a code, to show that the app has the key. Signing in asks for a code from then on, and all other sessions end. ' +
      'API keys and connected apps stay. PASSWORD_REQUIRED as for `BeginSecondFactor`.',
    precondition: 'a key must have been given (`BeginSecondFactor`), and none be in force.',
    body: message({ code: text(CODE_CHARS).min(1, 'is required') }).meta({ id: 'ConfirmSecondFactorRequest' }),
    reply: RecoveryCodes,
    run: async ({ principal, body }) => ({ recoveryCodes: await confirmSecondFactor(people, principal, body.code) }),
  });

const remove = (people: People) =>
  sessionOperation({
    id: 'RemoveSecondFactor',
    method: 'post',
    path: '/v1/session/secondFactor:remove',
    summary: 'Turn off two-factor sign-in',
    description: 'Requires the password and a code.',
    precondition: 'there must be one.',
    body: Proof.meta({ id: 'RemoveSecondFactorRequest' }),
    reply: Nothing,
    async run({ principal, body, browser }) {
      await removeOwnSecondFactor(people, principal, body, browser);
      return {};
    },
  });

const renew = (people: People) =>
  sessionOperation({
    id: 'RenewRecoveryCodes',
    method: 'post',
    path: '/v1/session/secondFactor:renewRecoveryCodes',
    summary: 'Create new recovery codes',
    description: 'The old codes stop working. Requires the password and a code.',
    precondition: 'there must be a second factor.',
    body: Proof.meta({ id: 'RenewRecoveryCodesRequest' }),
    reply: RecoveryCodes,
    run: async ({ principal, body, browser }) => ({
      recoveryCodes: await renewRecoveryCodes(people, principal, body, browser),
    }),
  });

/** Operations on the caller's own second factor. */
export const secondFactorOperations = (people: People): readonly SessionOperation[] => [
  getSecondFactor(people),
  begin(people),
  confirm(people),
  remove(people),
  renew(people),
];
