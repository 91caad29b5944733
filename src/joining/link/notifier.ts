import { isDeepStrictEqual } from 'node:util';
import type { Nameless } from '../../../proxy/hostname.ts';
import {
  type BannedAddress,
  type Channel,
  type FromService,
  type LinkedRoute,
  inParts,
} from '../../../proxy/link/messages.ts';
import type { Route } from '../../../proxy/ports.ts';

/** The current routes and their changes. */
export interface RouteFeed {
  hosts(): string[];
  at(host: string): Route | undefined;
  /** Returns the route for players who name no server; null without one. */
  nameless(): Nameless | null;
  /**
   * Registers a listener for the host of each route that changes, appears or disappears. Returns a function that
   * removes it.
   */
  follow(listener: (host: string) => void): () => void;
}

/** Address bans of running games. */
export interface BanFeed {
  all(): Iterable<readonly [serverId: string, list: readonly BannedAddress[]]>;
  of(serverId: string): readonly BannedAddress[];
  follow(listener: (serverId: string) => void): () => void;
  /** Checks again after the known bans of a server turned out to be out of date. */
  refresh(serverId: string): void;
}

/** Number of hosts processed before other work gets a turn. */
const AT_ONCE = 200;

/**
 * Sends one proxy, over one connection, all routes and bans and then their changes: only the latest state of each, and
 * no faster than the proxy reads.
 */
export class Notifier {
  readonly #channel: Channel;
  readonly #routes: RouteFeed;
  readonly #bans: BanFeed;
  readonly #later: (run: () => void) => void;
  readonly #unfollow: (() => void)[];
  readonly #hosts = new Set<string>();
  readonly #servers = new Set<string>();
  /** The state last sent to the proxy, by host. */
  readonly #statuses = new Map<string, string | null>();
  #nameless: Nameless | null | undefined;
  #isGathering = false;
  #isBusy = false;
  #isOver = false;

  /** `later` collects changes for a moment. */
  constructor(channel: Channel, routes: RouteFeed, bans: BanFeed, later: (run: () => void) => void) {
    this.#channel = channel;
    this.#routes = routes;
    this.#bans = bans;
    this.#later = later;
    this.#unfollow = [
      routes.follow((host) => this.#note(this.#hosts, host)),
      bans.follow((serverId) => this.#note(this.#servers, serverId)),
    ];
  }

  /** Sends everything once, then the changes since. */
  async notifyAll(): Promise<void> {
    this.#isBusy = true;
    const hosts = this.#routes.hosts();
    for (let at = 0; at < hosts.length && !this.#isOver; at += AT_ONCE) {
      this.#tellRoutes(hosts.slice(at, at + AT_ONCE).filter((host) => this.#routes.at(host) !== undefined));
      await this.#channel.room();
    }
    this.#tellNameless();
    for (const [server, list] of this.#bans.all()) {
      this.#send({ type: 'bans', server, list: [...list] });
      await this.#channel.room();
    }
    this.#send({ type: 'whole' });
    this.#isBusy = false;
    this.flush();
  }

  /** Sends pending changes now; no-op until everything has been sent once. */
  flush(): void {
    if (this.#isBusy || this.#isOver || this.#hosts.size + this.#servers.size === 0) return;
    const [hosts, servers] = [[...this.#hosts], [...this.#servers]];
    this.#hosts.clear();
    this.#servers.clear();
    this.#tellRoutes(hosts);
    this.#tellNameless();
    for (const server of servers) this.#send({ type: 'bans', server, list: [...this.#bans.of(server)] });
    this.#isBusy = true;
    void this.#channel.room().then(() => {
      this.#isBusy = false;
      this.flush();
    });
  }

  close(): void {
    this.#isOver = true;
    for (const unfollow of this.#unfollow) unfollow();
  }

  #note(changed: Set<string>, id: string): void {
    changed.add(id);
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#later(() => {
      this.#isGathering = false;
      this.flush();
    });
  }

  #tellRoutes(hosts: readonly string[]): void {
    const list = hosts.map((host): [string, LinkedRoute | null] => [host, this.#linked(host)]);
    for (const part of inParts(list)) this.#send({ type: 'routes', list: part });
  }

  #tellNameless(): void {
    const nameless = this.#routes.nameless();
    if (isDeepStrictEqual(nameless, this.#nameless)) return;
    this.#nameless = nameless;
    this.#send({ type: 'routes', list: [], nameless });
  }

  #linked(host: string): LinkedRoute | null {
    const route = this.#routes.at(host);
    if (route === undefined) {
      this.#statuses.delete(host);
      return null;
    }
    const { lastStatus, ...rest } = route;
    if (this.#statuses.get(host) === lastStatus) return rest;
    this.#statuses.set(host, lastStatus);
    return route;
  }

  #send(message: FromService): void {
    if (!this.#isOver) this.#channel.send(JSON.stringify(message));
  }
}
