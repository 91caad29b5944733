import type { Principal } from '../../http/principal.ts';
import type { Visitor } from '../../http/session/visitor.ts';
import { hashToken, randomToken } from '../../kernel/ids.ts';
import { addressKey } from '../../kernel/ip.ts';
import { StatusError } from '../../kernel/status.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/units.ts';
import type { Sql, Tx } from '../../store/store.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import { deleteOtherBrowserSessions } from '../browser-session-rows.ts';
import { requireProvedSession } from '../fresh-password.ts';
import { deleteAllEmailTokens, deleteExpiredEmailTokens, getEmailToken, insertEmailToken } from '../mail/token-rows.ts';
import { stranger } from '../password-tries.ts';
import { hashPassword } from '../passwords.ts';
import { type People, post } from '../people.ts';
import { type UserRow, getUser, getUserByEmail, replacePassword } from '../rows.ts';
import { userOfAccount } from './operators.ts';

/** Lifetimes of a link that a user requested, and of one that an operator passes on. */
const RESET_MS = 30 * MINUTE_MS;
const OPERATORS_RESET_MS = DAY_MS;
/** Open tokens per user. Each of several e-mails must work, because any may be the one that arrives. */
const MOST_TOKENS = 3;
const TOKEN = /^[\w-]{43}$/;

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
export function requestPasswordReset(people: People, email: string, visitor: Visitor): void {
  const { config, loginLimits } = people;
  if (!config.mail) throw new StatusError('FAILED_PRECONDITION', 'MAIL_NOT_SET', NO_MAIL);
  loginLimits.mail.take(`reset from ${addressKey(visitor.address)}`);
  loginLimits.mail.take(`reset ${email}`);
  people.runBehind('a password reset', () => sendReset(people, email));
}

async function sendReset(people: People, email: string): Promise<void> {
  const { store, clock } = people;
  const now = clock.now();
  const token = await store.write(async (tx) => {
    const user = await getUserByEmail(tx, email);
    if (user) return newToken(tx, user, now, RESET_MS);
    await deleteExpiredEmailTokens(tx, now);
    return undefined;
  });
  if (token !== undefined) postReset(people, email, linkOf(people, token), 'half an hour');
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
  people: People,
  principal: Principal,
  accountId: string,
  reason: string,
): Promise<ResetLink> {
  const { store, clock, config, loginLimits } = people;
  await requireProvedSession(people, principal);
  if (config.mail) loginLimits.mail.take(principal.accountId);
  const at = clock.now();
  const { user, token } = await store.write(async (tx) => {
    const user = await userOfAccount(tx, accountId);
    const entry = { action: 'account.makeResetLink', accountId, detail: reason, at };
    await recordAudit(tx, auditActorOf(principal), entry);
    return { user, token: await newToken(tx, user, at, OPERATORS_RESET_MS) };
  });
  const link = linkOf(people, token);
  if (config.mail) postReset(people, user.email, link, 'a day');
  return { link, expiresAt: at + OPERATORS_RESET_MS, sent: config.mail };
}

/** Whether a link's token still works. */
export async function isResetToken({ store, clock }: People, token: string): Promise<boolean> {
  return (await userOf(store, token, clock.now())) !== undefined;
}

/**
 * Consumes a link's token and sets the password. Signs out all browsers of the user, voids their other links and
 * notifies them by e-mail. API keys, connected apps and the second factor stay. FAILED_PRECONDITION LINK_INVALID if the
 * token is unknown, used or expired; RESOURCE_EXHAUSTED for too many wrong ones from an address; UNAVAILABLE BUSY.
 */
export async function resetPasswordByLink(
  people: People,
  { token, password }: { token: string; password: string },
  visitor: Visitor,
): Promise<void> {
  const { store, clock, accessChanges, loginLimits } = people;
  const attempt = loginLimits.address.take(addressKey(visitor.address));
  if (!(await isResetToken(people, token))) throw invalidLink();
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
  postChanged(people, user.email);
}

async function newToken(tx: Tx, { id, email }: UserRow, now: number, lifeMs: number): Promise<string> {
  const token = randomToken();
  const row = { hash: hashToken(token), userId: id, email, expiresAt: now + lifeMs, purpose: 'reset' } as const;
  await insertEmailToken(tx, row, MOST_TOKENS, now);
  return token;
}

async function userOf(db: Sql, token: string, now: number): Promise<UserRow | undefined> {
  const row = TOKEN.test(token) ? await getEmailToken(db, hashToken(token)) : undefined;
  if (row?.purpose !== 'reset' || row.expiresAt <= now) return undefined;
  const user = await getUser(db, row.userId);
  return user?.email === row.email ? user : undefined;
}

function linkOf({ config }: People, token: string): string {
  return `${config.baseUrl}/sign-in/new-password?token=${token}`;
}

function postReset(people: People, email: string, link: string, life: string): void {
  post(people, {
    to: email,
    subject: 'Choose a new password for Dormouse',
    text: `Open this link within ${life} to choose a new password for your account at ${people.config.baseUrl}:

${link}

If you did not request it, ignore this e-mail. Your password stays unchanged.
`,
  });
}

function postChanged(people: People, email: string): void {
  if (!people.config.mail) return;
  post(people, {
    to: email,
    subject: 'Your Dormouse password was changed',
    text: `The password of your account at ${people.config.baseUrl} was changed with a link. All browsers are signed out.

If it was not you, choose a new one now, then review your API keys and connected apps, which keep working:

${people.config.baseUrl}/sign-in/forgotten
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
