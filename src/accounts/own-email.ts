import { type AuditActor, auditActorOf, recordAudit } from '../audit/audit.ts';
import type { SessionPrincipal } from '../http/principal.ts';
import type { Visitor } from '../http/session/visitor.ts';
import { addressKey } from '../kernel/ip.ts';
import { StatusError } from '../kernel/status.ts';
import { DAY_MS } from '../kernel/units.ts';
import type { Tx } from '../store/store.ts';
import type { Accounts } from './accounts.ts';
import {
  addEmailToken,
  deleteAccountInvitationTo,
  deleteAllEmailTokens,
  deleteEmailTokens,
  findEmailToken,
} from './link-rows.ts';
import { provePassword } from './passwords.ts';
import { type UserRow, getUser, getUserByEmail, markEmailVerified, setUserEmail } from './rows.ts';

/** How long a link works. */
const LINK_MS = DAY_MS;
/** Open tokens per user. Each of several e-mails must work, because any may be the one that arrives. */
const MOST_TOKENS = 5;

/** Creates a token in the write that requires it. Send it with `postVerification` once that is stored. */
export async function newVerification(tx: Tx, user: { id: string; email: string }, now: number): Promise<string> {
  const { id: userId, email } = user;
  return addEmailToken(tx, { userId, email, expiresAt: now + LINK_MS, purpose: 'verify' }, MOST_TOKENS, now);
}

/** E-mails the link `<base URL>/verify-email?token=…`. */
export function postVerification(accounts: Accounts, email: string, token: string): void {
  const link = `${accounts.post.baseUrl}/verify-email?token=${token}`;
  accounts.post.send({
    to: email,
    subject: 'Confirm your e-mail address for Dormouse',
    text: `An account at ${accounts.post.baseUrl} was created with this e-mail address.

Open this link within a day to confirm the address:

${link}

If it was not you, ignore this e-mail.
`,
  });
}

/** Sends the caller another verification e-mail; no-op if the address is verified. RESOURCE_EXHAUSTED for too many. */
export async function resendVerification(accounts: Accounts, principal: SessionPrincipal): Promise<void> {
  const { email, emailVerified, userId } = principal;
  if (emailVerified) return;
  accounts.loginLimits.mail.take(userId);
  const token = await accounts.store.write((tx) => newVerification(tx, { id: userId, email }, accounts.clock.now()));
  postVerification(accounts, email, token);
}

/**
 * Consumes a link's token: the address it was sent to becomes the user's, and verified, even if they had another one.
 * ALREADY_EXISTS USER_EXISTS if another user has taken it; FAILED_PRECONDITION LINK_INVALID for unknown, used and
 * expired tokens alike; RESOURCE_EXHAUSTED for too many wrong ones from an address.
 */
export async function verifyEmail(accounts: Accounts, token: string, visitor: Visitor): Promise<void> {
  const { store, clock, loginLimits, post } = accounts;
  const attempt = loginLimits.address.take(addressKey(visitor.address));
  // Strangers' texts must not fill the queue of writes.
  if (!(await findEmailToken(store, token, clock.now()))) throw invalidLink();
  const oldEmail = await store.write(async (tx) => {
    const now = clock.now();
    const row = await findEmailToken(tx, token, now);
    const user = row && (await getUser(tx, row.userId));
    if (!row || !user) throw invalidLink();
    const by = { userId: user.id, through: 'link' };
    if (row.purpose === 'change') {
      await moveTo(tx, user, { email: row.email, emailVerified: true }, by, now);
      return user.emailVerified ? user.email : undefined;
    }
    if (row.purpose !== 'verify' || user.email !== row.email) throw invalidLink();
    await markEmailVerified(tx, user.id);
    await deleteEmailTokens(tx, user.id, 'verify');
    await recordAudit(tx, by, { action: 'session.verifyEmail', accountId: user.accountId, at: now });
    return undefined;
  });
  attempt.forgive();
  if (oldEmail === undefined) return;
  post.send({
    to: oldEmail,
    subject: 'The e-mail address of your Dormouse account was changed',
    text: `Your account at ${post.baseUrl} now has another e-mail address. Use it to sign in.

If it was not you, ask the administrator of ${post.baseUrl} for help.
`,
  });
}

