import { type Nameless, isNameless, portOfKey } from '../hostname.ts';
import { JoinRefused, type Player, type Route, type Routes } from '../ports.ts';
import type { BannedAddress, FromService, LinkedRoute } from './messages.ts';

interface Known {
  routes: Map<string, Route>;
  /** The ports of private backends. */
  ports: Set<number>;
  bans: Map<string, readonly BannedAddress[]>;
  /** The server reachable without a name; null if no server is. */
  nameless: Nameless | null;
}

/**
 * The state last sent by the service: its routes and the bans of running games. While the service is away, routes omit
 * the details that may be outdated: progress, and the refusal of a running game.
 */
export class Mirror implements Routes {
  #known: Known = nothing();
  /** The state received so far from a newly connected service. */
  #next: Known | undefined;
  #isCurrent = false;
  readonly #away = new WeakMap<Route, Route>();
  readonly #now: () => number;
  /** Ready time of running games by host: `said` by the service's clock, `at` by this machine's. */
  readonly #ready = new Map<string, { said: number; at: number }>();

  /** `now`: epoch ms. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Whether the service is connected and has sent its complete state. */
  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  /** The ports of private backends, as of now. */
  get ports(): ReadonlySet<number> {
    return this.#known.ports;
  }

  lookup(host: string): Route | undefined {
    const { routes, nameless } = this.#known;
    const route = routes.get(host) ?? (nameless && isNameless(host, nameless) ? routes.get(nameless.host) : undefined);
    return route === undefined || this.#isCurrent ? route : this.#whileAway(route);
  }

  /** Applies the last known bans, without a request to the service. Throws JoinRefused if the player is banned. */
  admit(serverId: string, { ip }: Player, at: number): void {
    const [plain] = ip.split('%', 1);
    const bans = this.#known.bans.get(serverId) ?? [];
    const ban = bans.find(([banned, until]) => banned === plain && (until === null || until > at));
    if (ban) throw new JoinRefused(ban[2]);
  }

  /** Starts receiving a new complete state. The known state stays in force until the new one is complete. */
  begin(): void {
    this.#next = nothing();
    this.#isCurrent = false;
  }

  take({ list, nameless }: Omit<FromService & { type: 'routes' }, 'type'>): void {
    const { routes, ports } = this.#next ?? this.#known;
    for (const [host, linked] of list) {
      const readyAt = this.#readyAt(host, linked?.readyAt ?? null);
      const port = portOfKey(host);
      if (port !== undefined) ports[linked === null ? 'delete' : 'add'](port);
      if (linked === null) routes.delete(host);
      else routes.set(host, complete({ ...linked, readyAt }, routes.get(host), this.#known.routes.get(host)));
    }
    if (nameless !== undefined) (this.#next ?? this.#known).nameless = nameless;
  }

  ban(serverId: string, list: readonly BannedAddress[]): void {
    const { bans } = this.#next ?? this.#known;
    if (list.length > 0) bans.set(serverId, list);
    else bans.delete(serverId);
  }

  whole(): void {
    this.#known = this.#next ?? this.#known;
    this.#next = undefined;
    this.#isCurrent = true;
    for (const host of this.#ready.keys()) if (!this.#known.routes.has(host)) this.#ready.delete(host);
  }

  leave(): void {
    this.#next = undefined;
    this.#isCurrent = false;
  }

  /**
   * Converts a ready time to this machine's clock, which may differ from the service's. A new ready time outside of a
   * complete state means that the game has become ready just now.
   */
  #readyAt(host: string, said: number | null): number | null {
    const known = this.#ready.get(host);
    if (said !== null && said === known?.said) return known.at;
    this.#ready.delete(host);
    if (said === null) return null;
    const at = this.#next === undefined ? this.#now() : Math.min(said, this.#now());
    this.#ready.set(host, { said, at });
    return at;
  }

  /** Always returns the same object for the same route, because answers are cached by route object. */
  #whileAway(route: Route): Route {
    const known = this.#away.get(route);
    if (known) return known;
    const shown = whileAway(route);
    this.#away.set(route, shown);
    return shown;
  }
}

function nothing(): Known {
  return { routes: new Map(), ports: new Set(), bans: new Map(), nameless: null };
}

/** Adds the last status to a route. Statuses are long and rarely change, so an equal stored string is reused. */
function complete(linked: LinkedRoute, before: Route | undefined, old: Route | undefined): Route {
  const { lastStatus = before?.lastStatus ?? null } = linked;
  return { ...linked, lastStatus: lastStatus === old?.lastStatus ? old.lastStatus : lastStatus };
}

/**
 * Returns the route without its progress, which is unknown now, and without the refusal of a running (hung) game: a
 * player who joins will find out.
 */
function whileAway(route: Route): Route {
  const refusal = route.state === 'running' ? '' : route.refusal;
  return { ...route, phase: '', percent: -1, etaSeconds: null, refusal };
}
