import * as z from 'zod';
import { message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { CSRF_HEADER, csrfToken } from '../http/session/csrf.ts';
import { operation } from '../http/operation.ts';
import { type Browser, type Served, serve } from '../http/serve.ts';
import { hashToken } from '../kernel/ids.ts';
import { StatusError } from '../kernel/status.ts';
import { finishWithCode } from './provider-sign-in.ts';
import { type SignedIn, signIn, signUp } from './sign-in.ts';
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

export const GetMe = operation({
  id: 'GetMe',
  method: 'get',
  path: '/v1/session/me',
  auth: 'session',
  summary: 'Get the signed-in user',
  description: "Returns the user of this browser's session and the token that changes require.",
  reply: Me,
});

export const SignUp = operation({
  signedIn: false,
  id: 'SignUp',
  method: 'post',
  path: '/v1/session/me:signUp',
  auth: 'session',
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
});

export const RequestSignUp = operation({
  signedIn: false,
  id: 'RequestSignUp',
  method: 'post',
  path: '/v1/session/me:requestSignUp',
  auth: 'session',
  summary: 'Request a sign-up link',
  description:
    'If sign-up is open and e-mail is set up, sends the link for SignUp to the address. If the address already ' +
    'has an account, it gets a different e-mail, and the response is the same.',
  precondition: 'sign-up must be open, and e-mail set up.',
  body: message({ email: Email }).meta({ id: 'RequestSignUpRequest' }),
  reply: Nothing,
});

export const SignIn = operation({
  signedIn: false,
  id: 'SignIn',
  method: 'post',
  path: '/v1/session/me:signIn',
  auth: 'session',
  summary: 'Sign in',
  description:
    'Opens a session, stored in the browser as a cookie. Repeated attempts are slowed down but never locked out. ' +
    'If two-factor sign-in is on, the call returns UNAUTHENTICATED with the reason CODE_REQUIRED. Call ' +
    '`SignInWithCode` next.',
  body: message({ email: Email, password: Password }).meta({ id: 'SignInRequest' }),
  reply: Me,
});

export const SignInWithCode = operation({
  signedIn: false,
  id: 'SignInWithCode',
  method: 'post',
  path: '/v1/session/me:signInWithCode',
  auth: 'session',
  summary: 'Sign in with a code',
  description:
    'The second step of `SignIn`, in the same browser and within ten minutes. A cookie proves that the password ' +
    'was correct. Repeated attempts are slowed down for each account.',
  body: message({ code: Code }).meta({ id: 'SignInWithCodeRequest' }),
  reply: Me,
});

export const SignOut = operation({
  id: 'SignOut',
  method: 'post',
  path: '/v1/session/me:signOut',
  auth: 'session',
  summary: 'Sign out',
  description: 'Ends this session.',
  reply: Nothing,
});

export const ChangePassword = operation({
  id: 'ChangePassword',
  method: 'post',
  path: '/v1/session/me:changePassword',
  auth: 'session',
  summary: 'Change the password',
  description: 'Ends all other sessions. API keys and connected apps stay. Revoke them separately.',
  body: message({ current: Password, replacement: NewPassword }).meta({ id: 'ChangePasswordRequest' }),
  reply: Nothing,
});

export const ProvePassword = operation({
  id: 'ProvePassword',
  method: 'post',
  path: '/v1/session/me:provePassword',
  auth: 'session',
  summary: 'Confirm the password',
  description:
    'For 15 minutes, this session can create API keys, add SSH keys, set up two-factor sign-in and approve the ' +
    'command line, as after a sign-in. Repeated attempts are slowed down as for a sign-in.',
  body: message({ password: Password }).meta({ id: 'ProvePasswordRequest' }),
  reply: Nothing,
});

export const SendVerification = operation({
  id: 'SendVerification',
  method: 'post',
  path: '/v1/session/me:sendVerification',
  auth: 'session',
  summary: 'Resend the verification e-mail',
  description: 'Sends the verification link again, unless the address is verified.',
  reply: Nothing,
});

export const VerifyEmail = operation({
  signedIn: false,
  id: 'VerifyEmail',
  method: 'post',
  path: '/v1/session/me:verifyEmail',
  auth: 'session',
  summary: 'Verify an e-mail address',
  description:
    'Accepts the token of the link in the e-mail. It works once, for a day, in any browser. A token sent by ChangeEmail changes ' +
    'the user’s address to its own.',
  body: message({ token: text(128) }).meta({ id: 'VerifyEmailRequest' }),
  reply: Nothing,
});

function enter({ user, token, device }: SignedIn, browser: Browser, { secret }: Accounts): z.input<typeof Me> {
  browser.keepSession(token);
  browser.keepDevice(device);
  const { id: userId, accountId, email, emailVerified, operator } = user;
  return { userId, accountId, email, emailVerified, operator, csrfToken: csrfToken(secret, hashToken(token)) };
}

export const signInOperations = (accounts: Accounts): readonly Served[] => [
  serve(GetMe, async ({ principal }) => ({ ...principal, csrfToken: csrfToken(accounts.secret, principal.sessionId) })),
  serve(RequestSignUp, async ({ body, browser }) => requestSignUp(accounts, body.email, browser)),
  serve(SignUp, async ({ body, browser }) => enter(await signUp(accounts, body, browser), browser, accounts)),
  serve(SignIn, async ({ body, browser }) => {
    const signedIn = await signIn(accounts, body, browser);
    if ('user' in signedIn) return enter(signedIn, browser, accounts);
    browser.keepPending(signedIn.pending);
    throw new StatusError('UNAUTHENTICATED', 'CODE_REQUIRED', 'Enter the code that your app shows.');
  }),
  serve(SignInWithCode, async ({ body, browser }) => {
    const signedIn = await finishWithCode(accounts, body.code, browser);
    const me = enter(signedIn, browser, accounts);
    browser.keepPending(null);
    return me;
  }),
  serve(SignOut, async ({ principal, browser }) => {
    await endBrowserSession(accounts, principal, principal.sessionId);
    browser.keepSession(null);
  }),
  serve(ChangePassword, async ({ principal, body, browser }) => changePassword(accounts, principal, body, browser)),
  serve(ProvePassword, async ({ principal, body, browser }) =>
    provePassword(accounts, principal, body.password, browser),
  ),
  serve(SendVerification, async ({ principal }) => resendVerification(accounts, principal)),
  serve(VerifyEmail, async ({ body, browser }) => verifyEmail(accounts, body.token, browser)),
];
