import { z } from 'zod';
import { csrfToken } from '../http/csrf.ts';
import { message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import type { Services } from '../http/services.ts';
import { CSRF_HEADER } from '../http/session-mount.ts';
import { type Browser, sessionOperation, visitorOperation } from '../http/session-operation.ts';
import { hashToken } from '../kernel/ids.ts';
import { provePassword } from './fresh-password.ts';
import { requestSignUp } from './mail/sign-up-links.ts';
import { resendVerification, verifyEmail } from './mail/verification.ts';
import { Email, NewPassword, Password } from './people-fields.ts';
import { endSession } from './sessions.ts';
import { type SignedIn, changePassword, signIn, signUp } from './users.ts';

const Me = z
  .object({
    userId: reply.text,
    accountId: reply.text,
    email: reply.text,
    emailVerified: reply.flag,
    operator: reply.flag.describe('May run this installation.'),
    csrfToken: reply.text.describe(`To be sent as \`${CSRF_HEADER}\` with every change by this session.`),
  })
  .meta({ id: 'Me' });

export const getMe = sessionOperation({
  id: 'GetMe',
  method: 'get',
  path: '/v1/session/me',
  summary: 'Who is signed in?',
  description: "The user of this browser's session, and the token its changes need.",
  reply: Me,
}).handle(async ({ principal }, { secret }) => ({ ...principal, csrfToken: csrfToken(secret, principal.sessionId) }));

export const signUpOperation = visitorOperation({
  id: 'SignUp',
  method: 'post',
  path: '/v1/session/me:signUp',
  summary: 'Make an account',
  description:
    'Makes a user with an account of their own, signs them in, and sends a letter to verify the address. Where sign-up is ' +
    'closed it takes the token of a link that an operator has made for the address (`InviteAccount`), and where mail is sent that ' +
    'of one that RequestSignUp has sent there.',
  body: message({
    email: Email,
    password: NewPassword,
    invitation: text(512).optional().describe('The token of the link, where one is needed.'),
  }).meta({ id: 'SignUpRequest' }),
  reply: Me,
}).handle(async ({ body, browser }, services) => enter(await signUp(services, body, browser), browser, services));

export const requestSignUpOperation = visitorOperation({
  id: 'RequestSignUp',
  method: 'post',
  path: '/v1/session/me:requestSignUp',
  summary: 'Ask for a link to make an account with',
  description:
    'Where anybody may make an account and mail is sent, this sends the link to the address, for SignUp. An address that has ' +
    'an account gets another letter; the answer is the same.',
  precondition: 'accounts must be made by letter here: without mail, or where sign-up is closed, none is sent.',
  body: message({ email: Email }).meta({ id: 'RequestSignUpRequest' }),
  reply: Nothing,
}).handle(async ({ body, browser }, services) => {
  await requestSignUp(services, body.email, browser);
  return {};
});

export const signInOperation = visitorOperation({
  id: 'SignIn',
  method: 'post',
  path: '/v1/session/me:signIn',
  summary: 'Sign in',
  description: 'Opens a session, kept by the browser as a cookie. Tries are slowed down, never locked out.',
  body: message({ email: Email, password: Password }).meta({ id: 'SignInRequest' }),
  reply: Me,
}).handle(async ({ body, browser }, services) => enter(await signIn(services, body, browser), browser, services));

export const signOut = sessionOperation({
  id: 'SignOut',
  method: 'post',
  path: '/v1/session/me:signOut',
  summary: 'Sign out',
  description: 'Ends this session.',
  reply: Nothing,
}).handle(async ({ principal, browser }, services) => {
  await endSession(services, principal, principal.sessionId);
  browser.keepSession(null);
  return {};
});

export const changePasswordOperation = sessionOperation({
  id: 'ChangePassword',
  method: 'post',
  path: '/v1/session/me:changePassword',
  summary: 'Change the password',
  description: 'Ends all other sessions. API keys and connected apps stay: revoke them where that is meant.',
  body: message({ current: Password, replacement: NewPassword }).meta({ id: 'ChangePasswordRequest' }),
  reply: Nothing,
}).handle(async ({ principal, body, browser }, services) => {
  await changePassword(services, principal, body, browser);
  return {};
});

export const provePasswordOperation = sessionOperation({
  id: 'ProvePassword',
  method: 'post',
  path: '/v1/session/me:provePassword',
  summary: 'Give the password once more',
  description:
    'For a quarter of an hour this session may then make keys and let a command line in, as after a sign-in. Tries are ' +
    'slowed down like those of a sign-in.',
  body: message({ password: Password }).meta({ id: 'ProvePasswordRequest' }),
  reply: Nothing,
}).handle(async ({ principal, body, browser }, services) => {
  await provePassword(services, principal, body.password, browser);
  return {};
});

export const sendVerification = sessionOperation({
  id: 'SendVerification',
  method: 'post',
  path: '/v1/session/me:sendVerification',
  summary: 'Send the letter again',
  description: 'Another letter with a link that verifies the address; nothing where it is verified.',
  reply: Nothing,
}).handle(async ({ principal }, services) => {
  await resendVerification(services, principal);
  return {};
});

export const verifyEmailOperation = visitorOperation({
  id: 'VerifyEmail',
  method: 'post',
  path: '/v1/session/me:verifyEmail',
  summary: 'Verify an e-mail address',
  description: 'Takes the token of the link in the letter. It works once, for a day, in any browser.',
  body: message({ token: text(128) }).meta({ id: 'VerifyEmailRequest' }),
  reply: Nothing,
}).handle(async ({ body, browser }, services) => {
  await verifyEmail(services, body.token, browser);
  return {};
});

function enter({ user, token, device }: SignedIn, browser: Browser, { secret }: Services): z.input<typeof Me> {
  browser.keepSession(token);
  browser.keepDevice(device);
  const { id: userId, accountId, email, emailVerified, operator } = user;
  return { userId, accountId, email, emailVerified, operator, csrfToken: csrfToken(secret, hashToken(token)) };
}
