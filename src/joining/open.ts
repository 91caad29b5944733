/**
 * Decides who can join and what the server list shows. A status ping never wakes a server, and players who must not join
 * cannot wake one.
 */
import type { IncomingMessage } from 'node:http';
import { distance } from 'fastest-levenshtein';
import type { LostGames } from '../engines/lost-games.ts';
import type { Pinger } from '../engines/pinger.ts';
import { createPlayerFiles } from '../game/players/files.ts';
import { homeHost } from '../kernel/ip.ts';
import type { Log } from '../kernel/log.ts';
import { createKeyedMutex } from '../kernel/mutex.ts';
import { isContainer } from '../kernel/process-identity.ts';
import type { Addresses, FallbackServer } from '../servers/api/addresses.ts';
import type { ServerView } from '../servers/api/view.ts';
import type { Presence } from '../servers/presence.ts';
import { listRoutes } from '../servers/rows.ts';
import type { ServerBlocks } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import type { Shared } from '../servers/shared.ts';
import { getMeta, setMeta } from '../store/meta.ts';
import type { Store } from '../store/store.ts';
import type { Feature } from '../web/feature.ts';
import { type WakePolicies, createJoinPolicy, openWakePolicies } from './join-policy.ts';
import type { ProxySettings } from './link/child-process.ts';
import { openProxies } from './link/open-proxies.ts';
import { listEntry } from './list-entry.ts';
import { mountStatus } from './pages.ts';
import { nameOperations } from './names-api.ts';
import { mountNames } from './names-pages.ts';
import { networkOperations } from './network-api.ts';
import { mountNetwork } from './network-pages.ts';
import type { OwnNames } from './own-names.ts';
import { noticePlayers } from './player-notices.ts';
import { publicSettingOperations } from './public-setting-api.ts';
import { publicStatusOperations } from './public-status-api.ts';
import { type PublicStatuses, createPublicStatusReader, openPublicStatuses } from './public-status.ts';
import { Routing } from './routing.ts';
import { mountJoiningSettings, mountPublicSettings } from './settings-pages.ts';
import { Translators } from './translators.ts';
import { TryJoins } from './try-joins.ts';
import { mountTryJoin } from './try-join-page.ts';
import { wakePolicyOperations } from './wake-policy-api.ts';

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

const LOCALHOST_KEY = 'localhost-server';

/** Loads and stores the server at `localhost`, so that it stays there. */
async function keptLocalhost(store: Store, log: Log) {
  const changed = (id: string) => {
    store
      .write((tx) => setMeta(tx, LOCALHOST_KEY, id))
      .catch((err: unknown) => log.warn({ server: id, err }, 'the server at localhost could not be stored'));
  };
  return { id: await getMeta(store, LOCALHOST_KEY), changed };
}

/** Largest number of mistyped letters for which a similar id is suggested. */
const MOST_SLIPS = 3;

/**
 * Watches whether the configured default server exists. Logs a warning if it is missing at the start, or when it is
 * deleted. `id`: as set by DEFAULT_SERVER; '' if unset. `ids` returns the ids of all servers.
 */
export function watchDefaultServer(servers: Servers, log: Log, id: string, ids: () => readonly string[]) {
  /** Returns a problem for the operator as a sentence; undefined if the server exists or none is set. */
  function trouble(): string | undefined {
    const known = ids();
    if (id === '' || known.includes(id)) return undefined;
    const [near] = known
      .map((each) => ({ each, slips: distance(each, id) }))
      .filter(({ slips }) => slips <= MOST_SLIPS)
      .toSorted((one, other) => one.slips - other.slips);
    const maybe = near === undefined ? '' : ` Did you mean ${near.each}?`;
    return `DEFAULT_SERVER is ${id}, but no server has that id. Players who enter no server name can't join.${maybe}`;
  }

  function warn(): void {
    const sentence = trouble();
    if (sentence !== undefined) log.warn({ server: id }, sentence);
  }

  warn();
  const unobserve = servers.observe((changed, now) => {
    if (changed === id && now === null) warn();
  });
  return { trouble, close: unobserve };
}

