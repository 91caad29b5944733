import type { Cause } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import { type Nameless, isNameless } from '../../proxy/hostname.ts';
import {
  type Address,
  type InLine,
  JoinRefused,
  type Player,
  type Route,
  type Routes,
  type Wake,
} from '../../proxy/ports.ts';
import { motdCodes, parseMotd } from '../game/motd/motd.ts';
import { protocolOf } from '../game/protocols.ts';
import { DEFAULT_MAX_PLAYERS } from '../game/properties/properties.ts';
import type { LostGames } from '../engines/lost-games.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError, quotaExceeded } from '../kernel/status.ts';
import type { Meant } from '../servers/api/addresses.ts';
import type { RouteRow } from '../servers/rows.ts';
import { type ServerNow, waitsForRoom } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import { etaSeconds } from '../servers/start-time.ts';
import type { JoinPolicy } from './join-policy.ts';
import { Line } from './line.ts';
import type { RouteFeed } from './link/teller.ts';
import { queueServers } from './queued-servers.ts';
import { kickOf, lostWords, refusalOf, roomWords } from './refusals.ts';
import type { WakePolicy } from './wake-policies.ts';
import type { Translators } from './translators.ts';
import { watchWakeability } from './wakeability.ts';

export interface RoutingOptions {
  servers: Servers;
  clock: Clock;
  log: Log;
  /** A server's name is `<hostname>.<publicHost>`. */
  publicHost: string;
  /** The id of the server that is meant where none is named; default: none is set. */
  defaultServer?: string;
  joinPolicy: Pick<JoinPolicy, 'admit' | 'mayWake' | 'policyOf'>;
  /** Of games on several machines: which are on one that does not answer. */
  lostGames?: LostGames | undefined;
  /** What lets clients of other versions in; default: nothing is known of that. */
  translators?: Translators;
  /** All servers as they are stored. */
  sleepers: RouteRow[];
}

/** Made of Forge or NeoForge, whose mods the client has to have too. */
const NEED_CLIENT_MODS: ReadonlySet<string> = new Set(['forge', 'neoforge', 'mohist', 'magma', 'arclight', 'ketting']);
/** Cores that can have nothing which translates between versions. */
const STRICT_CORES: ReadonlySet<string> = new Set(['sandbox', 'vanilla']);
/** One reading or two may fail. Nobody is sent on to a game that has been silent for longer. */
const SILENT_MS = 25_000;

/**
 * The proxy's two ports, answered from live actors. Every server's route lies ready in memory and is replaced when the
 * server changes, so that a lookup costs one map access.
 */
