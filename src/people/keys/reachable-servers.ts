import type { SessionPrincipal } from '../../http/principal.ts';
import { getServer, listServersByAccount } from '../../servers/rows.ts';
import type { Store } from '../../store/store.ts';
import { listMemberships } from '../members/rows.ts';

/** The servers of somebody's account, and those others have let them into, as far as a list of them needs. */
export async function reachableServers(
  store: Store,
  { accountId, userId }: SessionPrincipal,
): Promise<{ id: string; name: string }[]> {
  const memberships = await listMemberships(store, userId);
  const shared = await Promise.all(memberships.map(({ serverId }) => getServer(store, serverId)));
  return [...(await listServersByAccount(store, accountId)), ...shared]
    .filter((server) => server !== undefined)
    .filter(({ state }) => state !== 'deleting')
    .map(({ id, name }) => ({ id, name }));
}
