import { type Proxy, createProxy } from '../../proxy/index.ts';
import type { Address } from '../../proxy/ports.ts';
import type { Startup } from '../compose/startup.ts';
import { createPlayerFiles } from '../game/players/files.ts';
import type { Presence } from '../servers/presence.ts';
import { listRoutes } from '../servers/rows.ts';
import type { Servers } from '../servers/servers.ts';
import type { Store } from '../store/store.ts';
import { createDoor } from './bans.ts';
import { type PublicStatuses, openPublicStatuses } from './public-statuses.ts';
import { createRouting } from './routing.ts';
import { type WakePolicies, openWakePolicies } from './wake-policies.ts';

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
