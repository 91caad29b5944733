import { timingSafeEqual } from 'node:crypto';
import { recordAudit } from '../audit/audit.ts';
import type { Visitor } from '../http/session/visitor.ts';
import { newId } from '../kernel/ids.ts';
import { addressKey } from '../kernel/ip.ts';
import { StatusError } from '../kernel/status.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import type { Secret } from '../store/secret.ts';
import type { Sql, Tx } from '../store/store.ts';
import type { Accounts } from './accounts.ts';
import { openBrowserSession } from './browser-sessions.ts';
import { stranger, tryCode, tryPassword } from './login-limits.ts';
import { noticeNewPlace, noticeSecondFactor } from './notices.ts';
import { newVerification, postVerification } from './own-email.ts';
import { hashPassword, isOutdated, verifyPassword } from './passwords.ts';
import {
  type UserRow,
  findFirstOperator,
  getUser,
  getUserByEmail,
  insertAccount,
  insertUser,
  replacePassword,
} from './rows.ts';
import { countRecoveryCodes, getSecondFactor } from './second-factor-rows.ts';
import { takeCode } from './second-factor.ts';
import { type Familiarity, deviceId, familiarityOf, newDevice, rememberPlaces } from './sign-in-places.ts';
import { invitedEmail, isInvitation, linkNeeded, requirePasswords, useInvitation } from './sign-up-links.ts';

/** Time between password and code in one browser. */
export const PENDING_MS = 10 * MINUTE_MS;

const PENDING_TOKEN = /^(usr_\w{1,64})\.(\d{1,15})\.([\w-]{0,1000})\.([\w-]{43})$/;

/** The claimed identity. `email` is normalized by `normalizeEmail`. */
export interface Credentials {
  email: string;
  password: string;
}

/** The fields of a new user. `invitation` is the token of a link (`invitedEmail`); '' without one. */
export interface NewUser extends Credentials {
  invitation?: string;
}

/** A user who has just signed in. The session's token is the cookie's value and is not stored. */
export interface SignedIn {
  user: UserRow;
  token: string;
  /** The value of the cookie that identifies this browser from now on (`newDevice`). */
  device: string;
}

/** A user whose first proof is accepted and who must give a code next (`signInWithCode`). */
export interface CodeAsked {
  /** The token the browser keeps until then. */
  pending: string;
}

/**
 * Creates a user with a personal account, signs them in, and e-mails the link that verifies their address. The address
 * of an invited user counts as verified, because e-mail has arrived there or the operator has passed the link on.
 * `join` admits the user by another invitation, which it consumes in the same write, or throws.
 * ALREADY_EXISTS USER_EXISTS; PERMISSION_DENIED SIGNUP_CLOSED without a link for this address, unless sign-up is open;
 * RESOURCE_EXHAUSTED for too many from an address; PERMISSION_DENIED PASSWORDS_OFF if people sign in with the provider.
 */
export async function signUp(
  accounts: Accounts,
  { email, password, invitation = '' }: NewUser,
  visitor: Visitor,
  join?: (tx: Tx, user: UserRow) => Promise<void>,
): Promise<SignedIn> {
  const { store, clock, secret, loginLimits, signup } = accounts;
  requirePasswords(accounts);
  const isLinkRead = (await invitedEmail(accounts, invitation)) === email;
  if (signup !== 'open' && !isLinkRead && join === undefined) throw linkNeeded(signup);
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
    if (signup === 'closed' && !isInvited && join === undefined) throw linkNeeded(signup);
    // The link was e-mailed to this address.
    const emailVerified = isInvited || (isLinkRead && !isInvitation(invitation));
    await insertNewUser(tx, accounts, { ...user, emailVerified });
    await join?.(tx, user);
    await rememberPlaces(tx, secret, user.id, { ...visitor, device }, user.createdAt);
    return {
      emailVerified,
      verification: emailVerified ? undefined : await newVerification(tx, user, user.createdAt),
      token: await openBrowserSession(tx, user.id, visitor, user.createdAt),
    };
  });
  if (verification !== undefined) postVerification(accounts, email, verification);
  return { user: { ...user, emailVerified }, token, device };
}