export function createRouting({
  servers,
  clock,
  log,
  publicHost,
  defaultServer = '',
  joinPolicy,
  lostGames,
  translators,
  sleepers,
}: RoutingOptions): Routes &
  Wake & { feed: RouteFeed; meant: () => Meant | undefined; ids: () => string[]; close(): void } {
  const routes = new Map<string, Route>();
  /** The routes without what is against a wake just now. */
  const plain = new Map<string, Route>();
  const listeners = new Set<(host: string) => void>();
  const names = new Map<string, string>();
  const ages = new Map<string, number>();
  /** The id of the oldest server; undefined: to be looked for. A stranger may ask for names that nobody has all day. */
  let oldest: string | undefined;
  const nameOf = (hostname: string) => `${hostname}.${publicHost}`.toLowerCase();

  const wakeability = watchWakeability({
    servers,
    sleepers: () => [...plain.values()].flatMap(({ serverId, state }) => (state === 'hibernated' ? [serverId] : [])),
    changed: (id) => show(names.get(id) ?? ''),
    look: lookForTranslators,
    clock,
    log,
  });

  for (const sleeper of sleepers) {
    names.set(sleeper.id, nameOf(sleeper.hostname));
    ages.set(sleeper.id, sleeper.createdAt);
    set(nameOf(sleeper.hostname), sleepingRoute(sleeper, joinPolicy.policyOf(sleeper.id)));
  }

  async function lookForTranslators(id: string): Promise<void> {
    const now = translators && (await servers.get(id));
    if (!now || !(await translators?.look(now.row))) return;
    const name = nameOf(now.row.hostname);
    const route = plain.get(name);
    if (route?.serverId === id) set(name, { ...route, protocol: onlyProtocol(now.row, translators) });
  }

  function set(name: string, route: Route | undefined): void {
    if (route === undefined) plain.delete(name);
    else plain.set(name, route);
    show(name);
  }

  function show(name: string): void {
    const known = plain.get(name);
    const route = known && withRefusal(known, wakeability.lineOf(known.serverId));
    const before = routes.get(name);
    if (before === undefined && route === undefined) return;
    // A reading that changes nothing here is no news: answers are kept by their route.
    if (before !== undefined && route !== undefined && isSame(before, route)) return;
    if (route === undefined) routes.delete(name);
    else routes.set(name, route);
    for (const listener of listeners) listener(name);
  }

  const unobserve = servers.observe((id, now) => {
    const before = names.get(id);
    const isGone = now === null || now.state === 'deleting';
    const name = isGone ? undefined : nameOf(now.row.hostname);
    if (name === undefined) {
      names.delete(id);
      translators?.forget(id);
      ages.delete(id);
      oldest = undefined;
    }
    if (before !== undefined && before !== name) set(before, undefined);
    if (isGone || name === undefined) return;
    names.set(id, name);
    if (!ages.has(id)) oldest = undefined;
    ages.set(id, now.row.createdAt);
    set(name, currentRoute(now));
  });

  function currentRoute(now: ServerNow): Route {
    const policy = joinPolicy.policyOf(now.row.id);
    const route = { ...routeOf(now, policy, clock.now()), protocol: onlyProtocol(now.row, translators) };
    if (lostGames?.of(now.row.id) === undefined) return route;
    const { kick, line } = lostWords(now.row.name);
    return { ...route, refusal: kick, asleepLine: line };
  }

  const unfollow = lostGames?.follow((id) => {
    const now = servers.live().find(({ row }) => row.id === id);
    if (now && names.has(id)) set(nameOf(now.row.hostname), currentRoute(now));
  });

  const line = new Line({ servers, clock });
  const entered = (now: ServerNow) => set(nameOf(now.row.hostname), currentRoute(now));
  const unqueue = queueServers({ servers, line, entered, clock, log });

  /** Wakes it, if need be. Rejects with JoinRefused, and with StatusError where a rule is against it. */
  async function knock(serverId: string, player: Player): Promise<void> {
    const cause: Cause = { kind: 'player', id: player.name, note: 'joined' };
    const known = await servers.get(serverId);
    if (known && !isTagged(known.state, 'awake')) await joinPolicy.mayWake(known.row, player);
    if (known && waitsForRoom(known) && (known.context.noRoom?.tryAt ?? 0) > clock.now()) throw noRoomFor(known.row);
    try {
      await servers.send(serverId, { type: 'JOIN', at: clock.now(), cause });
    } catch (error) {
      throw error instanceof StatusError ? error : refusalOf(error);
    }
  }

  /** By its name. */
  function nameless(): Nameless | null {
    const server = meant();
    const host = names.get(server?.id ?? '');
    if (server === undefined || host === undefined) return null;
    return { host, unlessBelow: server.byAnyName ? publicHost.toLowerCase() : null };
  }

  /**
   * The one that is set. On a machine without a name of its own in the DNS, where friends type its address: the only one, by
   * whatever name; among several the oldest, for players on the machine itself.
   */
  function meant(): Meant | undefined {
    if (names.has(defaultServer)) return { id: defaultServer, byAnyName: true };
    if (publicHost !== 'localhost') return undefined;
    if (oldest === undefined)
      for (const [id, at] of ages) if (oldest === undefined || at < (ages.get(oldest) ?? 0)) oldest = id;
    return oldest === undefined ? undefined : { id: oldest, byAnyName: ages.size === 1 };
  }

  function lookup(host: string): Route | undefined {
    const named = routes.get(host);
    if (named) return named;
    const known = nameless();
    return known && isNameless(host, known) ? routes.get(known.host) : undefined;
  }

  return {
    lookup,
    meant,
    ids: () => [...names.keys()],

    feed: {
      hosts: () => [...routes.keys()],
      at: (host) => routes.get(host),
      nameless,
      follow(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },

    admit: (serverId, player) => joinPolicy.admit(serverId, player),

    async wake(serverId: string, player: Player, signal: AbortSignal, inLine?: InLine): Promise<Address> {
      const wake = () => knock(serverId, player);
      const since = clock.now() - (inLine?.waitedMs ?? 0);
      const isFor = { server: serverId, player: player.name, protocol: player.protocol };
      for (;;) {
        try {
          if (!inLine) await wake();
          else await line.enter({ serverId, since, signal, wake, tell: (place) => inLine.tell(place) });
        } catch (error) {
          if (!(error instanceof StatusError)) throw error;
          if (routes.get(names.get(serverId) ?? '')?.state === 'hibernated') wakeability.refused(serverId, error);
          throw refusalOf(error);
        }
        log.info(isFor, `${player.name} waits for ${serverId}`);
        const now = await servers.until(serverId, settled, signal);
        if (now?.context.address) return now.context.address;
        // The server is in line now, and its player with it.
        if (now !== null && waitsForRoom(now) && inLine) continue;
        throw new JoinRefused(now === null ? 'This server is no more.' : kickText(now));
      }
    },

    close() {
      unobserve();
      unfollow?.();
      wakeability.close();
      unqueue();
      line.close();
    },
  };
}

/** A moment ago the engine found no room for it, whatever the books say. */
function noRoomFor({ id }: Pick<RouteRow, 'id'>): StatusError {
  const message = 'No machine had room for this server a moment ago. Try again in a minute.';
  return quotaExceeded('NODE_CAPACITY', `server:${id}`, message);
}

/** A wake has come to its end: the game is ready, or will not be. A stop and a job go on to the start queued behind them. */
function settled(now: ServerNow | null): boolean {
  if (now === null) return true;
  if (now.state === 'starting') return false;
  return now.context.queued === null;
}

function kickText(now: ServerNow): string {
  const { row, state, context } = now;
  if (waitsForRoom(now)) return roomWords(row.name);
  if (state === 'start_failed') {
    const title = context.startFailure?.summary.split('\n')[0] ?? '';
    return `${row.name} could not start.\n${title}\nIts owner can see why and start it again.`;
  }
  if (state === 'installing') return `${row.name} is being set up. Come back in a few minutes.`;
  return `${row.name} was put to sleep. Join again to wake it.`;
}

function isSame(one: Route, other: Route): boolean {
  const { address, ...rest } = one;
  const isAddressSame = address?.host === other.address?.host && address?.port === other.address?.port;
  return isAddressSame && Object.entries(rest).every(([key, value]) => other[key as keyof Route] === value);
}

function sleepingRoute(sleeper: RouteRow, policy: WakePolicy): Route {
  return {
    serverId: sleeper.id,
    name: sleeper.name,
    state: sleeper.state as Route['state'],
    address: null,
    readyAt: null,
    motd: codes(sleeper.motd),
    versionName: sleeper.version,
    maxPlayers: maxPlayers(sleeper.properties),
    phase: '',
    percent: 0,
    etaSeconds: null,
    lastStatus: sleeper.lastStatus === '' ? null : sleeper.lastStatus,
    refusal: '',
    waitingRoom: hasWaitingRoom(sleeper),
    protocol: onlyProtocol(sleeper, undefined),
    ...asleep(policy, sleeper.state),
  };
}

function routeOf(now: ServerNow, policy: WakePolicy, at: number): Omit<Route, 'protocol'> {
  const { row, context } = now;
  const state = stateFor(now);
  const preparing = isTagged(state, 'preparing');
  return {
    serverId: row.id,
    name: row.name,
    state,
    address: context.address,
    readyAt: context.readyAt,
    motd: codes(row.motd),
    versionName: row.version,
    maxPlayers: maxPlayers(row.properties),
    phase: preparing ? context.live.phase : '',
    percent: preparing ? context.live.percent : 0,
    etaSeconds: state === 'starting' ? etaSeconds({ row, context }, at) : null,
    lastStatus: row.lastStatus === '' ? null : row.lastStatus,
    waitingRoom: hasWaitingRoom(row),
    ...asleep(policy, state),
    ...refused(now, at),
  };
}

/** As players meet it. One that stands in line for room is woken by them like one that sleeps, if there is any. */
function stateFor(now: ServerNow): Route['state'] {
  if (waitsForRoom(now)) return 'hibernated';
  return now.state === 'deleting' ? 'stopping' : now.state;
}

/** What of the policy players meet before they knock. */
function asleep(policy: WakePolicy, state: string): Pick<Route, 'asleepMotd' | 'asleepLine' | 'verifies'> {
  const { mode, asleepMotd, maintenanceText } = policy;
  const isClosed = maintenanceText !== '' || mode === 'nobody';
  return {
    asleepMotd: maintenanceText === '' ? codes(asleepMotd) : '',
    asleepLine: codes(maintenanceText).split('\n', 1)[0] || (mode === 'nobody' ? '§7Asleep' : ''),
    verifies: mode === 'verified' && !isClosed && !isTagged(state, 'awake'),
  };
}

/** A sleeping server as the list shows it while a rule keeps everybody from waking it. What its owner says of it stays. */
function withRefusal(route: Route, line: string | undefined): Route {
  if (line === undefined || route.state !== 'hibernated' || route.asleepLine !== '') return route;
  return { ...route, motd: route.asleepMotd || route.motd, asleepMotd: '', asleepLine: line };
}

/** Nobody else is let in: the start would be for nothing. */
function onlyProtocol(
  { id, type, version, clientVersions }: Pick<RouteRow, 'id' | 'type' | 'version' | 'clientVersions'>,
  translators: Translators | undefined,
): number | null {
  const translatesNone = STRICT_CORES.has(type) || translators?.of(id) === false;
  const isStrict = clientVersions === 'own' || (clientVersions === 'auto' && translatesNone);
  return isStrict ? protocolOf(version) : null;
}

/** Clients with mods of their own agree on them with the game, on a connection that nobody else has answered. */
function hasWaitingRoom({ waitingRoom, type }: Pick<RouteRow, 'waitingRoom' | 'type'>): boolean {
  return waitingRoom && !NEED_CLIENT_MODS.has(type);
}

function codes(motd: string): string {
  return motd === '' ? '' : motdCodes(parseMotd(motd), { anyColor: true });
}

function maxPlayers(properties: Record<string, string>): number {
  return Number(properties['max-players']) || DEFAULT_MAX_PLAYERS;
}

/** A refusal has a line of its own in the server list: what the owner says of it asleep is none. */
function refused(now: ServerNow, at: number): Pick<Route, 'refusal'> & Partial<Pick<Route, 'asleepLine'>> {
  const refusal = refusalText(now, at);
  return refusal === '' ? { refusal } : { refusal, asleepLine: '' };
}

/** What a player who joins now is told; '' where they may come in, or wake it. */
function refusalText(now: ServerNow, at: number): string {
  const { row, state, context } = now;
  if (state === 'installing') return kickText(now);
  if (state === 'install_failed') return kickOf('SERVER_INSTALL_FAILED') ?? '';
  const { silentSince = null } = context.live;
  if (state !== 'running' || silentSince === null || at - silentSince < SILENT_MS) return '';
  return `${row.name} does not answer right now.\nIf it stays so it is started again. Try again in a few minutes.`;
}
