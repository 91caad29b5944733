import type { Cause } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import { type Nameless, isNameless, keyOfPort } from '../../proxy/hostname.ts';
import {
  type Address,
  type InLine,
  JoinRefused,
  type Player,
  type Route,
  type Routes,
  type Wake,
} from '../../proxy/ports.ts';
import { statusLines } from '../../proxy/status.ts';
import type { LostGames } from '../engines/lost-games.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError, quotaExceeded } from '../kernel/status.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import type { FallbackServer } from '../servers/api/addresses.ts';
import type { RouteRow, ServerRow } from '../servers/rows.ts';
import { type ServerNow, waitsForRoom } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import type { JoinPolicy } from './join-policy.ts';
import { Line } from './line.ts';
import type { RouteFeed } from './link/notifier.ts';
import { queueServers } from './queued-servers.ts';
import { NO_ROOM, lostWords, refusalOf } from './refusals.ts';
import { isSame, kickText, onlyProtocol, routeOf, sleepingRoute, withRefusal } from './route.ts';
import type { Translators } from './translators.ts';
import { type Wakeability, watchWakeability } from './wakeability.ts';

/** The view of a sleeping server for players of the Bedrock edition. */
export interface BedrockJoins {
  /** Returns the entry of a server in server lists; undefined if there is no such server. `§` codes are in its lines. */
  shown(serverId: string): { lines: readonly string[]; maxPlayers: number } | undefined;
  /** Wakes a server for a player at an address. Rejects with JoinRefused. */
  wake(serverId: string, ip: string): Promise<void>;
}

/** The cause of a wake by a player of the Bedrock edition, who has no name before the game answers. */
const BEDROCK: Cause = { kind: 'player', id: 'A Bedrock player', note: 'joined' };

/**
 * Answers the proxy's two ports from live actors. Each server's route is held in memory and replaced when the server
 * changes, so a lookup is one map access.
 */