/** Stores a new user with a personal account, in the write of the sign-up. */
export async function insertNewUser(tx: Tx, { onAccount }: Accounts, user: UserRow): Promise<void> {
  const { id, accountId, email, createdAt } = user;
  await insertAccount(tx, { id: accountId, name: email, createdAt });
  await onAccount?.(tx, accountId, createdAt);
  await insertUser(tx, user);
  await recordAudit(tx, { userId: id, through: 'session' }, { action: 'session.signUp', accountId, at: createdAt });
}

/** Whether a user can sign in with their password: if they have one, and passwords are not for the first operator only. */
export async function isPasswordAccepted(db: Sql, { passwords }: Accounts, user: UserRow): Promise<boolean> {
  if (user.passwordHash === '') return false;
  return passwords === 'everyone' || (await findFirstOperator(db))?.id === user.id;
}

/**
 * Opens a new session, or asks users with a second factor for a code first. UNAUTHENTICATED SIGN_IN_FAILED, the same
 * after the same time for an unknown address, a wrong password, and one that may not sign in; RESOURCE_EXHAUSTED
 * TOO_MANY_ATTEMPTS; UNAVAILABLE BUSY. Rehashes the password if the cost has been raised since.
 */
export async function signIn(
  accounts: Accounts,
  { email, password }: Credentials,
  visitor: Visitor,
): Promise<SignedIn | CodeAsked> {
  const { store, clock, secret } = accounts;
  const user = await getUserByEmail(store, email);
  const from = await familiarityOf(store, secret, user?.id, visitor);
  const device = deviceToKeep(secret, visitor);
  const signedIn: SignedIn | CodeAsked = await tryPassword(
    accounts.loginLimits,
    { email, visitor, from },
    async (caller) => {
      const known = user && (await isPasswordAccepted(store, accounts, user)) ? user : undefined;
      if (!(await verifyPassword(known?.passwordHash, password, caller)) || !known) throw signInFailed();
      const outdated = isOutdated(known.passwordHash);
      const rehashed = outdated ? await hashPassword(password, caller) : known.passwordHash;
      const now = { ...known, passwordHash: rehashed };
      return store.write(async (tx) => {
        // Do not restore a password that was changed during the comparison.
        if (!(await replacePassword(tx, known.id, known.passwordHash, rehashed))) throw signInFailed();
        const asked = await codeAsked(tx, secret, now, clock.now());
        if (asked !== undefined) return asked;
        return { user: now, token: await enter(tx, accounts, now, { ...visitor, device }), device };
      });
    },
  );
  if (!('pending' in signedIn)) await entered(accounts, signedIn.user, from, visitor);
  return signedIn;
}

/**
 * Signs in a user who has given their first proof in this browser (`signIn`), with a code of their app or a recovery
 * code. `accepted` does what had to wait for the code, in the same write, and returns the user from then on; `note` is
 * that of `codeAsked`. UNAUTHENTICATED SIGN_IN_EXPIRED; PERMISSION_DENIED WRONG_CODE; RESOURCE_EXHAUSTED
 * TOO_MANY_ATTEMPTS.
 */
export async function signInWithCode(
  accounts: Accounts,
  code: string,
  visitor: Visitor,
  accepted: (tx: Tx, user: UserRow, note: string) => Promise<UserRow>,
): Promise<SignedIn> {
  const { store, clock, secret } = accounts;
  const pending = await pendingUser(accounts, visitor.pending, clock.now());
  if (!pending) throw expired();
  const { user: known, note } = pending;
  const from = await familiarityOf(store, secret, known.id, visitor);
  const device = deviceToKeep(secret, visitor);
  const { user, token, taken, left } = await tryCode(accounts.loginLimits, { userId: known.id, visitor, from }, () =>
    store.write(async (tx) => {
      const taken = await takeCode(tx, secret, known.id, code, clock.now());
      const user = await accepted(tx, known, note);
      const how = taken === 'app' ? 'with a code' : 'with a recovery code';
      const token = await enter(tx, accounts, user, { ...visitor, device }, how);
      return { user, token, taken, left: await countRecoveryCodes(tx, user.id) };
    }),
  );
  await entered(accounts, user, from, visitor);
  if (taken === 'recovery code') {
    noticeSecondFactor(accounts, user, `A recovery code (${left} left) was used to sign in to your account`);
  }
  return { user, token, device };
}

