import type { VerifiedAccount } from '../accounts.ts';
import { ExpiringMap } from '../expiring-map.ts';
import type { ProxyStats } from '../index.ts';
import {
  type Address,
  type InLine,
  JoinRefused,
  type Joined,
  type Log,
  type Player,
  type Presence,
  type Route,
  type Routes,
  type Wake,
} from '../ports.ts';
import {
  type BannedAddress,
  type Channel,
  type FromProxy,
  type FromService,
  type Hello,
  LINK_PROTOCOL,
  MOST_PLAYERS,
  MOST_REMEMBERED,
  REMEMBERED_MS,
  inParts,
} from './messages.ts';
import { Mirror } from './mirror.ts';
import { Wakes } from './wakes.ts';

/** The functions of a proxy that the service controls. */
interface Controlled {
  players(serverId: string): readonly Player[];
  stats(): ProxyStats;
  kick(serverId: string, ip: string): void;
  /** Records an account verified by another proxy. */
  learn(account: VerifiedAccount): void;
  /** Listens at exactly these private ports. */
  openPorts(ports: ReadonlySet<number>): void;
  drain(): void;
}

/** The identity that a proxy sends. */
type Self = Omit<Hello, 'type' | 'protocol' | 'listening'>;

interface Link {
  channel: Channel;
  /** Whether the service has accepted this proxy. Only then are changes reported. */
  isWelcome: boolean;
}

const GATHER_MS = 20;

/**
 * The service as seen by a proxy in its own process. When a connection opens, both sides send their complete state
 * again. While disconnected, joined players play on, joins to running games use the last known state, and wakes wait
 * for the service to return.
 */
export class Control implements Routes, Wake, Presence {
  readonly #self: Self;
  readonly #log: Log;
  readonly #onLogLevel: (level: string) => void;
  readonly #now: () => number;
  readonly #later: (run: () => void) => void;
  readonly #mirror: Mirror;
  readonly #joined = new Map<string, Joined>();
  /** When a player was last inside, epoch ms. Covers players who left before a report could be sent. */
  readonly #insideAt: ExpiringMap<number>;
  readonly #changed = new Set<string>();
  readonly #wakes: Wakes;
  readonly #firstWhole = Promise.withResolvers<void>();
  #link: Link | undefined;
  #proxy: Controlled | undefined;
  #listening: Address | null = null;
  #isDraining = false;
  #isFlushing = false;
  #lastStats = '';
  /** The service's reason for refusing this proxy; '' if its last answer was not a refusal. */
  #refusal = '';

  constructor(
    self: Self,
    log: Log,
    {
      onLogLevel = () => {},
      now = Date.now,
      later = (run) => void setTimeout(run, GATHER_MS).unref(),
    }: {
      /** Called with the log level that the service sets. */
      onLogLevel?: (level: string) => void;
      /** Epoch ms. */
      now?: () => number;
      /** Delays a report briefly to batch changes. Default: 20 ms. */
      later?: (run: () => void) => void;
    } = {},
  ) {
    this.#self = self;
    this.#log = log;
    this.#onLogLevel = onLogLevel;
    this.#now = now;
    this.#later = later;
    this.#mirror = new Mirror(this.#now);
    this.#insideAt = new ExpiringMap(MOST_REMEMBERED, this.#now);
    this.#wakes = new Wakes((message) => void this.#send(message), this.#now);
  }

  /** Sets the proxy that uses this object as its ports. Called once, before the first connection. */
  serve(proxy: Controlled): void {
    this.#proxy = proxy;
  }

  /** Resolves when the service has sent its complete state for the first time. Until then, no host is known. */
  known(): Promise<void> {
    return this.#firstWhole.promise;
  }

  /** Whether the service is connected and has sent its complete state. */
  get isConnected(): boolean {
    return this.#mirror.isCurrent;
  }

  /** Whether the service is reachable but refuses this proxy. */
  get isRefused(): boolean {
    return this.#refusal !== '';
  }

  lookup(host: string): Route | undefined {
    return this.#mirror.lookup(host);
  }

  async admit(serverId: string, player: Player): Promise<void> {
    this.#mirror.admit(serverId, player, this.#now());
  }

  wake(serverId: string, player: Player, signal: AbortSignal, inLine?: InLine): Promise<Address> {
    return this.#wakes.add({ server: serverId, player, inLine }, signal, this.isConnected);
  }

