import { timingSafeEqual } from 'node:crypto';
import { auditActorOf, recordAudit, withReason } from '../audit/audit.ts';
import type { Principal } from '../http/principal.ts';
import type { Visitor } from '../http/session/visitor.ts';
import { hashToken, isRandomToken, randomBase62, randomToken } from '../kernel/ids.ts';
import { addressKey } from '../kernel/ip.ts';
import { StatusError } from '../kernel/status.ts';
import { DAY_MS } from '../kernel/units.ts';
import { normalizeEmail } from '../mail/mail.ts';
import type { Secret } from '../store/secret.ts';
import type { Tx } from '../store/store.ts';
import type { Accounts } from './accounts.ts';
import {
  type AccountInvitationRow,
  countAccountInvitations,
  deleteAccountInvitation,
  deleteAccountInvitationTo,
  getAccountInvitation,
  putAccountInvitation,
} from './link-rows.ts';
import { getUserByEmail } from './rows.ts';

/** How long a link works. */
const LINK_MS = 7 * DAY_MS;
/** Limit of open invitations. */
const MOST_INVITATIONS = 1_000;
/** The token of a link that anyone can request for their own address. */
const REQUESTED_TOKEN = /^(\d{1,15})\.([\w-]{1,400})\.([\w-]{43})$/;

/**
 * Creates the token with which an e-mail address can create an account if sign-up by e-mail is open. Derived from the
 * secret and not stored, so that requests fill no table; an address has at most one account, so it works once.
 */
export function signUpToken(secret: Secret, email: string, expiresAt: number): string {
  return `${expiresAt}.${Buffer.from(email).toString('base64url')}.${sealRequest(secret, email, expiresAt)}`;
}

/**
 * E-mails an address that requested an account: a link, or the notice that it has one. Both cases return the same in
 * the same time, so that callers cannot find out which addresses have accounts. PERMISSION_DENIED SIGNUP_CLOSED if only
 * operators invite, and PASSWORDS_OFF; FAILED_PRECONDITION NO_LINK_NEEDED if no link is needed; RESOURCE_EXHAUSTED for
 * too many from or to an address.
 */
export async function requestSignUp(accounts: Accounts, email: string, visitor: Visitor): Promise<void> {
  const { store, clock, secret, loginLimits, post, signup } = accounts;
  requirePasswords(accounts);
  if (signup === 'closed') throw linkNeeded(signup);
  if (signup === 'open') {
    throw new StatusError('FAILED_PRECONDITION', 'NO_LINK_NEEDED', 'Sign-up requires no link here. Sign up directly.');
  }
  loginLimits.signUp.take(addressKey(visitor.address));
  loginLimits.mail.take(`sign-up ${email}`);
  const link = `${post.baseUrl}/sign-up?invitation=${signUpToken(secret, email, clock.now() + LINK_MS)}`;
  const exists = (await getUserByEmail(store, email)) !== undefined;
  post.send({
    to: email,
    subject: exists ? 'You have an account at Dormouse' : 'Create your account at Dormouse',
    text: `Someone requested an account at ${post.baseUrl} with this e-mail address.

${exists ? `This address already has an account: sign in at ${post.baseUrl}/sign-in` : `If it was you, open this link within seven days:\n\n${link}`}

If it was not you, ignore this e-mail.
`,
  });
}

/** Throws PERMISSION_DENIED PASSWORDS_OFF if accounts are created through the provider only. */
export function requirePasswords({ passwords, provider }: Accounts): void {
  if (passwords === 'everyone') return;
  const message = `Accounts have no passwords here. Sign in with ${provider?.name ?? 'the provider'} at /sign-in.`;
  throw new StatusError('PERMISSION_DENIED', 'PASSWORDS_OFF', message);
}

/** Returns the refusal of an account requested without a link. */
export function linkNeeded(signup: 'letter' | 'closed'): StatusError {
  const message =
    signup === 'letter'
      ? 'Creating an account requires a link sent to its e-mail address: request one first (RequestSignUp).'
      : 'Creating an account requires an operator’s invitation for this e-mail address.';
  return new StatusError('PERMISSION_DENIED', 'SIGNUP_CLOSED', message);
}

/** Returns the address of a token; undefined if the token is not ours or has expired. */
function signUpEmail(secret: Secret, token: string, now: number): string | undefined {
  const [, expiry = '', encoded = '', given = ''] = REQUESTED_TOKEN.exec(token) ?? [];
  const email = normalizeEmail(Buffer.from(encoded, 'base64url').toString());
  const expiresAt = Number(expiry);
  if (email === undefined || expiresAt <= now) return undefined;
  return timingSafeEqual(Buffer.from(given), Buffer.from(sealRequest(secret, email, expiresAt))) ? email : undefined;
}

