import * as z from 'zod';
import { csrfToken } from '../http/session/csrf.ts';
import { message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { CSRF_HEADER } from '../http/session/session-mount.ts';
import { type Browser, type SessionOperation, sessionOperation } from '../http/session/session-operation.ts';
import { hashToken } from '../kernel/ids.ts';
import { StatusError } from '../kernel/status.ts';
import { type SignedIn, signIn, signUp, signInWithCode } from './sign-in.ts';
import { provePassword, changePassword } from './passwords.ts';
import { requestSignUp } from './sign-up-links.ts';
import { resendVerification, verifyEmail } from './own-email.ts';
import { Email, NewPassword, Password } from './fields.ts';
import type { Accounts } from './accounts.ts';
import { endBrowserSession } from './browser-sessions.ts';
import { Code } from './second-factor-api.ts';

const Me = z
  .object({
    userId: reply.text,
    accountId: reply.text,
    email: reply.text,
    emailVerified: reply.flag,
    operator: reply.flag.describe('Whether the user is an operator.'),
    csrfToken: reply.text.describe(`Send it as \`${CSRF_HEADER}\` with every change in this session.`),
  })
  .meta({ id: 'Me' });

const getMe = ({ secret }: Accounts) =>
  sessionOperation({
    id: 'GetMe',
    method: 'get',
    path: '/v1/session/me',
    summary: 'Get the signed-in user',
    description: "Returns the user of this browser's session and the token that changes require.",
    reply: Me,
    run: async ({ principal }) => ({ ...principal, csrfToken: csrfToken(secret, principal.sessionId) }),
  });

const signUpOperation = (accounts: Accounts) =>
  sessionOperation({
    signedIn: false,
    id: 'SignUp',
    method: 'post',
    path: '/v1/session/me:signUp',
    summary: 'Create an account',
    description:
      'Creates a user with their own account, signs them in, and e-mails a link to verify the address. If sign-up is closed, it ' +
      'requires the token of an operator’s invitation for the address (`InviteAccount`); if e-mail is set up, that of a link sent ' +
      'by RequestSignUp.',
    body: message({
      email: Email,
      password: NewPassword,
      invitation: text(512).optional().describe('The token of the link, if one is needed.'),
    }).meta({ id: 'SignUpRequest' }),
    reply: Me,
    run: async ({ body, browser }) => enter(await signUp(accounts, body, browser), browser, accounts),
  });

const requestSignUpOperation = (accounts: Accounts) =>
  sessionOperation({
    signedIn: false,
    id: 'RequestSignUp',
    method: 'post',
    path: '/v1/session/me:requestSignUp',
    summary: 'Request a sign-up link',
    description:
      'If sign-up is open and e-mail is set up, sends the link for SignUp to the address. If the address already ' +
      'has an account, it gets a different e-mail, and the response is the same.',
    precondition: 'sign-up must be open, and e-mail set up.',
    body: message({ email: Email }).meta({ id: 'RequestSignUpRequest' }),
    reply: Nothing,
    async run({ body, browser }) {
      await requestSignUp(accounts, body.email, browser);
      return {};
    },
  });

const signInOperation = (accounts: Accounts) =>
  sessionOperation({
    signedIn: false,
    id: 'SignIn',
    method: 'post',
    path: '/v1/session/me:signIn',
    summary: 'Sign in',
    description:
      'Opens a session, stored in the browser as a cookie. Repeated attempts are slowed down but never locked out. ' +
      'If two-factor sign-in is on, the call returns UNAUTHENTICATED with the reason CODE_REQUIRED. Call ' +
      '`SignInWithCode` next.',
    body: message({ email: Email, password: Password }).meta({ id: 'SignInRequest' }),
    reply: Me,
    async run({ body, browser }) {
      const signedIn = await signIn(accounts, body, browser);
      if ('user' in signedIn) return enter(signedIn, browser, accounts);
      browser.keepPending(signedIn.pending);
      throw new StatusError('UNAUTHENTICATED', 'CODE_REQUIRED', 'Enter the code that your app shows.');
    },
  });

const signInWithCodeOperation = (accounts: Accounts) =>
  sessionOperation({
    signedIn: false,
    id: 'SignInWithCode',
    method: 'post',
    path: '/v1/session/me:signInWithCode',
    summary: 'Sign in with a code',
    description:
      'The second step of `SignIn`, in the same browser and within ten minutes. A cookie proves that the password ' +
      'was correct. Repeated attempts are slowed down for each account.',
    body: message({ code: Code }).meta({ id: 'SignInWithCodeRequest' }),
    reply: Me,
    async run({ body, browser }) {
      const signedIn = await signInWithCode(accounts, body.code, browser);
      const me = enter(signedIn, browser, accounts);
      browser.keepPending(null);
      return me;
    },
  });

const signOut = (accounts: Accounts) =>
  sessionOperation({
    id: 'SignOut',
    method: 'post',
    path: '/v1/session/me:signOut',
    summary: 'Sign out',
    description: 'Ends this session.',
    reply: Nothing,
    async run({ principal, browser }) {
      await endBrowserSession(accounts, principal, principal.sessionId);
      browser.keepSession(null);
      return {};
    },
  });

const changePasswordOperation = (accounts: Accounts) =>
  sessionOperation({
    id: 'ChangePassword',
    method: 'post',
    path: '/v1/session/me:changePassword',
    summary: 'Change the password',
    description: 'Ends all other sessions. API keys and connected apps stay. Revoke them separately.',
    body: message({ current: Password, replacement: NewPassword }).meta({ id: 'ChangePasswordRequest' }),
    reply: Nothing,
    async run({ principal, body, browser }) {
      await changePassword(accounts, principal, body, browser);
      return {};
    },
  });

const provePasswordOperation = (accounts: Accounts) =>
  sessionOperation({
    id: 'ProvePassword',
    method: 'post',
    path: '/v1/session/me:provePassword',
    summary: 'Confirm the password',
    description:
      'For 15 minutes, this session can create API keys, add SSH keys, set up two-factor sign-in and approve the ' +
      'command line, as after a sign-in. Repeated attempts are slowed down as for a sign-in.',
    body: message({ password: Password }).meta({ id: 'ProvePasswordRequest' }),
    reply: Nothing,
    async run({ principal, body, browser }) {
      await provePassword(accounts, principal, body.password, browser);
      return {};
    },
  });

const sendVerification = (accounts: Accounts) =>
  sessionOperation({
    id: 'SendVerification',
    method: 'post',
    path: '/v1/session/me:sendVerification',
    summary: 'Resend the verification e-mail',
    description: 'Sends the verification link again, unless the address is verified.',
    reply: Nothing,
    async run({ principal }) {
      await resendVerification(accounts, principal);
      return {};
    },
  });

const verifyEmailOperation = (accounts: Accounts) =>
  sessionOperation({
    signedIn: false,
    id: 'VerifyEmail',
    method: 'post',
    path: '/v1/session/me:verifyEmail',
    summary: 'Verify an e-mail address',
    description:
      'Accepts the token of the link in the e-mail. It works once, for a day, in any browser. A token sent by ChangeEmail changes ' +
      'the user’s address to its own.',
    body: message({ token: text(128) }).meta({ id: 'VerifyEmailRequest' }),
    reply: Nothing,
    async run({ body, browser }) {
      await verifyEmail(accounts, body.token, browser);
      return {};
    },
  });

function enter({ user, token, device }: SignedIn, browser: Browser, { secret }: Accounts): z.input<typeof Me> {
  browser.keepSession(token);
  browser.keepDevice(device);
  const { id: userId, accountId, email, emailVerified, operator } = user;
  return { userId, accountId, email, emailVerified, operator, csrfToken: csrfToken(secret, hashToken(token)) };
}

export const signInOperations = (accounts: Accounts): readonly SessionOperation[] => [
  getMe(accounts),
  requestSignUpOperation(accounts),
  signUpOperation(accounts),
  signInOperation(accounts),
  signInWithCodeOperation(accounts),
  signOut(accounts),
  changePasswordOperation(accounts),
  provePasswordOperation(accounts),
  sendVerification(accounts),
  verifyEmailOperation(accounts),
];
