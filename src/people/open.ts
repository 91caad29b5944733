/**
 * Identifies people and decides which servers they can reach. Never: a password, key or token stored or logged in plain
 * text.
 */
import type { AccessChanges } from '../http/access-changes.ts';
import type { FindApp, FindPrincipal } from '../http/auth.ts';
import type { Browsers } from '../http/session/browsers.ts';
import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import type { Log } from '../kernel/log.ts';
import type { Secret } from '../store/secret.ts';
import type { Store, Tx } from '../store/store.ts';
import type { Feature } from '../web/feature.ts';
import { mountPasswordReset } from './accounts/password-reset-pages.ts';
import { recoveryOperations } from './accounts/session-api.ts';
import { connectedAppOperations } from './apps/api.ts';
import { authenticateApp } from './apps/app-tokens.ts';
import { clientOperations } from './apps/clients-api.ts';
import { mountApps } from './apps/pages.ts';
import type { FirstRunFile } from './first-run.ts';
import { eulaOperations } from './eula/api.ts';
import { type Eula, type EulaOptions, createEula } from './eula/eula.ts';
import { deviceGrantOperations } from './grants/api.ts';
import { type Grants, createGrants } from './grants/grants.ts';
import { oauthOperations } from './grants/oauth.ts';
import { mountDevice } from './grants/pages.ts';
import { deviceOperations } from './grants/session-api.ts';
import { createStartLimit } from './grants/start-limit.ts';
import { createGuessLimit } from './grants/user-codes.ts';
import { keyOperations } from './keys/api.ts';
import { authenticate } from './keys/keys.ts';
import { mountKeys } from './keys/pages.ts';
import { mountHome } from './home.ts';
import { createLoginLimits } from './login-limits.ts';
import type { Mailer } from './mail/mail.ts';
import { mountVerifyEmail } from './mail/verification-pages.ts';
import { whoAmIOperations } from './me.ts';
import { invitationOperations } from './members/invitations-api.ts';
import { mountInvitations } from './members/invitations-pages.ts';
import { signInPath } from './next.ts';
import { type People, type SignUp, createRunBehind } from './people.ts';
import { mountSessions } from './profile-sessions.ts';
import { mountProfile } from './profile.ts';
import { getUser } from './rows.ts';
import { signInOperations } from './session-api.ts';
import { sessionListOperations } from './sessions-api.ts';
import { findBrowserSession } from './browser-sessions.ts';
import { mountSignIn } from './sign-in.ts';
import { secondFactorOperations } from './second-factor/api.ts';
import { mountSecondFactor } from './second-factor/pages.ts';
import { mountSignInCode } from './second-factor/sign-in-page.ts';

export interface OpenPeopleOptions {
  store: Store;
  secret: Secret;
  mailer: Mailer;
  /** Notified when a user's access is reduced. */
  accessChanges: AccessChanges;
  /** Runs in the write that creates an account. */
  onAccount?: ((tx: Tx, accountId: string, at: number) => Promise<void>) | undefined;
  firstRunFile?: FirstRunFile | undefined;
  settings: {
    baseUrl: string;
    signup: SignUp;
    mail: boolean;
    operatorsNeedSecondFactor: boolean;
  } & EulaOptions['settings'];
  clock: Clock;
  log: Log;
  onClose: OnClose;
}

/** Identifies a caller by their credential. */
export interface KnownBy {
  findPrincipal: FindPrincipal;
  findApp: FindApp;
  findSession: Browsers['findSession'];
}

export interface PeopleRoom {
  people: People;
  grants: Grants;
  eula: Eula;
  knownBy: KnownBy;
  /** Returns the path of the sign-in page that leads on to `wanted`. */
  signInPath: (wanted: string) => string;
  feature: Feature;
}

/** Opens users with their sessions and keys, apps, device grants, invitations, and accepted EULAs. */
export function openPeople(options: OpenPeopleOptions): PeopleRoom {
  const { store, secret, mailer, accessChanges, onAccount, firstRunFile, settings, clock, log, onClose } = options;
  const people: People = {
    store,
    clock,
    log,
    mailer,
    loginLimits: createLoginLimits(clock),
    accessChanges,
    secret,
    runBehind: createRunBehind(log, onClose),
    ...(firstRunFile && { firstRunFile }),
    ...(onAccount && { onAccount }),
    config: { baseUrl: settings.baseUrl, signup: settings.signup, mail: settings.mail },
  };
  const grants = createGrants({ store, clock, secret, log });
  const eula = createEula({ store, clock, settings });
  const knownBy: KnownBy = {
    findPrincipal: (key) => authenticate(store, clock, key),
    findApp: (token) => authenticateApp(store, clock, token),
    findSession: (token) => findBrowserSession(store, clock, token, settings),
  };
  return { people, grants, eula, knownBy, signInPath, feature: peopleFeature({ people, grants, eula }) };
}

function peopleFeature({ people, grants, eula }: Pick<PeopleRoom, 'people' | 'grants' | 'eula'>): Feature {
  const { store, clock } = people;
  const granting = { ...people, grants, guessLimit: createGuessLimit(clock) };
  const devices = { ...people, grants, startLimit: createStartLimit({ store, clock }) };
  return {
    operations: [
      ...whoAmIOperations({ findUser: (id) => getUser(store, id) }),
      ...eulaOperations({ eula }),
      ...clientOperations(people),
      ...signInOperations(people),
      ...recoveryOperations(people),
      ...secondFactorOperations(people),
      ...sessionListOperations(people),
      ...keyOperations(people),
      ...connectedAppOperations(people),
      ...invitationOperations(people),
      ...deviceOperations(granting),
      ...deviceGrantOperations(devices),
      ...oauthOperations(devices),
    ],
    pages(serve) {
      mountHome(serve, people);
      mountSignIn(serve, people);
      mountSignInCode(serve, people);
      mountPasswordReset(serve, people);
      mountVerifyEmail(serve, people);
      mountDevice(serve, granting);
      mountProfile(serve, people);
      mountSecondFactor(serve, people);
      mountKeys(serve, people);
      mountApps(serve, people);
      mountSessions(serve, people);
      mountInvitations(serve, people);
    },
  };
}
