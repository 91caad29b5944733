/** Identifies users. Never: a password or token stored or logged in plain text. */
import type { Browsers } from '../http/session/browsers.ts';
import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import type { Log } from '../kernel/log.ts';
import { type Mailer, Post } from '../mail/mail.ts';
import type { Secret } from '../store/secret.ts';
import type { Store } from '../store/store.ts';
import type { Feature } from '../web/feature.ts';
import type { Accounts, SignUp } from './accounts.ts';
import { sessionListOperations } from './browser-sessions-api.ts';
import { findBrowserSession } from './browser-sessions.ts';
import { createLoginLimits } from './login-limits.ts';
import { whoAmIOperations } from './me-api.ts';
import { signInPath } from './next.ts';
import { mountProfile, mountSessions } from './profile-pages.ts';
import { recoveryOperations } from './recovery-api.ts';
import { mountPasswordReset, mountVerifyEmail } from './recovery-pages.ts';
import { type ProviderClient, createProvider } from './provider.ts';
import { getUser } from './rows.ts';
import { secondFactorOperations } from './second-factor-api.ts';
import { mountSecondFactor } from './second-factor-pages.ts';
import { signInOperations } from './sign-in-api.ts';
import { mountHome, mountProviderSignIn, mountSignIn, mountSignInCode } from './sign-in-pages.ts';

export interface AccountsRoom {
  accounts: Accounts;
  /** Identifies the signed-in user of a browser. */
  findSession: Browsers['findSession'];
  /** Returns the path of the sign-in page that leads on to `wanted`. */
  signInPath: (wanted: string) => string;
  feature: Feature;
}

/** Opens users with their accounts, passwords, sessions and second factors. */
export function openAccounts(
  outside: { store: Store; clock: Clock; log: Log; onClose: OnClose; secret: Secret; mailer: Mailer },
  settings: ProviderClient & {
    signup: SignUp;
    mail: boolean;
    operatorsNeedSecondFactor: boolean;
    passwordSignIn: Accounts['passwords'];
  },
  surroundings: Pick<Accounts, 'accessChanges' | 'onAccount' | 'firstRunFile'>,
): AccountsRoom {
  const { store, clock, log, onClose, secret, mailer } = outside;
  const { baseUrl, signup, mail } = settings;
  const post = new Post(mailer, log, { baseUrl, isSetUp: mail });
  onClose(() => post.settled());
  const loginLimits = createLoginLimits(clock);
  const accounts: Accounts = {
    store,
    clock,
    secret,
    post,
    loginLimits,
    signup,
    passwords: settings.passwordSignIn,
    provider: createProvider(settings, clock, log),
    ...surroundings,
  };
  const rules = { operatorsNeedSecondFactor: settings.operatorsNeedSecondFactor, provider: accounts.provider };
  return {
    accounts,
    findSession: (token) => findBrowserSession(store, clock, token, rules),
    signInPath,
    feature: {
      operations: [
        ...whoAmIOperations({ findUser: (id) => getUser(store, id) }),
        ...signInOperations(accounts),
        ...recoveryOperations(accounts),
        ...secondFactorOperations(accounts),
        ...sessionListOperations(accounts),
      ],
      pages(serve) {
        mountHome(serve, accounts);
        mountSignIn(serve, accounts);
        mountSignInCode(serve, accounts);
        mountProviderSignIn(serve, accounts);
        mountPasswordReset(serve, accounts);
        mountVerifyEmail(serve, accounts);
        mountProfile(serve, accounts);
        mountSecondFactor(serve, accounts);
        mountSessions(serve, accounts);
      },
    },
  };
}
