import type { SessionPrincipal } from '../http/principal.ts';
import type { Visitor } from '../http/session/visitor.ts';
import { newId } from '../kernel/ids.ts';
import { addressKey } from '../kernel/ip.ts';
import { StatusError } from '../kernel/status.ts';
import { invitedEmail, isInvitation, useInvitation } from './accounts/invitations.ts';
import { auditActorOf, recordAudit } from './audit/audit.ts';
import { type SignedIn, deviceToKeep, enter, entered } from './entering.ts';
import { linkNeeded } from './mail/sign-up-links.ts';
import { deleteEmailTokens } from './mail/token-rows.ts';
import { newVerification, postVerification } from './mail/verification.ts';
import { stranger, tryPassword } from './password-tries.ts';
import { hashPassword, isOutdated, verifyPassword } from './passwords.ts';
import type { People } from './people.ts';
import { type UserRow, getUser, getUserByEmail, insertAccount, insertUser, replacePassword } from './rows.ts';
import { deleteOtherBrowserSessions, proveBrowserSession } from './browser-session-rows.ts';
import { openBrowserSession } from './browser-sessions.ts';
import { pendingSignIn, PENDING_MS } from './second-factor/pending-sign-in.ts';
import { getSecondFactor } from './second-factor/rows.ts';
import { familiarityOf, rememberPlaces } from './sign-in-places.ts';

/** Limits in bytes of UTF-8. */
export const PASSWORD_BYTES = { least: 8, most: 1_024 };

/** The claimed identity. `email` is normalized by `mail/address.ts`. */
export interface Credentials {
  email: string;
  password: string;
}

/** The fields of a new user. `invitation` is the token of a link (`invitedEmail`); '' without one. */
export interface NewUser extends Credentials {
  invitation?: string;
}

/** A user with a correct password who must give a code next (`second-factor/sign-in-code.ts`). */
export interface CodeAsked {
  /** The token the browser keeps until then. */
  pending: string;
}

/** Whether a text is acceptable as a password: long enough, and within the limit of hashing. */
export function isPassword(text: string): boolean {
  const bytes = Buffer.byteLength(text);
  return bytes >= PASSWORD_BYTES.least && bytes <= PASSWORD_BYTES.most;
}

/**
 * Creates a user with a personal account, signs them in, and e-mails the link that verifies their address. The address
 * of an invited user counts as verified, because e-mail has arrived there or the operator has passed the link on.
 * ALREADY_EXISTS USER_EXISTS; PERMISSION_DENIED SIGNUP_CLOSED without a link for this address, unless sign-up is open;
 * RESOURCE_EXHAUSTED for too many from an address.
 */
export async function signUp(
  people: People,
  { email, password, invitation = '' }: NewUser,
  visitor: Visitor,
): Promise<SignedIn> {
  const { store, clock, config, secret, loginLimits } = people;
  const isLinkRead = (await invitedEmail(people, invitation)) === email;
  if (config.signup !== 'open' && !isLinkRead) throw linkNeeded(config.signup);
  loginLimits.signUp.take(addressKey(visitor.address));
  const user: UserRow = {
    id: newId('usr'),
    email,
    emailVerified: false,
    passwordHash: await hashPassword(password, stranger(visitor.address)),
    accountId: newId('acc'),
    operator: false,
    createdAt: clock.now(),
  };
  const device = deviceToKeep(secret, visitor);
  const { token, verification, emailVerified } = await store.write(async (tx) => {
    const isInvited = await useInvitation(tx, email, invitation, user.createdAt);
    // The invitation was used or cancelled while the password was hashed.
    if (config.signup === 'closed' && !isInvited) throw linkNeeded(config.signup);
    // The link was e-mailed to this address.
    const emailVerified = isInvited || (isLinkRead && !isInvitation(invitation));
    await insertAccount(tx, { id: user.accountId, name: email, createdAt: user.createdAt });
    await people.onAccount?.(tx, user.accountId, user.createdAt);
    await insertUser(tx, { ...user, emailVerified });
    const entry = { action: 'session.signUp', accountId: user.accountId, at: user.createdAt };
    await recordAudit(tx, { userId: user.id, through: 'session' }, entry);
    await rememberPlaces(tx, secret, user.id, { ...visitor, device }, user.createdAt);
    return {
      emailVerified,
      verification: emailVerified ? undefined : await newVerification(tx, user, user.createdAt),
      token: await openBrowserSession(tx, user.id, visitor, user.createdAt),
    };
  });
  if (verification !== undefined) postVerification(people, email, verification);
  return { user: { ...user, emailVerified }, token, device };
}

