import * as z from 'zod';
import { message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { Email, NewPassword, Password } from './fields.ts';
import type { Accounts } from './accounts.ts';
import { changeEmail } from './own-email.ts';
import { requestPasswordReset, resetPasswordByLink } from './password-reset.ts';

export const RequestPasswordReset = operation({
  signedIn: false,
  id: 'RequestPasswordReset',
  method: 'post',
  path: '/v1/session/me:requestPasswordReset',
  auth: 'session',
  summary: 'Request a password reset link',
  description:
    'Sends a link to the address if it has an account. The response is the same in both cases. The link works ' +
    'once, within 30 minutes, for ResetPassword.',
  precondition: 'e-mail must be set up here. Otherwise an operator creates the link (MakeResetLink).',
  body: message({ email: Email }).meta({ id: 'RequestPasswordResetRequest' }),
  reply: Nothing,
});

export const ResetPassword = operation({
  signedIn: false,
  id: 'ResetPassword',
  method: 'post',
  path: '/v1/session/me:resetPassword',
  auth: 'session',
  summary: 'Choose a new password',
  description:
    'Accepts the token of the link. Ends all sessions of the user. API keys, connected apps and the second ' +
    'factor stay. An e-mail confirms the change.',
  precondition: 'the link must be unused and not expired.',
  body: message({ token: text(128), password: NewPassword }).meta({ id: 'ResetPasswordRequest' }),
  reply: Nothing,
});

export const ChangeEmail = operation({
  id: 'ChangeEmail',
  method: 'post',
  path: '/v1/session/me:changeEmail',
  auth: 'session',
  summary: 'Change the e-mail address',
  description:
    'Sends a link to the new address. The address changes once the link is opened (VerifyEmail accepts its token ' +
    'for a day), and an e-mail notifies the old address. Sessions, API keys and connected apps stay. If the new ' +
    'address already has an account, it gets a different e-mail, and the response is the same. If e-mail is not ' +
    'set up, the address changes at once and is unverified.',
  precondition: 'the new address must differ from the current one.',
  body: message({ email: Email, password: Password }).meta({ id: 'ChangeEmailRequest' }),
  reply: z
    .object({ sent: reply.flag.describe('Whether a confirmation was e-mailed. If false, the address has changed.') })
    .meta({ id: 'ChangeEmailResponse' }),
});

/** Operations for a lost password or a new address. */
export const recoveryOperations = (accounts: Accounts): readonly Served[] => [
  serve(RequestPasswordReset, async ({ body, browser }) => requestPasswordReset(accounts, body.email, browser)),
  serve(ResetPassword, async ({ body, browser }) => resetPasswordByLink(accounts, body, browser)),
  serve(ChangeEmail, async ({ principal, body, browser }) => changeEmail(accounts, principal, body, browser)),
];
