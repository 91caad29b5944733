import { type AddressInfo, type ListenOptions, type Server, createServer } from 'node:net';
import { Accounts, SESSION_SERVER_URL, type VerifiedAccount } from './accounts.ts';
import { serve } from './connection.ts';
import { type Context, type Counters, KICK_RULES } from './context.ts';
import { type Clock, Deadlines, type ClientConnection } from './client-connection.ts';
import { listenAt } from './listen.ts';
import { Limiter, blockListOf, isListed } from './limits.ts';
import { keyOfPort } from './hostname.ts';
import { PrivatePorts } from './private-ports.ts';
import { Pipes } from './pipes.ts';
import type { Address, Log, Player, Presence, Routes, Wake } from './ports.ts';
import { DEFAULT_LIMITS, DEFAULT_TIMINGS, type Limits, type Timings } from './settings.ts';
import { StatusResponder } from './status.ts';
import { WaitingList } from './waiting/waiting-list.ts';

export interface ProxyOptions {
  routes: Routes;
  wake: Wake;
  /** Notified when a player connects to a game, is accepted by it, or leaves. */
  presence?: Presence;
  log: Log;
  /** Session service that verifies accounts for servers that require it. Default: Mojang's. */
  sessionServerUrl?: string;
  /**
   * Addresses and networks of load balancers. Their connections must begin with a PROXY header (version 1 or 2) that
   * contains the player's address. Connections without one, and headers from other addresses, are refused.
   */
  proxyProtocolFrom?: readonly string[];
  /**
   * Addresses and networks of Minecraft proxies in front of this one. The address, UUID and name that they forward
   * replace those of the connection. They have no limits per address.
   */
  forwardingFrom?: readonly string[];
  /** Floodgate's key in base64, which decrypts the data of Bedrock players from `forwardingFrom`; '' without one. */
  floodgateKey?: string;
  /**
   * Networks whose players get a message if a server name is unknown. Scanners elsewhere get no answer. Default:
   * private networks.
   */
  neighbours?: readonly string[];
  /** Called with each account that this proxy has verified. */
  onVerified?: (account: VerifiedAccount) => void;
  /** Address at which `openPorts` listens. Default: this machine only. */
  networkHost?: string;
  /** Overrides of DEFAULT_LIMITS. */
  limits?: Partial<Limits>;
  /** Overrides of DEFAULT_TIMINGS. */
  timings?: Partial<Timings>;
  /** Epoch ms, comparable with `Route.readyAt`. Default: the system clock. */
  now?: () => number;
  /** Measures time spans. Default: real time. */
  clock?: Clock;
}

/** Totals since the proxy was created. `unrouted`, `held` and `piped` are current values. */
export interface ProxyStats extends Counters {
  piped: number;
  bytesUp: number;
  bytesDown: number;
}

export type Proxy = ReturnType<typeof createProxy>;

const BACKLOG = 1024;
/** This machine and private networks (RFC 1918, 4193, 4291 §2.5.6, 6598). */
const NEIGHBOURS = [
  '127.0.0.0/8',
  '::1',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  'fc00::/7',
  'fe80::/10',
];
/** The real clock. Its timers do not keep the process alive. */
const REAL_TIME: Clock = {
  now: () => performance.now(),
  at(at, fire) {
    const timer = setTimeout(fire, at - performance.now()).unref();
    return () => clearTimeout(timer);
  },
};