function expired(): StatusError {
  return new StatusError(
    'UNAUTHENTICATED',
    'SIGN_IN_EXPIRED',
    'Your sign-in began too long ago, or in another browser. Start again.',
  );
}

function signInFailed(): StatusError {
  return new StatusError('UNAUTHENTICATED', 'SIGN_IN_FAILED', 'E-mail address or password is wrong.');
}

/**
 * Asks a user with a second factor for a code; undefined without one. Call it once their first proof is accepted. The
 * browser keeps `note` (base64url) until then, and cannot change it.
 */
export async function codeAsked(
  tx: Tx,
  secret: Secret,
  user: UserRow,
  now: number,
  note = '',
): Promise<CodeAsked | undefined> {
  if (((await getSecondFactor(tx, user.id))?.enabledAt ?? null) === null) return undefined;
  return { pending: pendingSignIn(secret, user, now + PENDING_MS, note) };
}

/**
 * Creates the token a browser keeps between password and code. The token alone grants no access. It is derived from the
 * secret and not stored; the code that must follow works once. A new password voids the token.
 */
function pendingSignIn(secret: Secret, user: UserRow, expiresAt: number, note: string): string {
  return `${user.id}.${expiresAt}.${note}.${sealPending(secret, user, expiresAt, note)}`;
}

/**
 * Returns the user who has given their first proof in this browser, with the note of `codeAsked`. Returns
 * undefined without one, or after too much time.
 */
export async function pendingUser(
  { store, secret }: { store: Sql; secret: Secret },
  token: string | undefined,
  now: number,
): Promise<{ user: UserRow; note: string } | undefined> {
  const [, userId = '', expiry = '', note = '', given = ''] = PENDING_TOKEN.exec(token ?? '') ?? [];
  const expiresAt = Number(expiry);
  if (userId === '' || expiresAt <= now || expiresAt > now + PENDING_MS) return undefined;
  const user = await getUser(store, userId);
  if (user === undefined) return undefined;
  const seal = sealPending(secret, user, expiresAt, note);
  return timingSafeEqual(Buffer.from(given), Buffer.from(seal)) ? { user, note } : undefined;
}

function sealPending(secret: Secret, { id, passwordHash }: UserRow, expiresAt: number, note: string): string {
  return secret.derive('pending-sign-in', `${id} ${expiresAt} ${note} ${passwordHash}`);
}

/**
 * Opens a session in the write that consumes the sign-in's last proof, which was given at `provedAt`; absent: now.
 * Returns its token.
 */
export async function enter(
  tx: Tx,
  { secret, clock }: Accounts,
  { id, accountId }: UserRow,
  visitor: Visitor,
  how = '',
  provedAt?: number,
): Promise<string> {
  const at = clock.now();
  await recordAudit(tx, { userId: id, through: 'session' }, { action: 'session.signIn', accountId, detail: how, at });
  await rememberPlaces(tx, secret, id, visitor, at);
  return openBrowserSession(tx, id, visitor, at, provedAt);
}

/** Call it after the session is stored. Notifies the user of a sign-in from a new place. */
export async function entered(accounts: Accounts, user: UserRow, from: Familiarity, visitor: Visitor): Promise<void> {
  await accounts.firstRunFile?.signedIn(user.accountId);
  noticeNewPlace(accounts, user, from, visitor.address);
}

/** Returns the browser's device id: its known one, or a new one. */
export function deviceToKeep(secret: Secret, { device }: Visitor): string {
  return device !== undefined && deviceId(secret, device) !== undefined ? device : newDevice(secret);
}
