import { timingSafeEqual } from 'node:crypto';
import type { Visitor } from '../../http/session/visitor.ts';
import { addressKey } from '../../kernel/ip.ts';
import { StatusError } from '../../kernel/status.ts';
import { DAY_MS } from '../../kernel/units.ts';
import type { Secret } from '../../store/secret.ts';
import { type People, post } from '../people.ts';
import { getUserByEmail } from '../rows.ts';
import { normalizeEmail } from './address.ts';

/** How long a link works. */
const SIGN_UP_LINK_MS = 7 * DAY_MS;

const TOKEN = /^(\d{1,15})\.([\w-]{1,400})\.([\w-]{43})$/;

/**
 * Creates the token with which an e-mail address can create an account if sign-up by e-mail is open. Derived from the
 * secret and not stored, so that requests fill no table; an address has at most one account, so it works once.
 */
export function signUpToken(secret: Secret, email: string, expiresAt: number): string {
  return `${expiresAt}.${Buffer.from(email).toString('base64url')}.${seal(secret, email, expiresAt)}`;
}

/**
 * E-mails an address that requested an account: a link, or the notice that it has one. Both cases return the same in
 * the same time, so that callers cannot find out which addresses have accounts. PERMISSION_DENIED SIGNUP_CLOSED if only
 * operators invite; FAILED_PRECONDITION NO_LINK_NEEDED if no link is needed; RESOURCE_EXHAUSTED for too many from or to
 * an address.
 */
export async function requestSignUp(people: People, email: string, visitor: Visitor): Promise<void> {
  const { store, clock, config, loginLimits } = people;
  if (config.signup === 'closed') throw linkNeeded(config.signup);
  if (config.signup === 'open') {
    throw new StatusError('FAILED_PRECONDITION', 'NO_LINK_NEEDED', 'Sign-up requires no link here. Sign up directly.');
  }
  loginLimits.signUp.take(addressKey(visitor.address));
  loginLimits.mail.take(`sign-up ${email}`);
  const link = linkFor(people, email, clock.now() + SIGN_UP_LINK_MS);
  const exists = (await getUserByEmail(store, email)) !== undefined;
  post(people, {
    to: email,
    subject: exists ? 'You have an account at Dormouse' : 'Create your account at Dormouse',
    text: `Someone requested an account at ${config.baseUrl} with this e-mail address.

${exists ? `This address already has an account: sign in at ${config.baseUrl}/sign-in` : `If it was you, open this link within seven days:\n\n${link}`}

If it was not you, ignore this e-mail.
`,
  });
}

/** Returns the refusal of an account requested without a link. */
export function linkNeeded(signup: 'letter' | 'closed'): StatusError {
  const message =
    signup === 'letter'
      ? 'Creating an account requires a link sent to its e-mail address: request one first (RequestSignUp).'
      : 'Creating an account requires an operator’s invitation for this e-mail address.';
  return new StatusError('PERMISSION_DENIED', 'SIGNUP_CLOSED', message);
}

function linkFor({ config, secret }: People, email: string, expiresAt: number): string {
  return `${config.baseUrl}/sign-up?invitation=${signUpToken(secret, email, expiresAt)}`;
}

/** Returns the address of a token; undefined if the token is not ours or has expired. */
export function signUpEmail(secret: Secret, token: string, now: number): string | undefined {
  const [, expiry = '', encoded = '', given = ''] = TOKEN.exec(token) ?? [];
  const email = normalizeEmail(Buffer.from(encoded, 'base64url').toString());
  const expiresAt = Number(expiry);
  if (email === undefined || expiresAt <= now) return undefined;
  return timingSafeEqual(Buffer.from(given), Buffer.from(seal(secret, email, expiresAt))) ? email : undefined;
}

function seal(secret: Secret, email: string, expiresAt: number): string {
  return secret.derive('sign-up', `${expiresAt} ${email}`);
}
