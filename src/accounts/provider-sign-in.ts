import { randomBytes, timingSafeEqual } from 'node:crypto';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import type { SessionPrincipal } from '../http/principal.ts';
import type { Visitor } from '../http/session/visitor.ts';
import { newId } from '../kernel/ids.ts';
import { addressKey } from '../kernel/ip.ts';
import { StatusError } from '../kernel/status.ts';
import type { Secret } from '../store/secret.ts';
import type { Sql, Tx } from '../store/store.ts';
import type { Accounts } from './accounts.ts';
import { proveBrowserSession } from './browser-session-rows.ts';
import { isInvitedAddress } from './link-rows.ts';
import { counted } from './login-limits.ts';
import { noticeLinked } from './notices.ts';
import { isPasswordFresh } from './passwords.ts';
import { FLOW_MS, type Identity, type Provider, type ProviderFlow } from './provider.ts';
import {
  type ProviderLinkRow,
  deleteProviderLink,
  findProviderLink,
  insertProviderLink,
  setLinkOperator,
} from './provider-rows.ts';
import { type UserRow, countOperators, getUser, getUserByEmail, setUserOperator } from './rows.ts';
import {
  type CodeAsked,
  type SignedIn,
  codeAsked,
  deviceToKeep,
  enter,
  entered,
  insertNewUser,
  isPasswordAccepted,
  signInWithCode,
} from './sign-in.ts';
import { type Familiarity, familiarityOf } from './sign-in-places.ts';
import { linkNeeded, useInvitation } from './sign-up-links.ts';

const AGAIN = '.again';
const FLOW = /^(\d{1,15})\.[\w-]{22}\.([\w-]{0,400})(?:\.again)?$/;

/**
 * Returns the token that a browser keeps until its user returns from the provider and goes on to `next`. Nothing is
 * stored: state, nonce and verifier are derived from the token and the installation's secret. `again`: for a signed-in
 * user who confirms (`confirmByProvider`).
 */
export function newProviderFlow(next: string, now: number, again: boolean): string {
  const page = Buffer.from(next).toString('base64url');
  return `${now + FLOW_MS}.${randomBytes(16).toString('base64url')}.${page}${again ? AGAIN : ''}`;
}

/** Returns the page that a flow leads to; undefined for a text that is no flow's token, or an expired one. */
export function nextOfFlow(token: string | undefined, now: number): string | undefined {
  const [, expiry = '', next = ''] = FLOW.exec(token ?? '') ?? [];
  const expiresAt = Number(expiry);
  return expiresAt > now && expiresAt <= now + FLOW_MS ? Buffer.from(next, 'base64url').toString() : undefined;
}

/** Returns the secrets of a flow. A forged or changed token has others, so the provider's answer does not match it. */
export function flowOf(secret: Secret, token: string): ProviderFlow {
  const derive = (purpose: string) => secret.derive(`provider ${purpose}`, token);
  const secrets = { state: derive('state'), nonce: derive('nonce'), verifier: derive('verifier') };
  return { ...secrets, again: token.endsWith(AGAIN) };
}

/**
 * Signs in the user who returns from the provider in the browser in which they left, once within ten minutes. Creates
 * their account at first, if sign-up is open or their address is invited; links an existing one if its address and the
 * provider's are the same and both are confirmed. Membership of the operators' group is applied each time. A second
 * factor is required as after a password, unless the provider has asked for one and its account was linked before:
 * a person who reads a user's mail must not get past their second factor. Until the code is given, nothing is stored.
 * Without a code, the password counts as given when the provider asked for it, or now if the provider does not state
 * that.
 *
 * UNAUTHENTICATED SIGN_IN_EXPIRED, SIGN_IN_CANCELLED or PROVIDER_REFUSED; UNAVAILABLE PROVIDER_UNAVAILABLE;
 * FAILED_PRECONDITION EMAIL_NOT_CONFIRMED or LINKED_OTHERWISE; PERMISSION_DENIED SIGNUP_CLOSED; RESOURCE_EXHAUSTED for
 * too many from an address.
 */
