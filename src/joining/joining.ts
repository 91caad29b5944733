/**
 * Decides who can join and what the server list shows. Neither a status ping nor a player who must not join can
 * wake a server.
 */
import { type PlayerFiles, createPlayerFiles } from '../game/players/files.ts';
import type { LostGames } from '../engines/lost-games.ts';
import { homeHost } from '../kernel/home-address.ts';
import type { Log } from '../kernel/log.ts';
import { isContainer } from '../kernel/process-identity.ts';
import type { FallbackServer } from '../servers/api/addresses.ts';
import type { Presence } from '../servers/presence.ts';
import { listRoutes } from '../servers/rows.ts';
import type { Shared } from '../servers/shared.ts';
import { getMeta, setMeta } from '../store/meta.ts';
import type { Store } from '../store/store.ts';
import { watchDefaultServer } from './default-server.ts';
import { type JoinPolicy, createJoinPolicy, type WakePolicies, openWakePolicies } from './join-policy.ts';
import { type OpenedProxies, type ProxySettings, openProxies } from './link/open-proxies.ts';
import { type PublicStatuses, openPublicStatuses } from './public-status.ts';
import { type RoutingOptions, createRouting } from './routing.ts';
import { createTranslators } from './translators.ts';

/** The addresses at which players find the service. */
export interface Entrance {
  /** Returns the server for players who name none; undefined without one. */
  meant: () => FallbackServer | undefined;
  /**
   * Returns this machine's host name in the home network; undefined if there is no such network or it is closed to
   * players.
   */
  homeHost: () => string | undefined;
  /** Returns the problem of the settings as a sentence for operators; undefined without one. */
  trouble: () => string | undefined;
}

/** Routes players to servers and decides whether they can wake them. */
export interface Joining {
  publicStatuses: PublicStatuses;
  wakePolicies: WakePolicies;
  /** Shared by everything that reads a game's lists, so that each file is read once. */
  playerFiles: PlayerFiles;
  /** Closed to players until `open`. */
  proxies: OpenedProxies;
  joinPolicy: JoinPolicy;
  entrance: Entrance;
}

export interface JoiningOptions extends Shared {
  presence: Presence;
  /** The games on unresponsive machines, if games run on several. */
  lostGames?: LostGames | undefined;
  /** Servers are at names below `publicHost`. */
  settings: ProxySettings & { publicHost: string; defaultServer: string };
}

const LOCALHOST_KEY = 'localhost-server';

/** Loads and stores the server at `localhost`, so that it stays there. */
async function keptLocalhost(store: Store, log: Log): Promise<NonNullable<RoutingOptions['localhost']>> {
  const changed = (id: string) => {
    store
      .write((tx) => setMeta(tx, LOCALHOST_KEY, id))
      .catch((err: unknown) => log.warn({ server: id, err }, 'the server at localhost could not be stored'));
  };
  return { id: await getMeta(store, LOCALHOST_KEY), changed };
}

/** Opens the view of players and other strangers on the servers. Call it before any server can change. */
export async function openJoining(options: JoiningOptions): Promise<Joining> {
  const { store, servers, presence, lostGames, clock, log, onClose, settings } = options;
  const { dataDir, publicHost, defaultServer } = settings;
  const publicStatuses = await openPublicStatuses(store);
  const wakePolicies = await openWakePolicies(store);
  servers.observe((id, now) => now ?? [publicStatuses, wakePolicies, presence].forEach((known) => known.forget(id)));
  const playerFiles = createPlayerFiles(dataDir);
  const joinPolicy = createJoinPolicy({ files: playerFiles, policies: wakePolicies, clock, store });
  const sleepers = await listRoutes(store);
  const translators = createTranslators(dataDir);
  const localhost = publicHost === 'localhost' ? await keptLocalhost(store, log) : undefined;
  const named = { publicHost, defaultServer, sleepers, ...(localhost && { localhost }) };
  const routing = createRouting({ servers, clock, log, joinPolicy, lostGames, translators, ...named });
  onClose(() => routing.close());
  const isDefaultThere = watchDefaultServer({ id: defaultServer, ids: () => routing.ids(), servers, log });
  onClose(() => isDefaultThere.close());
  const ofProxy = log.child({ room: 'proxy' });
  const proxies = await openProxies({ settings, routing, servers, joinPolicy, presence, clock, log: ofProxy });
  onClose(() => proxies.close());
  const { trouble } = isDefaultThere;
  const inContainer = await isContainer();
  // External proxies may be on other machines.
  const home = () => (settings.proxy === 'external' ? undefined : homeHost(settings.proxyHost, inContainer));
  const entrance = { meant: () => routing.meant(), homeHost: home, trouble };
  return { publicStatuses, wakePolicies, playerFiles, proxies, joinPolicy, entrance };
}
