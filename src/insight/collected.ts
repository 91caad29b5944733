import { SERVER_STATES } from '../../machines/server-types.ts';
import { Counter, Gauge, type Registry } from 'prom-client';

/** The sources of the figures read at each scrape. No figure is counted for Prometheus alone. */
export interface TelemetrySources {
  serversByState: () => Promise<{ state: string; count: number }[]>;
  playersOnline: () => number;
  /** The sums over all proxies since their start; `unrouted`, `held` and `piped` are current counts. */
  proxy: () => {
    accepted: number;
    unrouted: number;
    held: number;
    piped: number;
    statusAnswers: number;
    joins: number;
    kicks: Readonly<Record<string, number>>;
    bytesUp: number;
    bytesDown: number;
  };
  /** The running proxies; `lagMs`: the round trip. */
  proxies: () => readonly {
    name: string;
    id: string;
    version: string;
    connected: boolean;
    draining: boolean;
    players: number;
    lagMs: number | null;
  }[];
  /** The number of writes waiting for the store. */
  storeWrites: () => number;
  webhookMessages: () => Promise<number>;
  /** The backups still to be uploaded off site, and how long the oldest has waited. */
  uploads: () => Promise<{ count: number; oldestMs: number }>;
  /** Ticks and their cost since the process began. */
  charged: () => Promise<{ ticks: number; micros: number }>;
  meterAgeMs: () => number;
}

type Labels = Record<string, string>;
type Reading = readonly [value: number, labels?: Labels];

interface Collected {
  name: string;
  help: string;
  labelNames?: string[];
  read: (sources: TelemetrySources) => Reading[] | Promise<Reading[]>;
}

const GAUGES: readonly Collected[] = [
  {
    name: 'dormouse_servers',
    help: 'Servers by state.',
    labelNames: ['state'],
    read: async (sources) => {
      const counts = new Map((await sources.serversByState()).map(({ state, count }) => [state, count]));
      return SERVER_STATES.map((state) => [counts.get(state) ?? 0, { state }]);
    },
  },
  {
    name: 'dormouse_players_online',
    help: 'Players online in running games.',
    read: (sources) => [[sources.playersOnline()]],
  },
  {
    name: 'dormouse_proxy_sockets',
    help: 'Connections at the proxy now: not yet routed, held while a server wakes, piped to a game.',
    labelNames: ['phase'],
    read: (sources) => {
      const { unrouted, held, piped } = sources.proxy();
      return Object.entries({ unrouted, held, piped }).map(([phase, value]) => [value, { phase }]);
    },
  },
  {
    name: 'dormouse_proxy_players',
    help: 'Players in a game, by proxy. A draining proxy accepts no new ones.',
    labelNames: ['proxy', 'id', 'version', 'draining'],
    read: (sources) =>
      sources
        .proxies()
        .map(({ name: proxy, id, version, draining, players }) => [
          players,
          { proxy, id, version, draining: String(draining) },
        ]),
  },
  {
    name: 'dormouse_proxy_linked',
    help: 'Whether a proxy is connected to the service: 1, or 0 while it is missing.',
    labelNames: ['proxy', 'id'],
    read: (sources) => sources.proxies().map(({ name: proxy, id, connected }) => [Number(connected), { proxy, id }]),
  },
  {
    name: 'dormouse_proxy_lag_seconds',
    help: 'Round trip from the service to a proxy, including the time when either is busy.',
    labelNames: ['proxy', 'id'],
    read: (sources) => sources.proxies().map(({ name: proxy, id, lagMs }) => [(lagMs ?? 0) / 1_000, { proxy, id }]),
  },
  {
    name: 'dormouse_queue_depth',
    help: 'Waiting store writes, webhook messages and off-site uploads of backups.',
    labelNames: ['queue'],
    read: async (sources) => [
      [sources.storeWrites(), { queue: 'store' }],
      [await sources.webhookMessages(), { queue: 'webhooks' }],
      [(await sources.uploads()).count, { queue: 'backups' }],
    ],
  },
  {
    name: 'dormouse_backup_wait_seconds',
    help: 'How long the oldest backup has waited for its off-site upload; 0 if none waits.',
    read: async (sources) => [[(await sources.uploads()).oldestMs / 1_000]],
  },
  {
    name: 'dormouse_standby',
    help: 'Whether this service is a standby that waits to take over.',
    // A waiting service reports 1 itself, because it has no registry yet (`http/standby.ts`).
    read: () => [[0]],
  },
  {
    name: 'dormouse_meter_age_seconds',
    help: 'Time since the meter last charged a minute. Above 60, it is late.',
    read: (sources) => [[sources.meterAgeMs() / 1_000]],
  },
];

const COUNTERS: readonly Collected[] = [
  {
    name: 'dormouse_proxy_connections_total',
    help: 'Connections that the proxy has accepted.',
    read: (sources) => [[sources.proxy().accepted]],
  },
  {
    name: 'dormouse_proxy_status_answers_total',
    help: 'Server-list requests answered.',
    read: (sources) => [[sources.proxy().statusAnswers]],
  },
  {
    name: 'dormouse_proxy_joins_total',
    help: 'Players who joined a game.',
    read: (sources) => [[sources.proxy().joins]],
  },
  {
    name: 'dormouse_proxy_kicks_total',
    help: 'Joins that were refused, by rule.',
    labelNames: ['rule'],
    read: (sources) => Object.entries(sources.proxy().kicks).map(([rule, value]) => [value, { rule }]),
  },
  {
    name: 'dormouse_relay_bytes_total',
    help: 'Bytes relayed: up from players to games, down from games to players.',
    labelNames: ['direction'],
    read: (sources) => {
      const { bytesUp: up, bytesDown: down } = sources.proxy();
      return Object.entries({ up, down }).map(([direction, value]) => [value, { direction }]);
    },
  },
  {
    name: 'dormouse_ticks_total',
    help: 'Minutes charged to metered servers.',
    read: async (sources) => [[(await sources.charged()).ticks]],
  },
  {
    name: 'dormouse_charged_micros_total',
    help: 'Cost of the charged minutes, in millionths of the currency.',
    read: async (sources) => [[(await sources.charged()).micros]],
  },
];

/** Registers the figures read at each scrape. A figure that cannot be read is missing from that answer. */
export function registerCollected(registry: Registry, sources: TelemetrySources): void {
  for (const each of GAUGES) register(Gauge, registry, each, sources);
  for (const each of COUNTERS) register(Counter, registry, each, sources);
}

function register(
  Kind: typeof Gauge | typeof Counter,
  registry: Registry,
  collected: Collected,
  sources: TelemetrySources,
): void {
  const { name, help, labelNames = [], read } = collected;
  const readOrNone = async () => {
    try {
      return await read(sources);
    } catch {
      return undefined;
    }
  };
  const metric: Gauge | Counter = new Kind({
    name,
    help,
    labelNames,
    registers: [registry],
    async collect() {
      const values = await readOrNone();
      // Set without an await in between, because another scrape may be setting the same figure.
      metric.reset();
      for (const [value, labels = {}] of values ?? []) metric.inc(labels, value);
      if (values === undefined && labelNames.length === 0) metric.remove();
    },
  });
}
