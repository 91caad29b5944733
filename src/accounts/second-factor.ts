import { randomBytes, randomInt } from 'node:crypto';
import { type AuditActor, auditActorOf, recordAudit } from '../audit/audit.ts';
import type { Principal, SessionPrincipal } from '../http/principal.ts';
import type { Visitor } from '../http/session/visitor.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import type { Secret } from '../store/secret.ts';
import type { Sql, Store, Tx } from '../store/store.ts';
import type { Accounts } from './accounts.ts';
import { deleteOtherBrowserSessions } from './browser-session-rows.ts';
import { tryCode } from './login-limits.ts';
import { noticeSecondFactor } from './notices.ts';
import { onlyProvider, provePassword, requireFreshPassword, requireProvedSession } from './passwords.ts';
import { openSealedText, sealText } from './sealed-text.ts';
import {
  countRecoveryCodes,
  deleteSecondFactor,
  enableSecondFactor,
  getSecondFactor,
  listSecondFactorUsers,
  offerSecondFactor,
  replaceRecoveryCodes,
  takeRecoveryCode,
  takeStep,
} from './second-factor-rows.ts';
import { KEY_BYTES, base32, keyUri, stepOfCode } from './totp.ts';

/** Longer than any way to type a code. */
export const CODE_CHARS = 64;

/** Whether a user has a second factor, and how many recovery codes are left. */
export interface SecondFactor {
  /** Null without one. */
  enabledAt: number | null;
  recoveryCodes: number;
}

/** The data an authenticator app needs. */
export interface Offer {
  /** Base32, for typing. */
  key: string;
  /** The key with its name, for a QR code. */
  uri: string;
}

export async function secondFactorOf(db: Sql, userId: string): Promise<SecondFactor> {
  const enabledAt = (await getSecondFactor(db, userId))?.enabledAt ?? null;
  return { enabledAt, recoveryCodes: enabledAt === null ? 0 : await countRecoveryCodes(db, userId) };
}

/**
 * Offers the caller a key and replaces an earlier offer. Sign-ins require it once the caller has proved that an app has
 * it (`confirmSecondFactor`). PERMISSION_DENIED PASSWORD_REQUIRED; FAILED_PRECONDITION SECOND_FACTOR_ON.
 */
export async function beginSecondFactor(accounts: Accounts, principal: SessionPrincipal): Promise<Offer> {
  const { store, clock, secret } = accounts;
  requireFreshPassword(principal, clock.now());
  const key = randomBytes(KEY_BYTES);
  const sealed = sealText(sealOf(secret, principal.userId), PURPOSE, key.toString('base64url'));
  if (!(await store.write((tx) => offerSecondFactor(tx, principal.userId, sealed)))) throw alreadyOn();
  return offerOf(accounts, principal, key);
}

/** Returns the caller's pending offer; undefined without one. PERMISSION_DENIED PASSWORD_REQUIRED. */
export async function offeredSecondFactor(accounts: Accounts, principal: SessionPrincipal): Promise<Offer | undefined> {
  requireFreshPassword(principal, accounts.clock.now());
  const row = await getSecondFactor(accounts.store, principal.userId);
  if (row === undefined || row.enabledAt !== null) return undefined;
  return offerOf(accounts, principal, keyOf(accounts.secret, row));
}

/**
 * Requires a code at each sign-in from now on and ends the caller's other sessions, which were opened without one.
 * Returns the recovery codes only this once. PERMISSION_DENIED PASSWORD_REQUIRED or WRONG_CODE; FAILED_PRECONDITION
 * SECOND_FACTOR_ON or NOTHING_OFFERED.
 */
export async function confirmSecondFactor(
  accounts: Accounts,
  principal: SessionPrincipal,
  code: string,
): Promise<string[]> {
  const { store, clock, secret, accessChanges } = accounts;
  const { userId, accountId, sessionId } = principal;
  const at = clock.now();
  requireFreshPassword(principal, at);
  const codes = await store.write(async (tx) => {
    const row = await getSecondFactor(tx, userId);
    if (row === undefined) {
      throw new StatusError('FAILED_PRECONDITION', 'NOTHING_OFFERED', 'Begin to set up two-factor sign-in first.');
    }
    if (row.enabledAt !== null) throw alreadyOn();
    const step = stepOfCode(keyOf(secret, row), digitsOf(code), { at, taken: 0 });
    if (step === undefined) throw wrongCode();
    await enableSecondFactor(tx, userId, at, step);
    const ended = await deleteOtherBrowserSessions(tx, userId, sessionId);
    const detail = `${ended} other sessions ended`;
    await recordAudit(tx, auditActorOf(principal), { action: 'secondFactor.on', accountId, detail, at });
    return newRecoveryCodes(tx, secret, userId);
  });
  accessChanges.announce({ userId });
  noticeSecondFactor(accounts, principal, 'Two-factor sign-in was turned on for your account');
  return codes;
}

