import { timingSafeEqual } from 'node:crypto';
import { StatusError } from '../status.ts';
import { getUserByEmail } from '../store/accounts.ts';
import { doerOf, recordDeed } from './audit.ts';
import { normalizeEmail } from './email.ts';
import { post } from './people.ts';
import type { People } from './people.ts';
import type { Principal } from './principal.ts';
import type { Secret } from './secrets.ts';

/** How long a link works. */
export const SIGN_UP_LINK_MS = 7 * 86_400_000;

const TOKEN = /^(\d{1,15})\.([\w-]{1,400})\.([\w-]{43})$/;

/**
 * What lets an e-mail address make an account where sign-up is closed. It follows from the secret and is stored nowhere; an
 * address has one account at most, so that it works once.
 */
export function signUpToken(secret: Secret, email: string, expiresAt: number): string {
  return `${expiresAt}.${Buffer.from(email).toString('base64url')}.${seal(secret, email, expiresAt)}`;
}

/** Makes a link for an address and sends it there. ALREADY_EXISTS USER_EXISTS; RESOURCE_EXHAUSTED for too many letters. */
export async function inviteToSignUp(
  people: People,
  principal: Principal,
  email: string,
): Promise<{ link: string; expiresAt: number }> {
  const { store, clock, config, secret, loginLimits } = people;
  const at = clock.now();
  if (await getUserByEmail(store, email)) {
    throw new StatusError('ALREADY_EXISTS', 'USER_EXISTS', 'This e-mail address has an account.');
  }
  loginLimits.mail.take(principal.accountId);
  const deed = { action: 'account.invite', accountId: principal.accountId, detail: email, at };
  await store.write((tx) => recordDeed(tx, doerOf(principal), deed));
  const expiresAt = at + SIGN_UP_LINK_MS;
  const link = `${config.baseUrl}/sign-up?invitation=${signUpToken(secret, email, expiresAt)}`;
  post(people, {
    to: email,
    subject: 'Make your account at Dormouse',
    text: `Whoever runs ${config.baseUrl} gives you an account there. Open this link within seven days to make it:

${link}

If you expect no such letter, do nothing.
`,
  });
  return { link, expiresAt };
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
