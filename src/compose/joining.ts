import { createProxy, type Proxy } from '../../proxy/index.ts';
import type { Address } from '../../proxy/ports.ts';
import { createDoor } from '../actors/door.ts';
import type { Presence } from '../actors/presence.ts';
import { createRouting } from '../actors/routing.ts';
import type { Servers } from '../actors/servers.ts';
import { createPlayerFiles } from '../hosting/player-files.ts';
import { openPublicStatuses, type PublicStatuses } from '../hosting/public-statuses.ts';
import { openWakePolicies, type WakePolicies } from '../hosting/wake-policies.ts';
import { listRoutes } from '../store/servers.ts';
import type { Store } from '../store/store.ts';
import type { Startup } from './startup.ts';

/** Which server a player means, and whether they may wake it. */
export interface Joining {
  publicStatuses: PublicStatuses;
  wakePolicies: WakePolicies;
  /** Listens nowhere yet. */
  proxy: Proxy;
}

/** Opens what players and other strangers see of the servers, from the first observed change of any of them on. */
export async function openJoining(
  { config, log, clock, onClose }: Startup,
  { store, servers, presence }: { store: Store; servers: Servers; presence: Presence },
): Promise<Joining> {
  const publicStatuses = await openPublicStatuses(store);
  const wakePolicies = await openWakePolicies(store);
  servers.observe((id, now) => now ?? [publicStatuses, wakePolicies, presence].forEach((known) => known.forget(id)));
  const door = createDoor({ files: createPlayerFiles(config.dataDir), policies: wakePolicies, clock, store });
  servers.checkWakes(door.wakeCap, ['JOIN']);
  const routing = createRouting({
    servers,
    clock,
    log,
    door,
    publicHost: config.publicHost,
    sleepers: await listRoutes(store),
  });
  onClose(() => routing.close());
  const { sessionServerUrl } = config;
  const proxy = createProxy({
    routes: routing,
    wake: routing,
    presence,
    log: log.child({ room: 'proxy' }),
    sessionServerUrl,
  });
  return { publicStatuses, wakePolicies, proxy };
}

/** Lets players in. Rejects where the port cannot be had. */
export async function listenPlayers({ config, onClose }: Startup, { proxy }: Pick<Joining, 'proxy'>): Promise<Address> {
  onClose(() => proxy.close());
  return proxy.listen(config.proxyHost, config.proxyPort);
}