export class Routing implements Routes, Wake {
  readonly feed: RouteFeed = {
    hosts: () => [...this.#routes.keys()],
    at: (host) => this.#routes.get(host),
    nameless: () => this.#nameless(),
    follow: (listener) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    },
  };
  readonly bedrock: BedrockJoins = {
    shown: (serverId) => {
      const route = this.routeOf(serverId);
      return route && { lines: statusLines(route), maxPlayers: route.maxPlayers };
    },
    wake: async (serverId, ip) => {
      // Only the front wakes a private backend.
      if (!this.#ages.has(serverId)) throw refusalOf(serverNotFound(serverId));
      try {
        await this.#knock(serverId, BEDROCK, (row) => this.#joinPolicy.mayWakeUnnamed(row, ip));
      } catch (error) {
        throw this.#refused(serverId, error);
      }
    },
  };
  readonly #servers: Servers;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #joinPolicy: JoinPolicy;
  readonly #lostGames: LostGames | undefined;
  readonly #translators: Translators | undefined;
  readonly #publicHost: string;
  readonly #defaultServer: string;
  readonly #localhostChanged: ((id: string) => void) | undefined;
  readonly #routes = new Map<string, Route>();
  /** Routes without the present refusals of wakes. */
  readonly #plain = new Map<string, Route>();
  readonly #listeners = new Set<(host: string) => void>();
  readonly #names = new Map<string, string>();
  /** Further names by server, without those of other servers. Each has the same route as the server's own name. */
  readonly #aliases = new Map<string, readonly string[]>();
  /** When each public server was created. Private backends are at no name, and no default server. */
  readonly #ages = new Map<string, number>();
  /**
   * The id of the oldest server; undefined until it is looked up. Cached because strangers may look up unknown names at
   * any rate.
   */
  #oldest: string | undefined;
  /**
   * The id of the server at `localhost`. Once it is deleted, the next new server takes its place: addresses of existing
   * servers never change.
   */
  #atLocalhost: string | undefined;
  readonly #wakeability: Wakeability;
  readonly #line: Line;
  readonly #onClose: readonly (() => void)[];

  constructor({
    servers,
    clock,
    log,
    joinPolicy,
    lostGames,
    translators,
    publicHost,
    defaultServer = '',
    localhost,
    sleepers,
  }: {
    servers: Servers;
    clock: Clock;
    log: Log;
    joinPolicy: JoinPolicy;
    /** The games on unresponsive machines, if games run on several. */
    lostGames?: LostGames | undefined;
    /** Knows which servers accept other client versions. Default: unknown for all. */
    translators?: Translators;
    /** Servers are at `<hostname>.<publicHost>`. */
    publicHost: string;
    /** The id of the server for players who name none; default: unset. */
    defaultServer?: string;
    /**
     * The stored id of the server at `localhost`. `changed` is called when another server gets that address. Absent:
     * the id is not stored.
     */
    localhost?: { id: string | undefined; changed: (id: string) => void } | undefined;
    /** The stored rows of all servers. */
    sleepers: readonly RouteRow[];
  }) {
    this.#servers = servers;
    this.#clock = clock;
    this.#log = log;
    this.#joinPolicy = joinPolicy;
    this.#lostGames = lostGames;
    this.#translators = translators;
    this.#publicHost = publicHost;
    this.#defaultServer = defaultServer;
    this.#localhostChanged = localhost?.changed;
    this.#wakeability = watchWakeability(servers, clock, log, {
      sleepers: () => this.#sleepers(),
      changed: (id) => this.#show(this.#names.get(id) ?? ''),
      look: (id) => this.#lookForTranslators(id),
    });
    for (const sleeper of sleepers) {
      const name = this.#nameOf(sleeper);
      this.#names.set(sleeper.id, name);
      if (sleeper.networkPort === null) this.#ages.set(sleeper.id, sleeper.createdAt);
      this.#set(name, sleepingRoute(sleeper, joinPolicy.policyOf(sleeper.id)));
    }
    if (localhost?.id === undefined) this.#setLocalhost(this.#oldestId());
    else if (this.#ages.has(localhost.id)) this.#atLocalhost = localhost.id;
    const unobserve = servers.observe((id, now) => this.#observed(id, now));
    const unfollow = lostGames?.follow((id) => this.#foundOrLost(id));
    const line = new Line(servers, clock);
    const unqueue = queueServers({ servers, line, entered: (now) => this.#renew(now), clock, log });
    this.#line = line;
    this.#onClose = [unobserve, () => unfollow?.(), () => this.#wakeability.close(), unqueue, () => line.close()];
  }

  lookup(host: string): Route | undefined {
    const named = this.#routes.get(host);
    if (named) return named;
    const known = this.#nameless();
    return known && isNameless(host, known) ? this.#routes.get(known.host) : undefined;
  }

  /**
   * Returns the configured default server. Without one, on a machine without a DNS name, players type the machine's
   * address. They then mean the only server, under any name. Among several, players on the machine itself mean the
   * server at `localhost`, or else the oldest.
   */
  meant(): FallbackServer | undefined {
    const defaultServer = this.#defaultServer;
    if (this.#ages.has(defaultServer)) return { id: defaultServer, byAnyName: true, isAddressed: true };
    if (this.#publicHost !== 'localhost') return undefined;
    const id = this.#atLocalhost ?? this.#oldestId();
    return id === undefined
      ? undefined
      : { id, byAnyName: this.#ages.size === 1, isAddressed: id === this.#atLocalhost };
  }

  /** Sets the further names of a server: whole host names in lower case, which no other server may have. */
  setNames(serverId: string, names: readonly string[]): void {
    const dropped = (this.#aliases.get(serverId) ?? []).filter((name) => !names.includes(name));
    if (names.length === 0) this.#aliases.delete(serverId);
    else this.#aliases.set(serverId, names);
    const own = this.#names.get(serverId);
    for (const name of dropped) if (name !== own) this.#put(name, undefined);
    if (own !== undefined) this.#show(own);
  }

  ids(): string[] {
    return [...this.#names.keys()];
  }

  async admit(serverId: string, player: Player): Promise<void> {
    await this.#joinPolicy.admit(serverId, player);
  }

  async wake(serverId: string, player: Player, signal: AbortSignal, inLine?: InLine): Promise<Address> {
    const cause: Cause = { kind: 'player', id: player.name, note: 'joined' };
    const wake = () => this.#knock(serverId, cause, (row) => this.#joinPolicy.mayWake(row, player));
    const since = this.#clock.now() - (inLine?.waitedMs ?? 0);
    const isFor = { server: serverId, player: player.name, protocol: player.protocol };
    for (;;) {
      try {
        if (!inLine) await wake();
        else await this.#line.enter({ serverId, since, signal, wake, notify: (place) => inLine.notify(place) });
      } catch (error) {
        throw this.#refused(serverId, error);
      }
      this.#log.info(isFor, `${player.name} waits for ${serverId}`);
      const now = await this.#servers.until(serverId, settled, signal);
      if (now?.context.address) return now.context.address;
      // The server has entered the queue, so its player waits there, too.
      if (now !== null && waitsForRoom(now) && inLine) continue;
      throw now === null ? refusalOf(serverNotFound(serverId)) : new JoinRefused(kickText(now));
    }
  }

  close(): void {
    for (const close of this.#onClose) close();
  }

  /** Wakes the server if needed. Rejects with JoinRefused, or with StatusError if a rule refuses. */
  async #knock(serverId: string, cause: Cause, mayWake: (row: ServerRow) => Promise<void>): Promise<void> {
    const known = await this.#servers.get(serverId);
    if (known && !isTagged(known.state, 'awake')) await mayWake(known.row);
    if (known && waitsForRoom(known) && (known.context.noRoom?.tryAt ?? 0) > this.#clock.now())
      throw noRoomFor(known.row);
    try {
      await this.#servers.send(serverId, { type: 'JOIN', at: this.#clock.now(), cause });
    } catch (error) {
      throw error instanceof StatusError ? error : refusalOf(error);
    }
  }

  /** Returns the error for a player whose wake was refused, and shows a rule's refusal in the server list. */
  #refused(serverId: string, error: unknown): unknown {
    if (!(error instanceof StatusError)) return error;
    if (this.routeOf(serverId)?.state === 'hibernated') this.#wakeability.refused(serverId, error);
    return refusalOf(error);
  }

  /** Returns a server's route; undefined if it has none. */
  routeOf(serverId: string): Route | undefined {
    return this.#routes.get(this.#names.get(serverId) ?? '');
  }

  #oldestId(): string | undefined {
    if (this.#oldest === undefined)
      for (const [id, at] of this.#ages)
        if (this.#oldest === undefined || at < (this.#ages.get(this.#oldest) ?? 0)) this.#oldest = id;
    return this.#oldest;
  }

  #setLocalhost(id: string | undefined): void {
    this.#atLocalhost = id;
    if (id !== undefined) this.#localhostChanged?.(id);
  }

  /** Returns the default server's host; null without one. */
  #nameless(): Nameless | null {
    const server = this.meant();
    const host = this.#names.get(server?.id ?? '');
    if (server === undefined || host === undefined) return null;
    return { host, unlessBelow: server.byAnyName ? this.#publicHost.toLowerCase() : null };
  }

  /** Returns the key of a server's route: its host name, or the port of a private backend. */
  #nameOf({ hostname, networkPort }: RouteRow): string {
    if (networkPort !== null) return keyOfPort(networkPort);
    return `${hostname}.${this.#publicHost}`.toLowerCase();
  }

  #sleepers(): string[] {
    return [...this.#plain.values()].flatMap(({ serverId, state }) => (state === 'hibernated' ? [serverId] : []));
  }

  async #lookForTranslators(id: string): Promise<void> {
    const now = this.#translators && (await this.#servers.get(id));
    if (!now || !(await this.#translators?.detect(now.row))) return;
    const name = this.#nameOf(now.row);
    const route = this.#plain.get(name);
    if (route?.serverId === id) this.#set(name, { ...route, protocol: onlyProtocol(now.row, this.#translators) });
  }

  #observed(id: string, now: ServerNow | null): void {
    const before = this.#names.get(id);
    const isGone = now === null || now.state === 'deleting';
    const name = isGone ? undefined : this.#nameOf(now.row);
    const isPublic = !isGone && now.row.networkPort === null;
    if (name === undefined) {
      this.#names.delete(id);
      this.#translators?.forget(id);
    }
    if (!isPublic) this.#hide(id);
    if (before !== undefined && before !== name) this.#set(before, undefined);
    if (isGone || name === undefined) return;
    this.#names.set(id, name);
    if (isPublic && !this.#ages.has(id)) {
      this.#oldest = undefined;
      if (this.#atLocalhost === undefined) this.#setLocalhost(id);
    }
    if (isPublic) this.#ages.set(id, now.row.createdAt);
    this.#renew(now);
  }

  /** Removes what leads players without its own name to a server, and its further names. */
  #hide(id: string): void {
    if (!this.#ages.delete(id)) return;
    this.#oldest = undefined;
    if (this.#atLocalhost === id) this.#atLocalhost = undefined;
    for (const alias of this.#aliases.get(id) ?? []) this.#put(alias, undefined);
  }

  #foundOrLost(id: string): void {
    const now = this.#servers.live().find(({ row }) => row.id === id);
    if (now && this.#names.has(id)) this.#renew(now);
  }

  #renew(now: ServerNow): void {
    this.#set(this.#nameOf(now.row), this.#currentRoute(now));
  }

  #currentRoute(now: ServerNow): Route {
    const policy = this.#joinPolicy.policyOf(now.row.id);
    const route = { ...routeOf(now, policy, this.#clock.now()), protocol: onlyProtocol(now.row, this.#translators) };
    if (this.#lostGames?.of(now.row.id) === undefined) return route;
    const { player, list } = lostWords(now.row.name);
    return { ...route, refusal: player, asleepLine: list };
  }

  #set(name: string, route: Route | undefined): void {
    if (route === undefined) this.#plain.delete(name);
    else this.#plain.set(name, route);
    this.#show(name);
  }

  #show(name: string): void {
    const known = this.#plain.get(name);
    const route = known && withRefusal(known, this.#wakeability.lineOf(known.serverId));
    this.#put(name, route);
    if (!route || !this.#ages.has(route.serverId)) return;
    for (const alias of this.#aliases.get(route.serverId) ?? []) this.#put(alias, this.#routes.get(name));
  }

  #put(name: string, route: Route | undefined): void {
    const before = this.#routes.get(name);
    if (before === undefined && route === undefined) return;
    // Ignore readings that change nothing here: status answers are cached by their route.
    if (before !== undefined && route !== undefined && isSame(before, route)) return;
    if (route === undefined) this.#routes.delete(name);
    else this.#routes.set(name, route);
    for (const listener of this.#listeners) listener(name);
  }
}

/** Returns the refusal for an engine that has just found no room, even if the bookkeeping shows some. */
function noRoomFor({ id }: RouteRow): StatusError {
  const message = 'No machine has capacity for this server right now. Try again in a minute.';
  return quotaExceeded('NODE_CAPACITY', `server:${id}`, message, {}, NO_ROOM);
}

/** Whether a wake has ended: the game is ready, or will not be. A stop or job that a start follows is not the end. */
function settled(now: ServerNow | null): boolean {
  if (now === null) return true;
  if (now.state === 'starting') return false;
  return now.context.queued === null;
}