/**
 * Opens a new session, or asks users with a second factor for a code first. UNAUTHENTICATED SIGN_IN_FAILED, the same
 * after the same time for an unknown address and a wrong password; RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS; UNAVAILABLE
 * BUSY. Rehashes the password if the cost has been raised since.
 */
export async function signIn(
  people: People,
  { email, password }: Credentials,
  visitor: Visitor,
): Promise<SignedIn | CodeAsked> {
  const { store, clock, secret } = people;
  const user = await getUserByEmail(store, email);
  const from = await familiarityOf(store, secret, user?.id, visitor);
  const device = deviceToKeep(secret, visitor);
  const signedIn: SignedIn | CodeAsked = await tryPassword(people, { email, visitor, from }, async (caller) => {
    const known = user?.passwordHash === '' ? undefined : user;
    if (!(await verifyPassword(known?.passwordHash, password, caller)) || !known) throw signInFailed();
    const outdated = isOutdated(known.passwordHash);
    const rehashed = outdated ? await hashPassword(password, caller) : known.passwordHash;
    const now = { ...known, passwordHash: rehashed };
    return store.write(async (tx) => {
      // Do not restore a password that was changed during the comparison.
      if (!(await replacePassword(tx, known.id, known.passwordHash, rehashed))) throw signInFailed();
      const isCodeAsked = ((await getSecondFactor(tx, known.id))?.enabledAt ?? null) !== null;
      if (isCodeAsked) return { pending: pendingSignIn(secret, now, clock.now() + PENDING_MS) };
      return { user: now, token: await enter(tx, people, now, { ...visitor, device }), device };
    });
  });
  if (!('pending' in signedIn)) await entered(people, signedIn.user, from, visitor);
  return signedIn;
}

/**
 * Replaces the caller's password and ends their other sessions; API keys and connected apps stay. PERMISSION_DENIED
 * WRONG_PASSWORD, RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS, UNAVAILABLE BUSY.
 */
export async function changePassword(
  people: People,
  principal: SessionPrincipal,
  { current, replacement }: { current: string; replacement: string },
  visitor: Visitor,
): Promise<void> {
  const { store, clock, accessChanges } = people;
  const { userId, accountId, sessionId, email } = principal;
  await tryPassword(people, { email, visitor, from: { sessionId } }, async (caller) => {
    const before = (await getUser(store, userId))?.passwordHash ?? '';
    if (before === '' || !(await verifyPassword(before, current, caller))) throw wrongPassword();
    const after = await hashPassword(replacement, caller);
    await store.write(async (tx) => {
      if (!(await replacePassword(tx, userId, before, after))) throw wrongPassword();
      await proveBrowserSession(tx, sessionId, clock.now());
      const ended = await deleteOtherBrowserSessions(tx, userId, sessionId);
      // Void reset links and address changes that someone else may have requested.
      await deleteEmailTokens(tx, userId, 'reset');
      await deleteEmailTokens(tx, userId, 'change');
      const detail = `${ended} other sessions ended`;
      await recordAudit(tx, auditActorOf(principal), {
        action: 'session.changePassword',
        accountId,
        detail,
        at: clock.now(),
      });
    });
  });
  accessChanges.announce({ userId });
}

function signInFailed(): StatusError {
  return new StatusError('UNAUTHENTICATED', 'SIGN_IN_FAILED', 'E-mail address or password is wrong.');
}

function wrongPassword(): StatusError {
  return new StatusError('PERMISSION_DENIED', 'WRONG_PASSWORD', 'Your current password is wrong.');
}