function sealRequest(secret: Secret, email: string, expiresAt: number): string {
  return secret.derive('sign-up', `${expiresAt} ${email}`);
}

/** An invitation, returned to the operator. */
export interface Invited {
  invitationId: string;
  /** Returned only once, because only the hash is stored. */
  link: string;
  expiresAt: number;
  /** Whether the link was e-mailed. If false, there is no mail server, and the operator passes it on. */
  sent: boolean;
}

/**
 * Creates a link with which an address can create an account, once within seven days, even if sign-up is closed. It
 * replaces an earlier invitation and is e-mailed if there is a mail server. ALREADY_EXISTS USER_EXISTS;
 * RESOURCE_EXHAUSTED MAX_INVITATIONS, or for too many e-mails.
 */
export async function inviteToSignUp(accounts: Accounts, principal: Principal, email: string): Promise<Invited> {
  const { store, clock, loginLimits, post } = accounts;
  const createdAt = clock.now();
  if (await getUserByEmail(store, email)) {
    throw new StatusError('ALREADY_EXISTS', 'USER_EXISTS', 'This e-mail address has an account.');
  }
  if (post.isSetUp) loginLimits.mail.take(principal.accountId);
  const token = randomToken();
  const row: AccountInvitationRow = {
    id: `inv_${randomBase62(16)}`,
    hash: hashToken(token),
    email,
    invitedBy: principal.userId,
    createdAt,
    expiresAt: createdAt + LINK_MS,
  };
  const entry = { action: 'account.invite', accountId: principal.accountId, detail: email, at: createdAt };
  await store.write(async (tx) => {
    await putAccountInvitation(tx, row);
    if ((await countAccountInvitations(tx, createdAt)) > MOST_INVITATIONS) throw tooManyInvitations();
    await recordAudit(tx, auditActorOf(principal), entry);
  });
  const link = `${post.baseUrl}/sign-up?invitation=${token}`;
  if (post.isSetUp) {
    post.send({
      to: email,
      subject: 'Create your account at Dormouse',
      text: `You are invited to create an account at ${post.baseUrl}. Open this link within seven days:

${link}

If you did not expect this e-mail, ignore it.
`,
    });
  }
  return { invitationId: row.id, link, expiresAt: row.expiresAt, sent: post.isSetUp };
}

/** Cancels an open invitation: its link stops working. NOT_FOUND INVITATION_NOT_FOUND. */
export async function cancelInvitation(
  { store, clock }: Accounts,
  principal: Principal,
  invitationId: string,
  reason?: string,
): Promise<void> {
  await store.write(async (tx) => {
    const email = await deleteAccountInvitation(tx, invitationId);
    if (email === undefined) {
      throw new StatusError('NOT_FOUND', 'INVITATION_NOT_FOUND', 'There is no such invitation, or it has been used.', {
        metadata: { invitationId },
      });
    }
    const { accountId } = principal;
    const detail = withReason(email, reason);
    const entry = { action: 'account.cancelInvitation', accountId, detail, at: clock.now() };
    await recordAudit(tx, auditActorOf(principal), entry);
  });
}

/** Whether a text has the format of an operator's invitation token, as opposed to that of self-requested links. */
export function isInvitation(token: string): boolean {
  return isRandomToken(token);
}

/**
 * Returns the address for which a link's token allows an account; undefined if the token is unknown, used, cancelled or
 * expired.
 */
export async function invitedEmail(
  { store, clock, secret, signup }: Accounts,
  token: string,
): Promise<string | undefined> {
  const now = clock.now();
  // If sign-up is closed, a link that anyone could have requested for themselves does not count.
  if (!isInvitation(token)) return signup === 'closed' ? undefined : signUpEmail(secret, token, now);
  const row = await getAccountInvitation(store, hashToken(token));
  return row !== undefined && row.expiresAt > now ? row.email : undefined;
}

/** Consumes an invitation in the write that creates the account; false if the token does not belong to this address. */
export async function useInvitation(tx: Tx, email: string, token: string, now: number): Promise<boolean> {
  const row = isInvitation(token) ? await getAccountInvitation(tx, hashToken(token)) : undefined;
  await deleteAccountInvitationTo(tx, email);
  return row?.email === email && row.expiresAt > now;
}

function tooManyInvitations(): StatusError {
  const message = `There can be at most ${MOST_INVITATIONS} open invitations. Cancel one first.`;
  return new StatusError('RESOURCE_EXHAUSTED', 'MAX_INVITATIONS', message);
}