export async function signInByProvider(
  accounts: Accounts,
  provider: Provider,
  query: URLSearchParams,
  visitor: Visitor,
): Promise<SignedIn | CodeAsked> {
  const { store, clock, secret, accessChanges } = accounts;
  const identity = await arrivingUser(accounts, provider, query, visitor);
  const device = deviceToKeep(secret, visitor);
  const result = await store.write(async (tx): Promise<CodeAsked | Entered> => {
    const at = clock.now();
    const { user: known, isLinked } = await userOf(tx, accounts, provider, identity, visitor, at);
    const { subject, email = known.email, multiFactor, askedAt } = identity;
    const proof = { subject, email, isMember: isInGroup(provider, identity) };
    const asked = multiFactor && isLinked ? undefined : await codeAsked(tx, secret, known, at, noteOf(proof));
    if (asked !== undefined) return asked;
    const { user, isNew } = await linked(tx, provider, known, proof, at);
    const from = await familiarityOf(tx, secret, user.id, visitor);
    const isChanged = user.operator !== known.operator;
    const session = await enter(tx, accounts, user, { ...visitor, device }, `with ${provider.name}`, askedAt);
    // A new account is not told that it has been linked.
    return { user, from, isChanged, isNew: isNew && known.passwordHash !== '', session };
  });
  if ('pending' in result) return result;
  const { user, from, isChanged, isNew, session } = result;
  if (isChanged) accessChanges.announce({ userId: user.id });
  if (isNew) noticeLinked(accounts, user, provider.name);
  await entered(accounts, user, from, visitor);
  return { user, token: session, device };
}

/**
 * Renews the proof of a signed-in user who returns from the provider, as a password that is entered again does: the
 * session stays, and a second factor is not asked for. Applies the operators' group.
 *
 * Rejects like `signInByProvider` for answers that are refused there; PERMISSION_DENIED OTHER_USER for another user of
 * the provider; PERMISSION_DENIED NOT_ASKED if the provider has not asked the user recently.
 */
export async function confirmByProvider(
  accounts: Accounts,
  provider: Provider,
  query: URLSearchParams,
  visitor: Visitor,
  principal: SessionPrincipal | undefined,
): Promise<void> {
  const { store, clock, accessChanges } = accounts;
  if (!principal) throw startAgain();
  const { userId, sessionId, email } = principal;
  const identity = await arrivingUser(accounts, provider, query, visitor);
  const isChanged = await store.write(async (tx) => {
    const link = await findProviderLink(tx, provider.issuer, 'subject', identity.subject);
    const known = await getUser(tx, userId);
    if (!known || link?.userId !== userId) throw otherUser(provider.name, email);
    const at = clock.now();
    const provedAt = identity.askedAt ?? at;
    if (!isPasswordFresh({ provedAt }, at)) throw notAsked(provider.name);
    await proveBrowserSession(tx, sessionId, Math.max(provedAt, principal.provedAt));
    const user = await applyGroup(tx, known, link, isInGroup(provider, identity), provider.operatorGroup, at);
    return user.operator !== known.operator;
  });
  if (isChanged) accessChanges.announce({ userId });
}

/** Returns the user whose browser returns from the provider, once for each flow. Rejects like `signInByProvider`. */
async function arrivingUser(
  { clock, secret, loginLimits }: Accounts,
  provider: Provider,
  query: URLSearchParams,
  visitor: Visitor,
): Promise<Identity> {
  const token = visitor.pending ?? '';
  const flow = flowOf(secret, token);
  const given = Buffer.from(query.get('state') ?? '');
  const isOurs = given.length === flow.state.length && timingSafeEqual(given, Buffer.from(flow.state));
  if (nextOfFlow(token, clock.now()) === undefined || !isOurs) throw startAgain();
  // Even if the provider accepts a code twice, a flow ends with the first attempt.
  if (provider.uses.take(flow.state).waitMs > 0) throw startAgain();
  const attempts = [loginLimits.address.take(addressKey(visitor.address))];
  return counted(attempts, () => provider.finish(flow, query.toString()));
}

function isInGroup({ operatorGroup }: Provider, { groups }: Identity): boolean {
  return operatorGroup !== '' && groups.includes(operatorGroup);
}