/** Creates the players' side of the service. Looks up the route anew for every connection. */
export function createProxy(options: ProxyOptions) {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const timings = { ...DEFAULT_TIMINGS, ...options.timings };
  const { routes, wake, log, clock = REAL_TIME, proxyProtocolFrom = [], forwardingFrom = [] } = options;
  const { sessionServerUrl = SESSION_SERVER_URL, onVerified = () => {} } = options;
  const elapsed = () => clock.now();
  const closing = new AbortController();
  const connections = new Set<ClientConnection>();
  const servers = new Set<Server>();
  const pipes = new Pipes({ presence: options.presence, log, now: elapsed });
  const limiter = new Limiter({ ...limits, exempt: [...limits.exempt, ...forwardingFrom] }, elapsed);
  const balancers = blockListOf(proxyProtocolFrom);
  const fronts = blockListOf(forwardingFrom);
  const neighbours = blockListOf(options.neighbours ?? NEIGHBOURS);
  const counters = noCounts();
  const left = Promise.withResolvers<void>();
  let isDraining = false;
  const alsoEach = (): void => {
    limiter.sweep();
    pipes.sweep();
    if (isDraining && connections.size === 0 && pipes.stats().piped === 0) left.resolve();
  };
  const deadlines = new Deadlines({ now: elapsed, sweepMs: timings.sweepMs, alsoEach });
  const context: Context = {
    routes,
    wake,
    log,
    limits,
    timings,
    now: options.now ?? Date.now,
    clock,
    limiter,
    isBalancer: proxyProtocolFrom.length === 0 ? () => false : (ip) => isListed(balancers, ip),
    isFront: forwardingFrom.length === 0 ? () => false : (ip) => isListed(fronts, ip),
    floodgateKey: options.floodgateKey ? Buffer.from(options.floodgateKey, 'base64') : undefined,
    isNeighbour: (ip) => isListed(neighbours, ip),
    accounts: new Accounts(sessionServerUrl, timings, elapsed, onVerified),
    waitingList: new WaitingList(timings.returnMs, elapsed),
    deadlines,
    counters,
    statuses: new StatusResponder(timings, elapsed),
    closing: closing.signal,
    keep: (serverId, player, pipe) => pipes.add(serverId, player, pipe),
  };

  const privatePorts = new PrivatePorts(
    async (port, closed) => {
      const { networkHost: host = '127.0.0.1' } = options;
      const server = await open(keyOfPort(port), { host, port });
      const end = () => servers.delete(server) && server.close();
      if (closed.aborted) end();
      else closed.addEventListener('abort', end, { once: true });
    },
    log,
    clock,
  );

  /** `key`: see `serve`. */
  async function open(key: string | undefined, where: ListenOptions & { host: string }): Promise<Server> {
    // Half-open, so that a client that ends its side early still receives the data in flight. A high water mark of 1
    // makes `write` report whether the kernel has accepted all bytes.
    const server = createServer(
      { allowHalfOpen: true, highWaterMark: 1 },
      (socket) => void serve(socket, context, connections, key),
    );
    await listenAt(server, { ...where, backlog: BACKLOG });
    server.on('error', (err) => log.warn({ err }, 'listener failed'));
    servers.add(server);
    return server;
  }

  async function stopListening(): Promise<void> {
    privatePorts.close();
    const listeners = [...servers];
    servers.clear();
    await Promise.all(listeners.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
  }

  return {
    /** Opens a listener and resolves with its address. `::` accepts IPv4 too. May be called several times. */
    async listen(host: string, port: number, { reusePort = false } = {}): Promise<Address> {
      closing.signal.throwIfAborted();
      const server = await open(undefined, { host, port, reusePort });
      const opened = server.address() as AddressInfo;
      return { host: opened.address, port: opened.port };
    },
    /**
     * Listens at exactly these private ports of `networkHost`. A port that is taken is tried again every second.
     * Connections to a port that is no longer private stay.
     */
    openPorts: (ports: ReadonlySet<number>) => privatePorts.set(ports),
    /** Stops listening and resolves when the last player has left. Online players may stay as long as they like. */
    async drain(): Promise<void> {
      void stopListening();
      isDraining = true;
      await left.promise;
    },
    /**
     * Closes the listeners, asks waiting players to come back, and gives joined players up to `drainMs` (default 0) to
     * leave. Resolves when every socket is closed.
     */
    async close({ drainMs = 0 } = {}): Promise<void> {
      const closed = stopListening();
      closing.abort();
      for (const connection of connections) connection.shutDown();
      await pipes.drain(drainMs);
      await closed;
      deadlines.close();
    },
    /** Whether players can connect: at least one listener was opened, and all are still open. */
    listening: () => servers.size > 0 && [...servers].every((server) => server.listening),
    /**
     * Returns the number of players connected to this server's game. Pings and waiting or refused players do not count.
     */
    connections: (serverId: string) => pipes.count(serverId),
    /** Returns the players connected to this server, with their claimed names and their addresses. */
    players: (serverId: string): readonly Player[] => pipes.players(serverId),
    stats: (): ProxyStats => ({ ...counters, kicks: { ...counters.kicks }, ...pipes.stats() }),
    /** Disconnects the players of this server at this address. */
    kick: (serverId: string, ip: string) => pipes.kick(serverId, ip),
    /** Records an account verified by another proxy. */
    learn: (account: VerifiedAccount) => context.accounts.learn(account),
  };
}

function noCounts(): Counters {
  const kicks = Object.fromEntries(KICK_RULES.map((rule) => [rule, 0])) as Counters['kicks'];
  return { accepted: 0, unrouted: 0, held: 0, statusAnswers: 0, joins: 0, kicks };
}
