import type { SessionPrincipal } from '../../http/principal.ts';
import type { Visitor } from '../../http/session/visitor.ts';
import { hashToken, randomToken } from '../../kernel/ids.ts';
import { addressKey } from '../../kernel/ip.ts';
import { StatusError } from '../../kernel/status.ts';
import { DAY_MS } from '../../kernel/units.ts';
import type { Tx } from '../../store/store.ts';
import { type AuditActor, auditActorOf, recordAudit } from '../audit/audit.ts';
import { provePassword } from '../fresh-password.ts';
import { deleteAllEmailTokens, insertEmailToken } from '../mail/token-rows.ts';
import { moveMemberships } from '../members/rows.ts';
import { type People, post } from '../people.ts';
import { type UserRow, getUser, getUserByEmail, setUserEmail } from '../rows.ts';
import { deleteAccountInvitationTo } from './invitation-rows.ts';

/** How long the link works. */
const CHANGE_MS = DAY_MS;

/**
 * Changes the caller's e-mail address once they open the link sent to it. Without a mail server, changes it at once,
 * unverified. Sessions and keys stay. Returns whether an e-mail was sent. An address that has an account gets a notice
 * instead, with the same result. PERMISSION_DENIED WRONG_PASSWORD; FAILED_PRECONDITION SAME_EMAIL; without a mail
 * server ALREADY_EXISTS USER_EXISTS; RESOURCE_EXHAUSTED for too many attempts or e-mails; UNAVAILABLE BUSY.
 */
export async function changeEmail(
  people: People,
  principal: SessionPrincipal,
  { password, email }: { password: string; email: string },
  visitor: Visitor,
): Promise<{ sent: boolean }> {
  const { store, clock, config, loginLimits } = people;
  const { userId } = principal;
  await provePassword(people, principal, password, visitor);
  if (email === principal.email) {
    throw new StatusError('FAILED_PRECONDITION', 'SAME_EMAIL', 'This is already your address.');
  }
  if (!config.mail) {
    loginLimits.signUp.take(addressKey(visitor.address));
    await store.write(async (tx) => {
      const user = await getUser(tx, userId);
      if (user) await moveTo(tx, user, { email, emailVerified: false }, auditActorOf(principal), clock.now());
    });
    return { sent: false };
  }
  loginLimits.mail.take(userId);
  const token = randomToken();
  const now = clock.now();
  const row = { hash: hashToken(token), userId, email, expiresAt: now + CHANGE_MS, purpose: 'change' } as const;
  // Only the latest of several requests remains valid.
  await store.write((tx) => insertEmailToken(tx, row, 1, now));
  postConfirmation(people, email, token, (await getUserByEmail(store, email)) !== undefined);
  return { sent: true };
}

/**
 * Makes the linked address the user's own, and verified, in the write that consumes the link. Returns a function for
 * after the write, which notifies the old address. ALREADY_EXISTS USER_EXISTS if another user has taken the address.
 */
export async function takeEmail(people: People, tx: Tx, user: UserRow, email: string, at: number): Promise<() => void> {
  await moveTo(tx, user, { email, emailVerified: true }, { userId: user.id, through: 'link' }, at);
  return () => {
    if (user.emailVerified) postChanged(people, user.email);
  };
}

/** Moves data bound to the address. Pending links of the old address become void. */
async function moveTo(
  tx: Tx,
  user: UserRow,
  { email, emailVerified }: Pick<UserRow, 'email' | 'emailVerified'>,
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

function postConfirmation(people: People, email: string, token: string, isTaken: boolean): void {
  const { baseUrl } = people.config;
  post(people, {
    to: email,
    subject: isTaken ? 'You have an account at Dormouse' : 'Confirm your new e-mail address for Dormouse',
    text: `Someone with an account at ${baseUrl} asked to use this e-mail address for it.

${
  isTaken
    ? `This address already has an account: sign in at ${baseUrl}/sign-in`
    : `If it was you, open this link within a day:\n\n${baseUrl}/verify-email?token=${token}`
}

If it was not you, ignore this e-mail.
`,
  });
}

function postChanged(people: People, oldEmail: string): void {
  post(people, {
    to: oldEmail,
    subject: 'The e-mail address of your Dormouse account was changed',
    text: `Your account at ${people.config.baseUrl} now has another e-mail address. Use it to sign in.

If it was not you, ask the administrator of ${people.config.baseUrl} for help.
`,
  });
}