/**
 * Signs in a user with a code (`signInWithCode`). If their first proof came from the provider, links its account and
 * applies its group.
 */
export async function finishWithCode(accounts: Accounts, code: string, visitor: Visitor): Promise<SignedIn> {
  const { provider, clock, accessChanges } = accounts;
  let wasOperator = false;
  let isNew = false;
  const signedIn = await signInWithCode(accounts, code, visitor, async (tx, user, note) => {
    wasOperator = user.operator;
    if (note === '' || provider === undefined) return user;
    const proof = JSON.parse(Buffer.from(note, 'base64url').toString()) as Proof;
    const result = await linked(tx, provider, user, proof, clock.now());
    isNew = result.isNew;
    return result.user;
  });
  const { user } = signedIn;
  if (user.operator !== wasOperator) accessChanges.announce({ userId: user.id });
  if (isNew && provider) noticeLinked(accounts, user, provider.name);
  return signedIn;
}

/** The provider's statement about a user, as far as it is stored. */
interface Proof {
  subject: string;
  email: string;
  /** Whether they belong to the operators' group. */
  isMember: boolean;
}

function noteOf(proof: Proof): string {
  return Buffer.from(JSON.stringify(proof)).toString('base64url');
}

/** A stored sign-in. */
interface Entered {
  user: UserRow;
  from: Familiarity;
  session: string;
  /** Whether operator rights have changed. */
  isChanged: boolean;
  /** Whether an account that existed has been linked. */
  isNew: boolean;
}

/** Returns the user of an identity, and whether its account is linked. Creates a user if necessary. */
async function userOf(
  tx: Tx,
  accounts: Accounts,
  { issuer, name }: Provider,
  { subject, email }: Identity,
  visitor: Visitor,
  at: number,
): Promise<{ user: UserRow; isLinked: boolean }> {
  const link = await findProviderLink(tx, issuer, 'subject', subject);
  const user = link && (await getUser(tx, link.userId));
  if (user) return { user, isLinked: true };
  if (email === undefined) {
    throw notConfirmed(`${name} has not confirmed your e-mail address. Confirm it there, then sign in again.`);
  }
  const known = await getUserByEmail(tx, email);
  if (known && !known.emailVerified) {
    throw notConfirmed(
      `An account with the address ${email} exists, but has not confirmed it. Sign in with its password and confirm the address on the profile page first.`,
    );
  }
  if (known && (await findProviderLink(tx, issuer, 'userId', known.id))) {
    const message = `The account with the address ${email} is linked to another account at ${name}. Sign in with that one, or with the password and remove the link on the profile page.`;
    throw new StatusError('FAILED_PRECONDITION', 'LINKED_OTHERWISE', message);
  }
  return { user: known ?? (await newUser(tx, accounts, email, visitor, at)), isLinked: false };
}

/** Links a user's account at the provider unless it is linked, and applies its group. `isNew`: whether it linked it. */
async function linked(
  tx: Tx,
  { issuer, name, operatorGroup }: Provider,
  user: UserRow,
  { subject, email, isMember }: Proof,
  at: number,
): Promise<{ user: UserRow; isNew: boolean }> {
  const known = await findProviderLink(tx, issuer, 'subject', subject);
  if (known) {
    if (known.userId !== user.id) throw startAgain();
    return { user: await applyGroup(tx, user, known, isMember, operatorGroup, at), isNew: false };
  }
  // Something may have changed since a code was asked.
  const isStill = user.email === email && user.emailVerified;
  if (!isStill || (await findProviderLink(tx, issuer, 'userId', user.id))) throw startAgain();
  const link = { issuer, subject, userId: user.id, email, operator: false, createdAt: at };
  await insertProviderLink(tx, link);
  const entry = { action: 'session.linkProvider', accountId: user.accountId, detail: name, at };
  await recordAudit(tx, { userId: user.id, through: 'session' }, entry);
  return { user: await applyGroup(tx, user, link, isMember, operatorGroup, at), isNew: true };
}

