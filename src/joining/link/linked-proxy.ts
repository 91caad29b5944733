import type { Channel, FromProxy, FromService, Hello, Here } from '../../../proxy/link/messages.ts';
import type { ProxyStats } from '../../../proxy/index.ts';
import type { Address, Player } from '../../../proxy/ports.ts';
import type { ProxyView } from './proxies.ts';
import type { Notifier } from './notifier.ts';

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
