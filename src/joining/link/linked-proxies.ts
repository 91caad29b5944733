import {
  type Channel,
  type FromProxy,
  type Hello,
  type Here,
  LINK_PROTOCOL,
  MOST_WAKES,
  inParts,
} from '../../../proxy/link/messages.ts';
import { MOST_VERIFIED } from '../../../proxy/accounts.ts';
import { ExpiringMap } from '../../../proxy/expiring-map.ts';
import type { ProxyStats } from '../../../proxy/index.ts';
import { type Joined, JoinRefused, type Log, type Player, type Presence, type Wake } from '../../../proxy/ports.ts';
import { inRealTime } from '../../../proxy/link/wakes.ts';
import { readFromProxy } from './from-proxy.ts';
import { LinkedProxy, type Link, type ProxyView, countsOf, sumOf } from './proxies.ts';
import { type BanFeed, Notifier, type RouteFeed } from './notifier.ts';

export interface LinkedProxiesOptions {
  routes: RouteFeed;
  bans: BanFeed;
  wake: Wake;
  presence: Presence;
  log: Log;
  logLevel: string;
  /**
   * Collects changes for a moment. Default: for one turn of the event loop, because many players may join a new server
   * at once.
   */
  later?: (run: () => void) => void;
  /** Calls once after the delay and returns the cancellation. Default: real time. */
  after?: (ms: number, fire: () => void) => () => void;
  /** Called with a proxy of an incompatible release. */
  onRefused?: (hello: Hello, isOwn: boolean) => void;
  /** Called when a proxy has reported everything, starts or stops listening, or is gone. */
  onChange?: () => void;
}

/** How long a proxy without a connection keeps its players. */
const GRACE_MS = 15_000;
const MOST_PROXIES = 64;
/** Refused proxies keep retrying; these are remembered so that each is reported once. */
const MOST_REFUSED = 1_000;

/**
 * All proxies linked to this service, presented as one: their players are one list, a wake requested by several is one
 * wake, and a player who must leave is disconnected wherever they joined. Losing a proxy loses only its players.
 */
export class LinkedProxies {
  readonly #options: LinkedProxiesOptions;
  readonly #proxies = new Map<string, LinkedProxy>();
  /** Accounts recently verified by a proxy. A player may return through another one. */
  readonly #verified = new ExpiringMap<{ name: string; ip: string }>(MOST_VERIFIED, () => performance.now());
  /** Pending removals of proxies without a connection, as their cancellations. */
  readonly #graces = new Map<LinkedProxy, () => void>();
  readonly #refused = new Set<string>();
  readonly #opened = Promise.withResolvers<void>();
  /** Counters of proxies that are gone. */
  #counted: ProxyStats = sumOf([]);

  constructor(options: LinkedProxiesOptions) {
    this.#options = options;
  }

  /** Starts to send routes to proxies and to answer wakes. */
  open(): void {
    this.#opened.resolve();
  }

