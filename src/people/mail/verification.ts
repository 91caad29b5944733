import type { SessionPrincipal } from '../../http/principal.ts';
import type { Visitor } from '../../http/session/visitor.ts';
import { hashToken, randomToken } from '../../kernel/ids.ts';
import { addressKey } from '../../kernel/ip.ts';
import { StatusError } from '../../kernel/status.ts';
import { DAY_MS } from '../../kernel/units.ts';
import type { Tx } from '../../store/store.ts';
import { takeEmail } from '../accounts/change-email.ts';
import { recordAudit } from '../audit/audit.ts';
import { type People, post } from '../people.ts';
import { type UserRow, getUser, markEmailVerified } from '../rows.ts';
import { deleteEmailTokens, getEmailToken, insertEmailToken } from './token-rows.ts';

/** How long a link works. */
const VERIFICATION_MS = DAY_MS;
/** Open tokens per user. Each of several e-mails must work, because any may be the one that arrives. */
const MOST_TOKENS = 5;
const TOKEN = /^[\w-]{43}$/;

/** Creates a token in the write that requires it. Send it with `postVerification` once that is stored. */
export async function newVerification(tx: Tx, user: Pick<UserRow, 'id' | 'email'>, now: number): Promise<string> {
  const token = randomToken();
  const row = { hash: hashToken(token), userId: user.id, email: user.email, expiresAt: now + VERIFICATION_MS };
  await insertEmailToken(tx, { ...row, purpose: 'verify' }, MOST_TOKENS, now);
  return token;
}

/** E-mails the link `<base URL>/verify-email?token=…`. */
export function postVerification(people: People, email: string, token: string): void {
  const link = `${people.config.baseUrl}/verify-email?token=${token}`;
  post(people, {
    to: email,
    subject: 'Confirm your e-mail address for Dormouse',
    text: `An account at ${people.config.baseUrl} was created with this e-mail address.

Open this link within a day to confirm the address:

${link}

If it was not you, ignore this e-mail.
`,
  });
}

/** Sends the caller another verification e-mail; no-op if the address is verified. RESOURCE_EXHAUSTED for too many. */
export async function resendVerification(people: People, principal: SessionPrincipal): Promise<void> {
  const { email, emailVerified, userId } = principal;
  if (emailVerified) return;
  people.loginLimits.mail.take(userId);
  const token = await people.store.write((tx) => newVerification(tx, { id: userId, email }, people.clock.now()));
  postVerification(people, email, token);
}

/**
 * Consumes a link's token: the address it was sent to becomes the user's, and verified, even if they had another one.
 * ALREADY_EXISTS USER_EXISTS if another user has taken it; FAILED_PRECONDITION LINK_INVALID for unknown, used and
 * expired tokens alike; RESOURCE_EXHAUSTED for too many wrong ones from an address.
 */
export async function verifyEmail(people: People, token: string, visitor: Visitor): Promise<void> {
  const { store, clock, loginLimits } = people;
  const attempt = loginLimits.address.take(addressKey(visitor.address));
  if (!TOKEN.test(token)) throw invalidLink();
  const notify = await store.write(async (tx) => {
    const now = clock.now();
    const row = await getEmailToken(tx, hashToken(token));
    const user = row && (await getUser(tx, row.userId));
    if (!row || !user || row.expiresAt <= now) throw invalidLink();
    if (row.purpose === 'change') return takeEmail(people, tx, user, row.email, now);
    if (row.purpose !== 'verify' || user.email !== row.email) throw invalidLink();
    await markEmailVerified(tx, user.id);
    await deleteEmailTokens(tx, user.id, 'verify');
    const entry = { action: 'session.verifyEmail', accountId: user.accountId, at: now };
    await recordAudit(tx, { userId: user.id, through: 'link' }, entry);
    return undefined;
  });
  attempt.forgive();
  notify?.();
}

function invalidLink(): StatusError {
  return new StatusError(
    'FAILED_PRECONDITION',
    'LINK_INVALID',
    'This link has been used or has expired. Sign in and request another one.',
  );
}