  changed(serverId: string, joined: Joined): void {
    if (joined.inside > 0 || (this.#joined.get(serverId)?.inside ?? 0) > 0)
      this.#insideAt.set(serverId, this.#now(), REMEMBERED_MS);
    if (joined.inside + joined.knocking > 0) this.#joined.set(serverId, joined);
    else this.#joined.delete(serverId);
    this.#changed.add(serverId);
    this.#flushLater();
  }

  /** Reports the address where players connect; null if not listening. */
  sendListening(listening: Address | null, isDraining: boolean): void {
    this.#listening = listening;
    this.#isDraining = isDraining;
    this.sendStats();
  }

  /** Reports changed statistics. Called about once a second. */
  sendStats(): void {
    if (!this.#proxy || this.#link?.isWelcome !== true) return;
    const stats = this.#proxy.stats();
    const message: FromProxy = { type: 'stats', stats, listening: this.#listening, draining: this.#isDraining };
    const text = JSON.stringify(message);
    if (text === this.#lastStats) return;
    this.#lastStats = text;
    this.#link.channel.send(text);
  }

  sendVerified(account: VerifiedAccount): void {
    this.#send({ type: 'verified', accounts: [account] });
  }

  /** Sends a log line to the service. Returns false if no service is connected to record it. */
  sendLog(level: 'debug' | 'info' | 'warn', fields: object, message: string): boolean {
    return this.#send({ type: 'log', level, fields, message });
  }

  /** Attaches a connection and replaces any earlier one. Returns the handlers for its messages and its end. */
  connect(channel: Channel): { receive(text: string): void; closed(): void } {
    this.#leave(this.#link);
    const link: Link = { channel, isWelcome: false };
    this.#link = link;
    const hello: Hello = { type: 'hello', protocol: LINK_PROTOCOL, ...this.#self, listening: this.#listening };
    channel.send(JSON.stringify(hello));
    return {
      receive: (text) => {
        if (link === this.#link) this.#receive(link, JSON.parse(text) as FromService);
      },
      closed: () => this.#leave(link),
    };
  }

  #leave(link: Link | undefined): void {
    if (link === undefined || link !== this.#link) return;
    this.#link = undefined;
    this.#mirror.leave();
    link.channel.close();
    this.#wakes.missAll();
  }

  #receive(link: Link, message: FromService): void {
    switch (message.type) {
      case 'welcome':
        this.#refusal = '';
        this.#onLogLevel(message.logLevel);
        return this.#sendAll(link);
      case 'refused':
        if (this.#refusal !== message.reason)
          this.#log.warn({ reason: message.reason }, 'the service refuses this proxy; retrying');
        this.#refusal = message.reason;
        return this.#leave(link);
      case 'routes':
        this.#mirror.take(message);
        return this.#proxy?.openPorts(this.#mirror.ports);
      case 'bans':
        this.#mirror.ban(message.server, message.list);
        return this.#throwOut(message.server, message.list);
      case 'whole':
        return this.#goOn();
      case 'woken':
        return this.#wakes.settle(message.id, message.address);
      case 'unwoken':
        return this.#wakes.settle(message.id, failureOf(message.text));
      case 'line':
        return this.#wakes.place(message.id, message.place);
      case 'kick':
        return this.#proxy?.kick(message.server, message.ip);
      case 'verified':
        return message.accounts.forEach((account) => this.#proxy?.learn(account));
      case 'drain':
        return this.#proxy?.drain();
      default:
        // Compiles only if all types are handled. Other types from a newer service are ignored.
        message satisfies never;
    }
  }

  #sendAll(link: Link): void {
    link.isWelcome = true;
    this.#mirror.begin();
    this.#changed.clear();
    this.#tell(new Set([...this.#joined.keys(), ...this.#insideAt.all().map(({ key }) => key)]));
    this.#send({ type: 'whole' });
    this.#lastStats = '';
    this.sendStats();
  }

  #goOn(): void {
    this.#mirror.whole();
    this.#proxy?.openPorts(this.#mirror.ports);
    this.#firstWhole.resolve();
    this.#wakes.askAll();
  }

  #throwOut(serverId: string, bans: readonly BannedAddress[]): void {
    if (bans.length === 0) return;
    const here = new Set(this.#proxy?.players(serverId).map(({ ip }) => ip));
    for (const [ip] of bans) if (here.has(ip)) this.#proxy?.kick(serverId, ip);
  }

  #flushLater(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    this.#later(() => {
      this.#isFlushing = false;
      if (this.#link?.isWelcome !== true) return;
      this.#tell(this.#changed);
      this.#changed.clear();
    });
  }

  #tell(ids: Iterable<string>): void {
    const here = [...ids].map((id) => {
      const { inside, knocking } = this.#joined.get(id) ?? { inside: 0, knocking: 0 };
      const players = this.#proxy?.players(id).slice(0, MOST_PLAYERS) ?? [];
      return { id, inside, knocking, players, insideMsAgo: inside > 0 ? undefined : this.#insideMsAgo(id) };
    });
    for (const servers of inParts(here)) this.#send({ type: 'here', servers });
  }

  #insideMsAgo(serverId: string): number | undefined {
    const at = this.#insideAt.get(serverId);
    return at === undefined ? undefined : Math.max(0, this.#now() - at);
  }

  #send(message: FromProxy): boolean {
    if (this.#link?.isWelcome !== true) return false;
    this.#link.channel.send(JSON.stringify(message));
    return true;
  }
}

function failureOf(text: string | null): Error {
  return text === null ? new Error('the service could not wake the server') : new JoinRefused(text);
}