function invalidLink(): StatusError {
  return new StatusError(
    'FAILED_PRECONDITION',
    'LINK_INVALID',
    'This link has been used or has expired. Sign in and request another one.',
  );
}

/**
 * Changes the caller's e-mail address once they open the link sent to it. Without a mail server, changes it at once,
 * unverified. Sessions and keys stay. Returns whether an e-mail was sent. An address that has an account gets a notice
 * instead, with the same result. PERMISSION_DENIED WRONG_PASSWORD; FAILED_PRECONDITION SAME_EMAIL; without a mail
 * server ALREADY_EXISTS USER_EXISTS; RESOURCE_EXHAUSTED for too many attempts or e-mails; UNAVAILABLE BUSY.
 */
export async function changeEmail(
  accounts: Accounts,
  principal: SessionPrincipal,
  { password, email }: { password: string; email: string },
  visitor: Visitor,
): Promise<{ sent: boolean }> {
  const { store, clock, loginLimits, post } = accounts;
  const { userId } = principal;
  await provePassword(accounts, principal, password, visitor);
  if (email === principal.email) {
    throw new StatusError('FAILED_PRECONDITION', 'SAME_EMAIL', 'This is already your address.');
  }
  if (!post.isSetUp) {
    loginLimits.signUp.take(addressKey(visitor.address));
    await store.write(async (tx) => {
      const user = await getUser(tx, userId);
      if (user) await moveTo(tx, user, { email, emailVerified: false }, auditActorOf(principal), clock.now());
    });
    return { sent: false };
  }
  loginLimits.mail.take(userId);
  const now = clock.now();
  const fields = { userId, email, expiresAt: now + LINK_MS, purpose: 'change' } as const;
  // Only the latest of several requests remains valid.
  const token = await store.write((tx) => addEmailToken(tx, fields, 1, now));
  const isTaken = (await getUserByEmail(store, email)) !== undefined;
  post.send({
    to: email,
    subject: isTaken ? 'You have an account at Dormouse' : 'Confirm your new e-mail address for Dormouse',
    text: `Someone with an account at ${post.baseUrl} asked to use this e-mail address for it.

${
  isTaken
    ? `This address already has an account: sign in at ${post.baseUrl}/sign-in`
    : `If it was you, open this link within a day:\n\n${post.baseUrl}/verify-email?token=${token}`
}

If it was not you, ignore this e-mail.
`,
  });
  return { sent: true };
}

/** Moves data bound to the address. Pending links of the old address become void. */
async function moveTo(
  tx: Tx,
  user: UserRow,
  { email, emailVerified }: { email: string; emailVerified: boolean },
  by: AuditActor,
  at: number,
): Promise<void> {
  await setUserEmail(tx, user, { email, emailVerified });
  await deleteAllEmailTokens(tx, user.id);
  await deleteAccountInvitationTo(tx, email);
  await moveMemberships(tx, user, email);
  const entry = { action: 'session.changeEmail', accountId: user.accountId, detail: `${user.email} to ${email}`, at };
  await recordAudit(tx, by, entry);
}

/**
 * Changes a user's address, also on servers shared with them. Deletes invitations of the new address that need no
 * answer: to those servers and to the user's own.
 */
async function moveMemberships(tx: Tx, user: UserRow, email: string): Promise<void> {
  await tx.run(
    `DELETE FROM "members" WHERE "email" = $1 AND "acceptedAt" IS NULL AND "serverId" IN
       (SELECT "serverId" FROM "members" WHERE "userId" = $2 UNION SELECT "id" FROM "servers" WHERE "accountId" = $3)`,
    [email, user.id, user.accountId],
  );
  // An earlier owner of the address may have accepted an invitation under it.
  await tx.run(
    `UPDATE "members" SET "email" = $1 WHERE "userId" = $2 AND "serverId" NOT IN
       (SELECT "serverId" FROM "members" WHERE "email" = $1)`,
    [email, user.id],
  );
}
