import type { ProxyStats } from '../../../proxy/index.ts';
import type { Channel, FromProxy, FromService, Hello, Here } from '../../../proxy/link/messages.ts';
import type { Address, Player } from '../../../proxy/ports.ts';
import type { Notifier } from './notifier.ts';

/** One proxy, as operators see it. */
export interface ProxyView {
  id: string;
  name: string;
  version: string;
  /** Epoch ms. */
  since: number;
  /** The address players connect to; null while the proxy accepts none. */
  listening: Address | null;
  /** Accepts no new players and ends when the last one has left. */
  draining: boolean;
  connected: boolean;
  players: number;
  held: number;
  /** Round-trip time in ms; null if unknown. */
  lagMs: number | null;
}

/** All proxies of this service, as one. */
export interface Proxies {
  /** Opens the service to players. Resolves with the address they connect to. */
  open(): Promise<Address>;
  /** The players joined to this server's game through any proxy. */
  players(serverId: string): readonly Player[];
  /** Totals of all proxies; counters of those that are gone stay included. */
  stats(): ProxyStats;
  /** Returns the port players connect to; before `open`, the configured one. */
  port(): number;
  /** Whether players can connect somewhere. */
  listening(): boolean;
  views(): ProxyView[];
  /** Reports changed address bans of a running game to all proxies. Without this call they notice within seconds. */
  addressBansChanged(serverId: string): void;
  /**
   * Makes the service's own proxy end with its last player. Resolves with a sentence on what keeps running; '' if
   * everything ends.
   */
  farewell(): Promise<string>;
  /** Stops accepting players: an embedded proxy ends, players on others keep playing without the service. */
  shut(): Promise<void>;
  /** Releases everything; call it after `shut`. */
  close(): Promise<void>;
}

/** Returns the combined figures of several proxies. */
export function sumOf(all: readonly ProxyStats[]): ProxyStats {
  const sum: ProxyStats = {
    accepted: 0,
    unrouted: 0,
    held: 0,
    statusAnswers: 0,
    joins: 0,
    kicks: {} as ProxyStats['kicks'],
    piped: 0,
    bytesUp: 0,
    bytesDown: 0,
  };
  for (const { kicks, ...counts } of all) {
    for (const [key, value] of Object.entries(counts)) sum[key as keyof typeof counts] += value;
    for (const [rule, value] of Object.entries(kicks))
      sum.kicks[rule as keyof typeof kicks] = (sum.kicks[rule as keyof typeof kicks] ?? 0) + value;
  }
  return sum;
}

/** Returns the counters of a proxy that is gone, without its players. */
export function countsOf(stats: ProxyStats): ProxyStats {
  return { ...stats, unrouted: 0, held: 0, piped: 0 };
}

/** One connection of a proxy, from its welcome on. */
export interface Link {
  channel: Channel;
  notifier: Notifier;
  /** Wakes by the proxy's number. Each is aborted when the player or the connection is gone. */
  wakes: Map<number, AbortController>;
  /** The players reported so far, until the proxy has reported all. */
  arriving: Map<string, Here> | undefined;
}

/** One proxy with its last report, over any number of successive connections. */
export class LinkedProxy {
  readonly hello: Hello;
  readonly isOwn: boolean;
  link: Link | undefined;
  here = new Map<string, Here>();
  stats: ProxyStats | undefined;
  listening: Address | null;
  draining = false;
  lagMs: number | null = null;

  constructor(hello: Hello, isOwn: boolean) {
    this.hello = hello;
    this.isOwn = isOwn;
    this.listening = hello.listening;
  }

  players(serverId: string): readonly Player[] {
    return this.here.get(serverId)?.players ?? [];
  }

  send(message: FromService): void {
    this.link?.channel.send(JSON.stringify(message));
  }

  takeStats({ stats, listening, draining }: FromProxy & { type: 'stats' }): void {
    this.stats = stats;
    this.listening = listening;
    this.draining = draining;
  }

  view(): ProxyView {
    const { id, name, version, since } = this.hello;
    let players = 0;
    for (const { inside, knocking } of this.here.values()) players += inside + knocking;
    const { listening, draining, link, lagMs } = this;
    const connected = link !== undefined;
    return { id, name, version, since, listening, draining, connected, players, held: this.stats?.held ?? 0, lagMs };
  }
}