/**
 * Opens the view of players and other strangers on the servers. Call it before any server can change. `lostGames`: the
 * games on unresponsive machines, if games run on several. Servers are at names below `publicHost`.
 */
export async function openJoining(
  shared: Shared,
  presence: Presence,
  lostGames: LostGames | undefined,
  pinger: Pinger,
  settings: ProxySettings & { publicHost: string; defaultServer: string },
) {
  const { store, servers, clock, log, onClose } = shared;
  const { dataDir, publicHost, defaultServer } = settings;
  const publicStatuses = await openPublicStatuses(store);
  const wakePolicies = await openWakePolicies(store);
  servers.observe((id, now) => now ?? [publicStatuses, wakePolicies, presence].forEach((known) => known.forget(id)));
  const playerFiles = createPlayerFiles(dataDir);
  const joinPolicy = createJoinPolicy({ files: playerFiles, policies: wakePolicies, clock, store });
  const sleepers = await listRoutes(store);
  const translators = new Translators(dataDir);
  const localhost = publicHost === 'localhost' ? await keptLocalhost(store, log) : undefined;
  const named = { publicHost, defaultServer, sleepers, localhost };
  const routing = new Routing({ servers, clock, log, joinPolicy, lostGames, translators, ...named });
  onClose(() => routing.close());
  const watched = watchDefaultServer(servers, log, defaultServer, () => routing.ids());
  onClose(() => watched.close());
  const proxies = await openProxies(shared, settings, { routing, joinPolicy, presence });
  onClose(() => proxies.close());
  onClose(noticePlayers(shared, presence, (id) => proxies.players(id)));
  const inContainer = await isContainer();
  const entrance: Entrance = {
    meant: () => routing.meant(),
    // External proxies may be on other machines.
    homeHost: () => (settings.proxy === 'external' ? undefined : homeHost(settings.proxyHost, inContainer)),
    trouble: watched.trouble,
  };
  return {
    publicStatuses,
    wakePolicies,
    /** Shared by everything that reads a game's lists, so that each file is read once. */
    playerFiles,
    /** Closed to players until `open`. */
    proxies,
    joinPolicy,
    entrance,
    bedrock: routing.bedrock,
    listEntry: async (serverId: string) => {
      const route = routing.routeOf(serverId);
      return route && (await listEntry(route, pinger));
    },
    setNames: (serverId: string, names: readonly string[]) => routing.setNames(serverId, names),
  };
}

/** Join policies and public statuses, through the API and on pages. */
export function joiningFeature(
  shared: Shared,
  ownNames: OwnNames,
  room: { publicStatuses: PublicStatuses; wakePolicies: WakePolicies; proxies: { port: () => number } },
  shown: { blocks: ServerBlocks; serverView: ServerView; addresses: Addresses },
  clientAddress: (request: IncomingMessage) => string,
  settings: ProxySettings & { baseUrl: string; networkPorts: { from: number; to: number } },
): Feature {
  const { servers, serveServer, clock } = shared;
  const { publicStatuses, wakePolicies, proxies } = room;
  const { baseUrl, networkPorts } = settings;
  const { serverView, addresses } = shown;
  const read = { publicStatuses, wakePolicies, servers, blocks: shown.blocks, addresses, clock };
  const publicStatusReader = createPublicStatusReader(read);
  const withLock = createKeyedMutex();
  const tryJoins = new TryJoins(shared, settings, () => proxies.port());
  return {
    operations: [
      ...publicSettingOperations({ serveServer, serverView, servers, publicStatuses, clock }),
      ...wakePolicyOperations({ serveServer, servers, wakePolicies, clock, withLock }),
      ...publicStatusOperations({ publicStatusReader }),
      ...nameOperations(shared, ownNames, addresses),
      ...networkOperations(shared, serverView, networkPorts),
    ],
    panel(panel) {
      mountJoiningSettings(panel);
      mountNames(panel);
      mountNetwork(panel);
      mountPublicSettings(panel, baseUrl);
      mountTryJoin(panel, tryJoins);
    },
    pages: (_, router) => mountStatus(router, publicStatusReader, clientAddress, baseUrl),
  };
}
