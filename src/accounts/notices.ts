import { StatusError } from '../kernel/status.ts';
import type { Accounts } from './accounts.ts';
import type { Familiarity } from './sign-in-places.ts';

interface Recipient {
  email: string;
  emailVerified: boolean;
}

/** Notifies a user of their new key. The e-mail contains only our text and the user's own. */
export function noticeNewKey(accounts: Accounts, user: Recipient, what: string, page = '/profile/keys'): void {
  notice(accounts, user, 'A new key for your Dormouse account', `${what} at ${instant(accounts)}.`, page);
}

/** Notifies a user of a change of their second factor. */
export function noticeSecondFactor(accounts: Accounts, user: Recipient, what: string): void {
  const subject = 'Two-factor sign-in for your Dormouse account';
  notice(accounts, user, subject, `${what} at ${instant(accounts)}.`, '/profile/second-factor');
}

/** Notifies a user that an account at the sign-in provider now opens theirs. */
export function noticeLinked(accounts: Accounts, user: Recipient, provider: string): void {
  const what = `An account at ${provider} was linked to yours at ${instant(accounts)}, and can sign in from now on.`;
  notice(accounts, user, 'A new way to sign in to your Dormouse account', what, '/profile');
}

/** Notifies a user of a sign-in from a new place, unless it is their first ever. */
export function noticeNewPlace(accounts: Accounts, user: Recipient, from: Familiarity, address: string): void {
  if (!from.any || (from.device !== undefined && from.network)) return;
  const what = from.device === undefined ? 'a browser' : 'a network';
  const text =
    `Someone signed in to your account from ${what} that you have not used here before, at ${instant(accounts)}, ` +
    `from the address ${address}.`;
  notice(accounts, user, 'A sign-in to Dormouse from a new place', text, '/profile/sessions');
}

/** Notifies verified addresses only, at a limited rate. */
function notice(
  accounts: Accounts,
  { email, emailVerified }: Recipient,
  subject: string,
  what: string,
  page: string,
): void {
  if (!emailVerified || !isWelcome(accounts, email)) return;
  accounts.post.send({
    to: email,
    subject,
    text: `${what}

If it was you, ignore this e-mail. If not, end the session here and change your password:

${accounts.post.baseUrl}${page}
`,
  });
}

function isWelcome({ loginLimits }: Accounts, email: string): boolean {
  try {
    loginLimits.mail.take(`notice ${email}`);
    return true;
  } catch (error) {
    if (error instanceof StatusError) return false;
    throw error;
  }
}

function instant({ clock }: Accounts): string {
  return new Date(clock.now()).toISOString().replace('T', ' ').slice(0, 16) + ' UTC';
}
