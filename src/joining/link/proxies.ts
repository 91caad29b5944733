import type { ProxyStats } from '../../../proxy/index.ts';
import type { Address, Player } from '../../../proxy/ports.ts';

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
  /** The way to it and back, ms; null where that is not known. */
  lagMs: number | null;
}

/** All proxies of this service, as one. */
export interface Proxies {
  /** Lets players in from now on; resolves with where they connect. */
  open(): Promise<Address>;
  /** The players joined to this server's game through any proxy. */
  players(serverId: string): readonly Player[];
  /** Totals of all proxies; counters of those that are gone stay included. */
  stats(): ProxyStats;
  /** The port players connect to; until `open`, the one that is set. */
  port(): number;
  /** Whether players can connect somewhere. */
  listening(): boolean;
  views(): ProxyView[];
  /** Has all proxies know soon whose addresses a running game bans; they would find out by themselves within seconds. */
  addressBansChanged(serverId: string): void;
  /** Has the service's own proxy end with its last player. Resolves with a sentence on what lives on; '' for nothing. */
  farewell(): Promise<string>;
  /** Stops accepting players: an embedded proxy ends, players on others keep playing without the service. */
  shut(): Promise<void>;
  /** Lets go of everything; after `shut`. */
  close(): Promise<void>;
}

/** Figures of several proxies as those of one. */
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

/** The counters of a proxy that has gone, without its players. */
export function countsOf(stats: ProxyStats): ProxyStats {
  return { ...stats, unrouted: 0, held: 0, piped: 0 };
}
