import { auditActorOf, recordAudit } from '../audit/audit.ts';
import type { Principal } from '../http/principal.ts';
import type { Visitor } from '../http/session/visitor.ts';
import type { Clock } from '../kernel/clock.ts';
import { randomBase62 } from '../kernel/ids.ts';
import { addressKey } from '../kernel/ip.ts';
import { StatusError } from '../kernel/status.ts';
import { DAY_MS, MINUTE_MS } from '../kernel/units.ts';
import type { Sql, Store, Tx } from '../store/store.ts';
import type { Accounts } from './accounts.ts';
import { deleteOtherBrowserSessions } from './browser-session-rows.ts';
import { addEmailToken, deleteAllEmailTokens, deleteExpiredEmailTokens, findEmailToken } from './link-rows.ts';
import { stranger } from './login-limits.ts';
import { hashPassword, requireProvedSession } from './passwords.ts';
import { type UserRow, findFirstOperator, getUser, getUserByEmail, replacePassword, userOfAccount } from './rows.ts';
import { removeSecondFactorHere, secondFactorOf } from './second-factor.ts';

/** Lifetimes of a link that a user requested, and of one that an operator passes on. */
const RESET_MS = 30 * MINUTE_MS;
const OPERATORS_RESET_MS = DAY_MS;
/** Open tokens per user. Each of several e-mails must work, because any may be the one that arrives. */
const MOST_TOKENS = 3;

/** A reset link, returned to the operator. */
export interface ResetLink {
  /** Returned only once, because only the hash is stored. */
  link: string;
  expiresAt: number;
  /** Whether the link was e-mailed. If false, there is no mail server, and the operator passes it on. */
  sent: boolean;
}

/**
 * E-mails a link for a new password to an address that has an account. Returns before the address is looked up, so that
 * neither the answer nor its time shows whether there is an account. Throws FAILED_PRECONDITION MAIL_NOT_SET without a
 * mail server, and RESOURCE_EXHAUSTED for too many requests from or for an address.
 */
export function requestPasswordReset(accounts: Accounts, email: string, visitor: Visitor): void {
  const { loginLimits, post } = accounts;
  if (!post.isSetUp) throw new StatusError('FAILED_PRECONDITION', 'MAIL_NOT_SET', NO_MAIL);
  loginLimits.mail.take(`reset from ${addressKey(visitor.address)}`);
  loginLimits.mail.take(`reset ${email}`);
  post.prepare('a password reset', () => sendReset(accounts, email));
}

async function sendReset(accounts: Accounts, email: string): Promise<void> {
  const { store, clock } = accounts;
  const now = clock.now();
  const token = await store.write(async (tx) => {
    const user = await getUserByEmail(tx, email);
    if (user) return newToken(tx, user, now, RESET_MS);
    await deleteExpiredEmailTokens(tx, now);
    return undefined;
  });
  if (token !== undefined) postReset(accounts, email, linkOf(accounts, token), 'half an hour');
}

/** The hint if e-mail is not set up. */
export const NO_MAIL =
  'E-mail is not set up here. Ask your administrator for a reset link, or run npm run reset-password on the machine.';

/**
 * Creates a link for a new password of an account's user, and e-mails it if there is a mail server. PERMISSION_DENIED
 * unless the session's password was given recently; NOT_FOUND ACCOUNT_NOT_FOUND; RESOURCE_EXHAUSTED for too many
 * e-mails.
 */
export async function makeResetLink(
  accounts: Accounts,
  principal: Principal,
  accountId: string,
  reason: string,
): Promise<ResetLink> {
  const { store, clock, loginLimits, post } = accounts;
  await requireProvedSession(accounts, principal);
  if (post.isSetUp) loginLimits.mail.take(principal.accountId);
  const at = clock.now();
  const { user, token } = await store.write(async (tx) => {
    const user = await userOfAccount(tx, accountId);
    const entry = { action: 'account.makeResetLink', accountId, detail: reason, at };
    await recordAudit(tx, auditActorOf(principal), entry);
    return { user, token: await newToken(tx, user, at, OPERATORS_RESET_MS) };
  });
  const link = linkOf(accounts, token);
  if (post.isSetUp) postReset(accounts, user.email, link, 'a day');
  return { link, expiresAt: at + OPERATORS_RESET_MS, sent: post.isSetUp };
}

/** Whether a link's token still works. */
export async function isResetToken({ store, clock }: Accounts, token: string): Promise<boolean> {
  return (await userOf(store, token, clock.now())) !== undefined;
}

/**
 * Consumes a link's token and sets the password. Signs out all browsers of the user, voids their other links and
 * notifies them by e-mail. API keys, connected apps and the second factor stay. FAILED_PRECONDITION LINK_INVALID if the
 * token is unknown, used or expired; RESOURCE_EXHAUSTED for too many wrong ones from an address; UNAVAILABLE BUSY.
 */
