import type { Principal } from '../../http/principal.ts';
import { hashToken, randomBase62, randomToken } from '../../kernel/ids.ts';
import { StatusError } from '../../kernel/status.ts';
import { DAY_MS } from '../../kernel/units.ts';
import type { Tx } from '../../store/store.ts';
import { auditActorOf, recordAudit, withReason } from '../audit/audit.ts';
import { signUpEmail } from '../mail/sign-up-links.ts';
import { type People, post } from '../people.ts';
import { getUserByEmail } from '../rows.ts';
import {
  type AccountInvitationRow,
  countAccountInvitations,
  deleteAccountInvitation,
  deleteAccountInvitationTo,
  getAccountInvitation,
  putAccountInvitation,
} from './invitation-rows.ts';

/** How long a link works. */
const INVITATION_MS = 7 * DAY_MS;
/** Limit of open invitations. */
const MOST_INVITATIONS = 1_000;
const TOKEN = /^[\w-]{43}$/;

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
export async function inviteToSignUp(people: People, principal: Principal, email: string): Promise<Invited> {
  const { store, clock, config, loginLimits } = people;
  const createdAt = clock.now();
  if (await getUserByEmail(store, email)) {
    throw new StatusError('ALREADY_EXISTS', 'USER_EXISTS', 'This e-mail address has an account.');
  }
  if (config.mail) loginLimits.mail.take(principal.accountId);
  const token = randomToken();
  const row: AccountInvitationRow = {
    id: `inv_${randomBase62(16)}`,
    hash: hashToken(token),
    email,
    invitedBy: principal.userId,
    createdAt,
    expiresAt: createdAt + INVITATION_MS,
  };
  const entry = { action: 'account.invite', accountId: principal.accountId, detail: email, at: createdAt };
  await store.write(async (tx) => {
    await putAccountInvitation(tx, row);
    if ((await countAccountInvitations(tx, createdAt)) > MOST_INVITATIONS) throw tooManyInvitations();
    await recordAudit(tx, auditActorOf(principal), entry);
  });
  const link = `${config.baseUrl}/sign-up?invitation=${token}`;
  if (config.mail) postInvitation(people, email, link);
  return { invitationId: row.id, link, expiresAt: row.expiresAt, sent: config.mail };
}

/** Cancels an open invitation: its link stops working. NOT_FOUND INVITATION_NOT_FOUND. */
export async function cancelInvitation(
  { store, clock }: People,
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
  return TOKEN.test(token);
}

/**
 * Returns the address for which a link's token allows an account; undefined if the token is unknown, used, cancelled or
 * expired.
 */
export async function invitedEmail(
  { store, clock, secret, config }: People,
  token: string,
): Promise<string | undefined> {
  const now = clock.now();
  // If sign-up is closed, a link that anyone could have requested for themselves does not count.
  if (!isInvitation(token)) return config.signup === 'closed' ? undefined : signUpEmail(secret, token, now);
  const row = await getAccountInvitation(store, hashToken(token));
  return row !== undefined && row.expiresAt > now ? row.email : undefined;
}

/** Consumes an invitation in the write that creates the account; false if the token does not belong to this address. */
export async function useInvitation(tx: Tx, email: string, token: string, now: number): Promise<boolean> {
  const row = isInvitation(token) ? await getAccountInvitation(tx, hashToken(token)) : undefined;
  await deleteAccountInvitationTo(tx, email);
  return row?.email === email && row.expiresAt > now;
}

function postInvitation(people: People, email: string, link: string): void {
  post(people, {
    to: email,
    subject: 'Create your account at Dormouse',
    text: `You are invited to create an account at ${people.config.baseUrl}. Open this link within seven days:

${link}

If you did not expect this e-mail, ignore it.
`,
  });
}

function tooManyInvitations(): StatusError {
  const message = `There can be at most ${MOST_INVITATIONS} open invitations. Cancel one first.`;
  return new StatusError('RESOURCE_EXHAUSTED', 'MAX_INVITATIONS', message);
}
