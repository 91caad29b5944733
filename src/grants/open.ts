import type { Accounts } from '../accounts/accounts.ts';
import type { FindApp } from '../http/auth.ts';
import type { Log } from '../kernel/log.ts';
import type { Feature } from '../web/feature.ts';
import { authenticateApp } from './app-tokens.ts';
import { clientOperations } from './clients-api.ts';
import { connectedAppOperations } from './connected-apps-api.ts';
import { mountApps } from './connected-apps-pages.ts';
import { deviceOperations } from './consent-api.ts';
import { deviceGrantOperations } from './device-api.ts';
import { mountDevice } from './device-pages.ts';
import { Grants } from './grants.ts';
import { GuessLimit, StartLimit } from './limits.ts';
import { oauthOperations } from './oauth-api.ts';

export interface GrantsRoom {
  grants: Grants;
  /** Identifies an app and its user by the app's token. */
  findApp: FindApp;
  feature: Feature;
}

/** Opens device grants, OAuth for registered apps, and the apps that users have connected. */
export function openGrants(accounts: Accounts, log: Log): GrantsRoom {
  const { store, clock, secret, post } = accounts;
  const grants = new Grants({ store, clock, secret, log });
  const granting = { ...accounts, grants, guessLimit: new GuessLimit(clock) };
  const config = { baseUrl: post.baseUrl };
  const devices = { grants, startLimit: new StartLimit(store, clock), store, clock, config };
  return {
    grants,
    findApp: (token) => authenticateApp(store, clock, token),
    feature: {
      operations: [
        ...clientOperations(accounts),
        ...connectedAppOperations(accounts),
        ...deviceOperations(granting),
        ...deviceGrantOperations(devices),
        ...oauthOperations(devices),
      ],
      pages(serve) {
        mountDevice(serve, granting);
        mountApps(serve, accounts);
      },
    },
  };
}
