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
 * What lets an e-mail address make an account where anybody may by letter. It follows from the secret and is stored nowhere, so that
 * asking for it fills no table; an address has one account at most, so that it works once.
 */
export function signUpToken(secret: Secret, email: string, expiresAt: number): string {
  return `${expiresAt}.${Buffer.from(email).toString('base64url')}.${seal(secret, email, expiresAt)}`;
}

/**
 * Writes to an address that somebody wants to make an account with: a link, or that it has one. It answers alike in both cases,
 * and as fast, so that nobody is told which addresses have accounts. PERMISSION_DENIED SIGNUP_CLOSED where links are the
 * operator's; FAILED_PRECONDITION NO_LINK_NEEDED where none are; RESOURCE_EXHAUSTED for too many from or to an address.
 */
export async function requestSignUp(people: People, email: string, visitor: Pick<Visitor, 'address'>): Promise<void> {
  const { store, clock, config, loginLimits } = people;
  if (config.signup === 'closed') throw linkNeeded(config.signup);
  if (config.signup === 'open') {
    throw new StatusError('FAILED_PRECONDITION', 'NO_LINK_NEEDED', 'No link is needed here: sign up.');
  }
  loginLimits.signUp.take(addressKey(visitor.address));
  loginLimits.mail.take(`sign-up ${email}`);
  const link = linkFor(people, email, clock.now() + SIGN_UP_LINK_MS);
  const exists = (await getUserByEmail(store, email)) !== undefined;
  post(people, {
    to: email,
    subject: exists ? 'You have an account at Dormouse' : 'Make your account at Dormouse',
    text: `Somebody wants to make an account at ${config.baseUrl} with this e-mail address.

${exists ? `It has one already: sign in at ${config.baseUrl}/sign-in` : `If that is you, open this link within seven days:\n\n${link}`}

If it was not you, do nothing.
`,
  });
}

/** The refusal of an account that somebody wants to make without a link. */
export function linkNeeded(signup: 'letter' | 'closed'): StatusError {
  const message =
    signup === 'letter'
      ? 'An account is made with a link that is sent to its e-mail address: ask for one first (RequestSignUp).'
      : 'An account is made with a link from the operator here, for the e-mail address it was sent to.';
  return new StatusError('PERMISSION_DENIED', 'SIGNUP_CLOSED', message);
}

function linkFor({ config, secret }: People, email: string, expiresAt: number): string {
  return `${config.baseUrl}/sign-up?invitation=${signUpToken(secret, email, expiresAt)}`;
}

/** The address a token is for; undefined where it is none of ours, or too old. */
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