  players(serverId: string): readonly Player[] {
    return [...this.#proxies.values()].flatMap((proxy) => proxy.players(serverId));
  }

  stats(): ProxyStats {
    return sumOf([this.#counted, ...[...this.#proxies.values()].flatMap(({ stats }) => stats ?? [])]);
  }

  views(): ProxyView[] {
    return [...this.#proxies.values()].map((proxy) => proxy.view());
  }

  /** Returns the proxies started by this service, or by an earlier one. */
  own(): LinkedProxy[] {
    return [...this.#proxies.values()].filter(({ isOwn }) => isOwn);
  }

  /** Makes the proxy accept no new players and end with its last one. */
  drain(id: string): void {
    this.#proxies.get(id)?.send({ type: 'drain' });
  }

  /** Reports that the process of this proxy has ended. */
  lost(id: string): void {
    const proxy = this.#proxies.get(id);
    if (proxy) this.#forget(proxy);
  }

  close(): void {
    for (const cancel of this.#graces.values()) cancel();
    for (const { link } of this.#proxies.values()) link?.channel.close();
  }

  /**
   * Adds a trusted connection; `isOwn`: of a process started by a service on this machine. Returns its handlers;
   * `receive` throws if the connection must end.
   */
  connect(channel: Channel, isOwn = false): { receive(text: string): void; closed(): void; lag(ms: number): void } {
    let proxy: LinkedProxy | undefined;
    let link: Link | undefined;
    return {
      receive: (text) => {
        const message = readFromProxy(text);
        if (proxy && link) {
          if (proxy.link === link) this.#receive(proxy, link, message);
        } else {
          [proxy, link] = this.#greet(channel, isOwn, message) ?? [];
        }
      },
      closed: () => {
        if (proxy && link) this.#end(proxy, link);
      },
      lag: (ms) => {
        if (proxy) proxy.lagMs = ms;
      },
    };
  }

  #greet(channel: Channel, isOwn: boolean, hello: FromProxy): [LinkedProxy, Link] | undefined {
    if (hello.type !== 'hello') throw new Error('no hello');
    const reason = this.#objection(hello);
    if (reason !== undefined) {
      if (!this.#refused.has(hello.id))
        this.#options.log.warn({ proxy: hello.name, version: hello.version, reason }, 'refused a proxy');
      if (this.#refused.size < MOST_REFUSED) this.#refused.add(hello.id);
      channel.send(JSON.stringify({ type: 'refused', reason }));
      this.#options.onRefused?.(hello, isOwn);
      return undefined;
    }
    const known = this.#proxies.get(hello.id);
    const proxy = known ?? new LinkedProxy(hello, isOwn);
    this.#proxies.set(hello.id, proxy);
    if (known?.link) this.#end(known, known.link);
    this.#endGrace(proxy);
    const { later = (run) => void setImmediate(run), routes, bans, logLevel } = this.#options;
    const notifier = new Notifier(channel, routes, bans, later);
    const link: Link = { channel, notifier, wakes: new Map(), arriving: new Map() };
    proxy.link = link;
    proxy.listening = hello.listening;
    proxy.send({ type: 'welcome', logLevel });
    void this.#opened.promise.then(() => notifier.notifyAll());
    const verified = this.#verified.all().map(({ value: { name, ip }, forMs }) => ({ name, ip, forMs }));
    for (const accounts of inParts(verified)) proxy.send({ type: 'verified', accounts });
    return [proxy, link];
  }

  #objection({ protocol, version, id }: Hello): string | undefined {
    if (protocol !== LINK_PROTOCOL)
      return (
        `The proxy (${version}) uses version ${protocol} of the link protocol, but the service uses version ` +
        `${LINK_PROTOCOL}. Run both from the same release.`
      );
    if (this.#proxies.size >= MOST_PROXIES && !this.#proxies.has(id))
      return `The service already has ${MOST_PROXIES} proxies, the maximum.`;
    return undefined;
  }

  #receive(proxy: LinkedProxy, link: Link, message: FromProxy): void {
    switch (message.type) {
      case 'hello':
        throw new Error('hello said twice');
      case 'here':
        return message.servers.forEach((here) => this.#arrive(proxy, link, here));
      case 'whole':
        return this.#whole(proxy, link);
      case 'wake':
        return void this.#wake(proxy, link, message);
      case 'cancel':
        return link.wakes.get(message.id)?.abort(new Error('the player has gone'));
      case 'stats': {
        const was = `${proxy.listening?.port} ${proxy.draining}`;
        proxy.takeStats(message);
        if (was !== `${proxy.listening?.port} ${proxy.draining}`) this.#options.onChange?.();
        return;
      }
      case 'verified':
        for (const { name, ip, forMs } of message.accounts) this.#verified.set(`${ip} ${name}`, { name, ip }, forMs);
        for (const other of this.#proxies.values()) if (other !== proxy) other.send(message);
        return;
      case 'log':
        return this.#options.log[message.level]({ ...message.fields, proxy: proxy.hello.name }, message.message);
      default:
        message satisfies never;
    }
  }

  #arrive(proxy: LinkedProxy, link: Link, here: Here): void {
    if (link.arriving) link.arriving.set(here.id, here);
    else this.#change(proxy, here.id, here);
  }

  #whole(proxy: LinkedProxy, link: Link): void {
    const { arriving } = link;
    if (!arriving) return;
    link.arriving = undefined;
    for (const id of proxy.here.keys()) if (!arriving.has(id)) this.#change(proxy, id, undefined);
    for (const [id, here] of arriving) this.#change(proxy, id, here);
    this.#options.onChange?.();
  }

  #change(proxy: LinkedProxy, id: string, here: Here | undefined): void {
    const before = new Set(proxy.players(id).map(({ ip }) => ip));
    if (here && here.inside + here.knocking > 0) proxy.here.set(id, here);
    else proxy.here.delete(id);
    const insideMsAgo = here?.insideMsAgo;
    this.#options.presence.changed(id, { ...this.#joined(id), ...(insideMsAgo !== undefined && { insideMsAgo }) });
    for (const player of proxy.players(id)) {
      if (before.has(player.ip)) continue;
      before.add(player.ip);
      void this.#look(proxy, id, player);
    }
  }

  #joined(serverId: string): Joined {
    const sum = { inside: 0, knocking: 0 };
    for (const { here } of this.#proxies.values()) {
      sum.inside += here.get(serverId)?.inside ?? 0;
      sum.knocking += here.get(serverId)?.knocking ?? 0;
    }
    return sum;
  }

  /** Checks a player admitted by the proxy from its own copy of the bans; the game's file may have changed since. */
  async #look(proxy: LinkedProxy, server: string, player: Player): Promise<void> {
    try {
      await this.#options.wake.admit(server, player);
    } catch (err) {
      if (!(err instanceof JoinRefused)) return this.#options.log.warn({ server, err }, 'could not read bans');
      proxy.send({ type: 'kick', server, ip: player.ip });
      this.#options.bans.refresh(server);
    }
  }

  async #wake(
    proxy: LinkedProxy,
    { wakes, notifier, channel }: Link,
    { id, server, player, waitedMs }: FromProxy & { type: 'wake' },
  ): Promise<void> {
    if (wakes.has(id) || wakes.size >= MOST_WAKES) return;
    const gone = new AbortController();
    wakes.set(id, gone);
    const answer = (message: object): void => {
      // Send pending changes before the answer.
      notifier.flush();
      if (!gone.signal.aborted) channel.send(JSON.stringify({ ...message, id }));
    };
    const notify = (place: number | null): void => answer({ type: 'line', place });
    const inLine = waitedMs === undefined ? undefined : { waitedMs, notify };
    try {
      await this.#opened.promise;
      answer({ type: 'woken', address: await this.#options.wake.wake(server, player, gone.signal, inLine) });
    } catch (err) {
      const isRefused = err instanceof JoinRefused;
      if (!isRefused && !gone.signal.aborted)
        this.#options.log.warn({ server, proxy: proxy.hello.name, err }, 'a wake failed');
      answer({ type: 'unwoken', text: isRefused ? err.text : null });
    } finally {
      wakes.delete(id);
    }
  }

  /** Ends this connection; another one may exist already. */
  #end(proxy: LinkedProxy, link: Link): void {
    link.notifier.close();
    link.channel.close();
    for (const wake of link.wakes.values()) wake.abort(new Error('the proxy is away'));
    if (proxy.link !== link) return;
    proxy.link = undefined;
    const { after = inRealTime, onChange } = this.#options;
    this.#graces.set(
      proxy,
      after(GRACE_MS, () => this.#forget(proxy)),
    );
    onChange?.();
  }

  #endGrace(proxy: LinkedProxy): void {
    this.#graces.get(proxy)?.();
    this.#graces.delete(proxy);
  }

  #forget(proxy: LinkedProxy): void {
    const { id } = proxy.hello;
    if (this.#proxies.get(id) !== proxy) return;
    this.#proxies.delete(id);
    this.#endGrace(proxy);
    const { link } = proxy;
    proxy.link = undefined;
    if (link) this.#end(proxy, link);
    if (proxy.stats) this.#counted = sumOf([this.#counted, countsOf(proxy.stats)]);
    for (const serverId of proxy.here.keys()) this.#options.presence.changed(serverId, this.#joined(serverId));
    this.#options.onChange?.();
  }
}
