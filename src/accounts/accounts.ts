import type { AccessChanges } from '../http/access-changes.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Post } from '../mail/mail.ts';
import type { Secret } from '../store/secret.ts';
import type { Store, Tx } from '../store/store.ts';
import type { FirstRunFile } from './first-run.ts';
import type { LoginLimits } from './login-limits.ts';
import type { Provider } from './provider.ts';

/** Stores changes of a user's access, and announces them to open streams and connections. */
export interface AccessStore {
  store: Store;
  clock: Clock;
  /** Notified when a user's access is reduced. */
  accessChanges: AccessChanges;
}

/** The users of this installation, and what signs them in. */
export interface Accounts extends AccessStore {
  secret: Secret;
  post: Post;
  loginLimits: LoginLimits;
  signup: SignUp;
  /** The users who can sign in with a password: all, or only the first operator. */
  passwords: 'everyone' | 'operator';
  /** Undefined without a sign-in provider. */
  provider?: Provider | undefined;
  /** Undefined if there is no such file. */
  firstRunFile?: FirstRunFile | undefined;
  /** Runs in the write that creates an account. */
  onAccount?: ((tx: Tx, accountId: string, at: number) => Promise<void>) | undefined;
}

/**
 * The people who can create an account. `closed`: people invited by an operator. `letter`: people with a link, which
 * anyone can request for their own address; it hides which addresses have accounts. `open`: anyone at once, for
 * installations that cannot send e-mail.
 */
export type SignUp = 'open' | 'letter' | 'closed';

/** Derives the sign-up mode from the settings: links by e-mail need a mail server. */
export function signUpMode({ signup, smtpUrl }: { signup: 'open' | 'closed'; smtpUrl: string | null }): SignUp {
  return signup === 'open' && smtpUrl !== null ? 'letter' : signup;
}