/**
 * The proof required to change the second factor: the password, and a code of the app or a recovery code. Users without
 * a password have confirmed with the sign-in provider recently instead.
 */
export interface Proof {
  password: string;
  code: string;
}

/**
 * Turns the second factor off. PERMISSION_DENIED WRONG_PASSWORD, PASSWORD_REQUIRED or WRONG_CODE; FAILED_PRECONDITION
 * SECOND_FACTOR_OFF or NO_PASSWORD; RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS; UNAVAILABLE BUSY.
 */
export async function removeOwnSecondFactor(
  accounts: Accounts,
  principal: SessionPrincipal,
  proof: Proof,
  visitor: Visitor,
): Promise<void> {
  const { accountId, userId } = principal;
  await withProof(accounts, principal, proof, visitor, async (tx, at) => {
    await deleteSecondFactor(tx, userId);
    await recordAudit(tx, auditActorOf(principal), { action: 'secondFactor.off', accountId, at });
  });
  noticeSecondFactor(accounts, principal, 'Two-factor sign-in was turned off for your account');
}

/** Returns new recovery codes and voids the earlier ones. Rejects like `removeOwnSecondFactor`. */
export async function renewRecoveryCodes(
  accounts: Accounts,
  principal: SessionPrincipal,
  proof: Proof,
  visitor: Visitor,
): Promise<string[]> {
  const { accountId, userId } = principal;
  const codes = await withProof(accounts, principal, proof, visitor, async (tx, at) => {
    await recordAudit(tx, auditActorOf(principal), { action: 'secondFactor.newCodes', accountId, at });
    return newRecoveryCodes(tx, accounts.secret, userId);
  });
  noticeSecondFactor(accounts, principal, 'New recovery codes were created for your account');
  return codes;
}

/** The kind of an accepted code. */
export type Taken = 'app' | 'recovery code';

/**
 * Consumes a code of a user's app, or a recovery code, in the write of the action it allows. Each works only once.
 * Throws PERMISSION_DENIED WRONG_CODE; FAILED_PRECONDITION SECOND_FACTOR_OFF.
 */
export async function takeCode(tx: Tx, secret: Secret, userId: string, typed: string, at: number): Promise<Taken> {
  const row = await getSecondFactor(tx, userId);
  if (row === undefined || row.enabledAt === null) {
    throw new StatusError('FAILED_PRECONDITION', 'SECOND_FACTOR_OFF', 'Two-factor sign-in is off. Sign in again.');
  }
  const step = stepOfCode(keyOf(secret, row), digitsOf(typed), { at, taken: row.lastStep });
  if (step !== undefined) {
    await takeStep(tx, userId, step);
    return 'app';
  }
  const recovery = readRecoveryCode(typed);
  if (recovery !== undefined && (await takeRecoveryCode(tx, userId, hashRecoveryCode(secret, userId, recovery)))) {
    return 'recovery code';
  }
  throw wrongCode();
}

async function withProof<T>(
  accounts: Accounts,
  principal: SessionPrincipal,
  { password, code }: Proof,
  visitor: Visitor,
  work: (tx: Tx, at: number) => Promise<T>,
): Promise<T> {
  const { store, clock, secret } = accounts;
  const { userId, sessionId } = principal;
  if (onlyProvider(principal) === undefined) await provePassword(accounts, principal, password, visitor);
  else requireFreshPassword(principal, clock.now());
  return tryCode(accounts.loginLimits, { userId, visitor, from: { sessionId } }, () =>
    store.write(async (tx) => {
      await takeCode(tx, secret, userId, code, clock.now());
      return work(tx, clock.now());
    }),
  );
}

async function newRecoveryCodes(tx: Tx, secret: Secret, userId: string): Promise<string[]> {
  const codes = mintRecoveryCodes();
  const hashes = codes.map((each) => hashRecoveryCode(secret, userId, each));
  await replaceRecoveryCodes(tx, userId, hashes);
  return codes;
}

function offerOf({ post }: Accounts, { email }: SessionPrincipal, key: Buffer): Offer {
  const issuer = `Dormouse ${new URL(post.baseUrl).hostname}`;
  return { key: base32(key), uri: keyUri(key, { issuer, account: email }) };
}

