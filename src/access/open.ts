import type { Accounts } from '../accounts/accounts.ts';
import type { FindPrincipal } from '../http/auth.ts';
import type { Feature } from '../web/feature.ts';
import { eulaOperations } from './eula-api.ts';
import { Eula } from './eula.ts';
import { invitationOperations } from './invitations-api.ts';
import { mountInvitations, mountJoin } from './invitations-pages.ts';
import { keyOperations } from './keys-api.ts';
import { mountKeys } from './keys-pages.ts';
import { authenticate, forgetKeysOf } from './keys.ts';

export interface AccessRoom {
  eula: Eula;
  /** Identifies the caller of an API key. */
  findPrincipal: FindPrincipal;
  feature: Feature;
}

/** Opens API keys, members with their invitations, and accepted EULAs. */
export function openAccess(accounts: Accounts, settings: { minecraftEula: 'ask' | 'accept' }): AccessRoom {
  const { store, clock, accessChanges } = accounts;
  accessChanges.onAccessChange(({ userId, serverId }) => {
    if (userId !== undefined && serverId === undefined) forgetKeysOf(store, userId);
  });
  const eula = new Eula(store, clock, settings.minecraftEula);
  return {
    eula,
    findPrincipal: (key) => authenticate(store, clock, key),
    feature: {
      operations: [...eulaOperations({ eula }), ...keyOperations(accounts), ...invitationOperations(accounts)],
      pages(serve) {
        mountKeys(serve, accounts);
        mountInvitations(serve, accounts);
        mountJoin(serve, accounts);
      },
    },
  };
}