/** Creates a user without a password. The provider has confirmed the address. */
async function newUser(
  tx: Tx,
  accounts: Accounts,
  email: string,
  visitor: Visitor,
  createdAt: number,
): Promise<UserRow> {
  const { signup, loginLimits } = accounts;
  if (signup === 'closed' && !(await isInvitedAddress(tx, email, createdAt))) throw linkNeeded(signup);
  loginLimits.signUp.take(addressKey(visitor.address));
  await useInvitation(tx, email, '', createdAt);
  const ids = { id: newId('usr'), accountId: newId('acc') };
  const user = { ...ids, email, emailVerified: true, passwordHash: '', operator: false, createdAt };
  await insertNewUser(tx, accounts, user);
  return user;
}

/**
 * Makes members of the operators' group operators, and ends the rights of those who have left it. Operators made by
 * other operators stay, and so does the last one.
 */
async function applyGroup(
  tx: Tx,
  user: UserRow,
  link: ProviderLinkRow,
  isMember: boolean,
  group: string,
  at: number,
): Promise<UserRow> {
  const isUnchanged = isMember ? user.operator : !link.operator;
  if (isUnchanged) return user;
  const isRemoval = !isMember && user.operator;
  if (isRemoval && (await countOperators(tx)) < 2) return user;
  await setLinkOperator(tx, link, isMember);
  if (!isMember && !user.operator) return user;
  await setUserOperator(tx, user.id, isMember);
  const action = isMember ? 'account.makeOperator' : 'account.endOperator';
  const entry = { action, accountId: user.accountId, detail: group, at };
  await recordAudit(tx, { userId: '', through: 'system group' }, entry);
  return { ...user, operator: isMember };
}

/** A user's ways to sign in. */
export type WaysIn = Awaited<ReturnType<typeof waysIn>>;

/** Returns a user with their account at the provider, if one is linked, and whether a password works for them. */
export async function waysIn(db: Sql, accounts: Accounts, userId: string) {
  const { provider } = accounts;
  const user = await getUser(db, userId);
  const link = provider && (await findProviderLink(db, provider.issuer, 'userId', userId));
  return { user, link, isPasswordAccepted: user !== undefined && (await isPasswordAccepted(db, accounts, user)) };
}

/**
 * Removes the link to the caller's account at the provider, with operator rights that came from a group there.
 * FAILED_PRECONDITION LAST_WAY_IN if no password works for the caller.
 */
export async function unlinkProvider(accounts: Accounts, principal: SessionPrincipal): Promise<void> {
  const { store, clock, accessChanges, provider } = accounts;
  const { userId, accountId } = principal;
  await store.write(async (tx) => {
    const { user, link, isPasswordAccepted } = await waysIn(tx, accounts, userId);
    if (!provider || !link || !user) return;
    if (!isPasswordAccepted) {
      const message = `You can sign in only with ${provider.name}. Create a password first.`;
      throw new StatusError('FAILED_PRECONDITION', 'LAST_WAY_IN', message);
    }
    const at = clock.now();
    await applyGroup(tx, user, link, false, provider.operatorGroup, at);
    await deleteProviderLink(tx, link);
    const entry = { action: 'session.unlinkProvider', accountId, detail: provider.name, at };
    await recordAudit(tx, auditActorOf(principal), entry);
  });
  accessChanges.announce({ userId });
}

function startAgain(): StatusError {
  const message = 'This sign-in has expired, was used before, or began in another browser. Start again.';
  return new StatusError('UNAUTHENTICATED', 'SIGN_IN_EXPIRED', message);
}

function otherUser(name: string, email: string): StatusError {
  const message = `This account at ${name} is not the one that is linked to ${email}. Choose that one there.`;
  return new StatusError('PERMISSION_DENIED', 'OTHER_USER', message);
}

function notAsked(name: string): StatusError {
  const message = `${name} did not ask you to sign in again, so this does not count. Sign out there, then try again.`;
  return new StatusError('PERMISSION_DENIED', 'NOT_ASKED', message);
}

function notConfirmed(message: string): StatusError {
  return new StatusError('FAILED_PRECONDITION', 'EMAIL_NOT_CONFIRMED', message);
}