export async function resetPasswordByLink(
  accounts: Accounts,
  { token, password }: { token: string; password: string },
  visitor: Visitor,
): Promise<void> {
  const { store, clock, accessChanges, loginLimits, post } = accounts;
  const attempt = loginLimits.address.take(addressKey(visitor.address));
  if (!(await isResetToken(accounts, token))) throw invalidLink();
  const passwordHash = await hashPassword(password, stranger(visitor.address));
  const user = await store.write(async (tx) => {
    const at = clock.now();
    const user = await userOf(tx, token, at);
    if (!user || !(await replacePassword(tx, user.id, user.passwordHash, passwordHash))) throw invalidLink();
    await deleteAllEmailTokens(tx, user.id);
    await deleteOtherBrowserSessions(tx, user.id, '');
    const entry = { action: 'session.resetPassword', accountId: user.accountId, at };
    await recordAudit(tx, { userId: user.id, through: 'link' }, entry);
    return user;
  });
  attempt.forgive();
  accessChanges.announce({ userId: user.id });
  if (!post.isSetUp) return;
  post.send({
    to: user.email,
    subject: 'Your Dormouse password was changed',
    text: `The password of your account at ${post.baseUrl} was changed with a link. All browsers are signed out.

If it was not you, choose a new one now, then review your API keys and connected apps, which keep working:

${post.baseUrl}/sign-in/forgotten
`,
  });
}

async function newToken(tx: Tx, { id: userId, email }: UserRow, now: number, lifeMs: number): Promise<string> {
  return addEmailToken(tx, { userId, email, expiresAt: now + lifeMs, purpose: 'reset' }, MOST_TOKENS, now);
}

async function userOf(db: Sql, token: string, now: number): Promise<UserRow | undefined> {
  const row = await findEmailToken(db, token, now);
  if (row?.purpose !== 'reset') return undefined;
  const user = await getUser(db, row.userId);
  return user?.email === row.email ? user : undefined;
}

function linkOf({ post }: Accounts, token: string): string {
  return `${post.baseUrl}/sign-in/new-password?token=${token}`;
}

function postReset(accounts: Accounts, email: string, link: string, life: string): void {
  accounts.post.send({
    to: email,
    subject: 'Choose a new password for Dormouse',
    text: `Open this link within ${life} to choose a new password for your account at ${accounts.post.baseUrl}:

${link}

If you did not request it, ignore this e-mail. Your password stays unchanged.
`,
  });
}

function invalidLink(): StatusError {
  return new StatusError(
    'FAILED_PRECONDITION',
    'LINK_INVALID',
    'This link has been used or has expired. Request another one.',
  );
}

/**
 * Sets a new password for a user (default: the first operator) and ends all their sessions; keys, connected apps and
 * the second factor stay. For the person with access to the machine: the old password is not required. Returns the text
 * to print. NOT_FOUND for an unknown user.
 */
export async function resetPassword(store: Store, clock: Clock, email?: string): Promise<string> {
  const user = await known(store, email);
  const password = randomBase62(20);
  const passwordHash = await hashPassword(password);
  await store.write(async (tx) => {
    if (!(await replacePassword(tx, user.id, user.passwordHash, passwordHash))) throw notFound(email);
    await deleteOtherBrowserSessions(tx, user.id, '');
    await deleteAllEmailTokens(tx, user.id);
    const { accountId } = user;
    const by = { userId: '', through: 'the machine itself' };
    await recordAudit(tx, by, { action: 'session.resetPassword', accountId, at: clock.now() });
  });
  const { enabledAt } = await secondFactorOf(store, user.id);
  const factor = enabledAt === null ? '' : `Two-factor sign-in stays on. ${SWITCH_OFF}\n`;
  return `The new password of ${user.email} is ${password}. All their browsers are signed out.\n${factor}`;
}

/**
 * Turns off a user's second factor (default: the first operator's). Returns the text to print. Rejects like
 * `resetPassword`, and if it is not on.
 */
export async function removeSecondFactor(store: Store, clock: Clock, email?: string): Promise<string> {
  const user = await known(store, email);
  await removeSecondFactorHere(store, clock, user.accountId);
  return `Two-factor sign-in is off for ${user.email}.\n`;
}

const SWITCH_OFF = 'If phone and recovery codes are lost, turn it off with npm run remove-second-factor.';

async function known(store: Store, email: string | undefined): Promise<UserRow> {
  const user = await (email === undefined
    ? findFirstOperator(store)
    : getUserByEmail(store, email.trim().toLowerCase()));
  if (!user) throw notFound(email);
  return user;
}

function notFound(email: string | undefined): StatusError {
  const message =
    email === undefined
      ? 'There is no operator yet. The first start creates one.'
      : `No account has the address ${email}.`;
  return new StatusError('NOT_FOUND', 'USER_NOT_FOUND', message);
}
