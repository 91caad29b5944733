import type { Proxy } from '../../proxy/index.ts';
import { createChargeCount } from '../billing/charged.ts';
import type { Meter } from '../billing/meter.ts';
import { type Alerts, createAlerts } from '../insight/alerts/alerts.ts';
import { createWebhook } from '../insight/alerts/https-webhook.ts';
import { type WebhookOutbox, createWebhookOutbox } from '../insight/alerts/outbox.ts';
import type { ServerEvents } from '../insight/events.ts';
import { type Metrics, createMetrics } from '../insight/metrics.ts';
import { countServersByState } from '../insight/telemetry-rows.ts';
import type { Telemetry } from '../insight/telemetry.ts';
import { isPublicAddress } from '../kernel/ip.ts';
import { recordThrough } from '../people/audit/system.ts';
import type { Servers } from '../servers/servers.ts';
import type { Store } from '../store/store.ts';
import type { GameHost } from './game-host.ts';
import type { Startup } from './startup.ts';

/** What owners are told of how their servers run. */
export interface Observation {
  alerts: Alerts;
  metrics: Metrics;
}

export interface ObservationOptions extends Pick<GameHost, 'engine' | 'console'> {
  store: Store;
  outbox: WebhookOutbox;
  servers: Servers;
  serverEvents: ServerEvents;
  rconPassword: (serverId: string) => string;
}

/** Sends what waits for webhooks from now on. */
export function openWebhooks({ log, clock, onClose }: Startup, { store }: { store: Store }): WebhookOutbox {
  const webhook = createWebhook({ isAllowed: isPublicAddress });
  const outbox = createWebhookOutbox({ store, clock, log, webhook, record: recordThrough('system') });
  onClose(() => outbox.close());
  return outbox;
}

/** Reads running servers each minute from now on, and tells their webhooks what is amiss. */
export function openObservation({ log, clock, onClose }: Startup, options: ObservationOptions): Observation {
  const { store, servers, serverEvents, engine, console, rconPassword, outbox } = options;
  const alerts = createAlerts({ outbox, serverEvents, log });
  const onMinute = alerts.minute;
  const metrics = createMetrics({ servers, engine, console, clock, store, log, rconPassword, serverEvents, onMinute });
  onClose(() => metrics.close());
  return { alerts, metrics };
}

/** Lets operators read, beside what is counted as it happens, what can be asked at any time. */
export function watchService(
  telemetry: Pick<Telemetry, 'watch'>,
  { clock }: Pick<Startup, 'clock'>,
  options: {
    store: Store;
    servers: Pick<Servers, 'live'>;
    proxy: Pick<Proxy, 'stats'>;
    outbox: WebhookOutbox;
    meter: Pick<Meter, 'ageMs'>;
  },
): void {
  const { store, servers, proxy, outbox, meter } = options;
  telemetry.watch({
    serversByState: () => countServersByState(store),
    playersOnline: () => servers.live().reduce((sum, { context }) => sum + (context.live.players ?? 0), 0),
    proxy: () => proxy.stats(),
    storeWrites: () => store.waiting(),
    webhookMessages: () => outbox.waiting(store),
    charged: createChargeCount(store, clock),
    meterAgeMs: () => meter.ageMs(),
  });
}
