import { message, text } from '../../http/fields.ts';
import { Nothing } from '../../http/nothing.ts';
import { type SessionOperation, sessionOperation } from '../../http/session/session-operation.ts';
import { Email, NewPassword } from '../people-fields.ts';
import type { People } from '../people.ts';
import { requestPasswordReset, resetPasswordByLink } from './password-reset.ts';

const requestPasswordResetOperation = (people: People) =>
  sessionOperation({
    signedIn: false,
    id: 'RequestPasswordReset',
    method: 'post',
    path: '/v1/session/me:requestPasswordReset',
    summary: 'Ask for a link to choose another password with',
    description:
      'Sends it to the address, where that has an account; the answer is the same where it has none. The link works for half an hour, ' +
      'once, for ResetPassword.',
    precondition: 'mail must be set up here: where it is not, an operator makes the link (MakeResetLink).',
    body: message({ email: Email }).meta({ id: 'RequestPasswordResetRequest' }),
    reply: Nothing,
    async run({ body, browser }) {
      await requestPasswordReset(people, body.email, browser);
      return {};
    },
  });

const resetPasswordOperation = (people: People) =>
  sessionOperation({
    signedIn: false,
    id: 'ResetPassword',
    method: 'post',
    path: '/v1/session/me:resetPassword',
    summary: 'Choose another password',
    description:
      'Takes the token of the link. All sessions of the user end, and none begins: sign in. API keys, connected apps and the second ' +
      'factor stay. A letter tells of it.',
    precondition: 'the link must not have been used, nor be too old.',
    body: message({ token: text(128), password: NewPassword }).meta({ id: 'ResetPasswordRequest' }),
    reply: Nothing,
    async run({ body, browser }) {
      await resetPasswordByLink(people, body, browser);
      return {};
    },
  });

/** What somebody does about a lost password. */
export const recoveryOperations = (people: People): readonly SessionOperation[] => [
  requestPasswordResetOperation(people),
  resetPasswordOperation(people),
];