const PURPOSE = 'totp key';

/** Returns the seal of a user's key: the database alone, without the installation's secret, does not reveal it. */
function sealOf(secret: Secret, userId: string): string {
  return secret.derive('second-factor', userId);
}

/** Throws FAILED_PRECONDITION for a key sealed with another secret, because no code would ever match. */
function keyOf(secret: Secret, { userId, sealedKey }: { userId: string; sealedKey: string }): Buffer {
  const key = openSealedText(sealOf(secret, userId), PURPOSE, sealedKey);
  if (key !== undefined) return Buffer.from(key, 'base64url');
  throw new StatusError(
    'FAILED_PRECONDITION',
    'SECOND_FACTOR_UNREADABLE',
    'This second factor was set up with another secret.key. Ask an operator to turn it off.',
  );
}

/** Removes the blanks that apps show: `123 456`. */
function digitsOf(typed: string): string {
  return typed.replaceAll(/\s/g, '');
}

function alreadyOn(): StatusError {
  return new StatusError('FAILED_PRECONDITION', 'SECOND_FACTOR_ON', 'Two-factor sign-in is on. Turn it off first.');
}

function wrongCode(): StatusError {
  return new StatusError('PERMISSION_DENIED', 'WRONG_CODE', 'Wrong or used code. Try the next one.');
}

/** Number of codes per user. */
export const RECOVERY_CODES = 10;

/** Excludes letters and digits that look alike. */
const ALPHABET = '23456789abcdefghjkmnpqrstuvwxyz';
const LENGTH = 10;
const CODE = new RegExp(`^[${ALPHABET}]{${LENGTH}}$`);

/** Returns new codes in their displayed format, `k7m2x-9qwrt`: 49.5 bits each from the operating system's generator. */
export function mintRecoveryCodes(): string[] {
  const letter = () => ALPHABET.charAt(randomInt(ALPHABET.length));
  return Array.from({ length: RECOVERY_CODES }, () => shown(Array.from({ length: LENGTH }, letter).join('')));
}

/** Returns a typed code in its displayed format; undefined if it cannot be one. Ignores case, blanks and dashes. */
export function readRecoveryCode(typed: string): string | undefined {
  const letters = typed.toLowerCase().replaceAll(/[\s\p{Pd}]/gu, '');
  return CODE.test(letters) ? shown(letters) : undefined;
}

/**
 * Returns the stored form of a displayed code. Keyed with the secret, because a plain hash of so few bits can be
 * reversed.
 */
function hashRecoveryCode(secret: Secret, userId: string, code: string): string {
  return secret.derive('recovery-code', `${userId} ${code}`);
}

function shown(letters: string): string {
  return `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
}

/**
 * Turns off the second factor of an account's users who have lost app and recovery codes; an e-mail notifies them. The
 * calling operator has verified their identity. PERMISSION_DENIED unless the session's password was given recently;
 * FAILED_PRECONDITION SECOND_FACTOR_OFF, or OWN_SECOND_FACTOR, which requires a code.
 */
export async function removeSecondFactorOf(
  accounts: Accounts,
  principal: Principal,
  accountId: string,
  reason: string,
): Promise<void> {
  if (accountId === principal.accountId) {
    const message = 'This is your own account. Turn off two-factor sign-in at /profile/second-factor.';
    throw new StatusError('FAILED_PRECONDITION', 'OWN_SECOND_FACTOR', message);
  }
  await requireProvedSession(accounts, principal);
  const users = await removed(accounts.store, accounts.clock, auditActorOf(principal), accountId, reason);
  for (const user of users) {
    noticeSecondFactor(accounts, user, `An operator turned off two-factor sign-in for your account (“${reason}”)`);
  }
}

/** Turns off a second factor for the person with access to the machine. */
export async function removeSecondFactorHere(store: Store, clock: Clock, accountId: string): Promise<void> {
  await removed(store, clock, { userId: '', through: 'the machine itself' }, accountId, '');
}

async function removed(store: Store, clock: Clock, by: AuditActor, accountId: string, detail: string) {
  return store.write(async (tx) => {
    const users = await listSecondFactorUsers(tx, accountId);
    if (users.length === 0) {
      throw new StatusError('FAILED_PRECONDITION', 'SECOND_FACTOR_OFF', 'Two-factor sign-in is off for this account.');
    }
    for (const { id } of users) await deleteSecondFactor(tx, id);
    await recordAudit(tx, by, { action: 'secondFactor.remove', accountId, detail, at: clock.now() });
    return users;
  });
}
