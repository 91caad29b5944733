import type { Console } from '../engines/console/console.ts';
import type { Engine } from '../engines/engine.ts';
import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import { isPublicAddress } from '../kernel/ip.ts';
import type { Log } from '../kernel/log.ts';
import { recordThrough } from '../people/audit/system.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { OnStep, Servers } from '../servers/servers.ts';
import type { Store } from '../store/store.ts';
import { type Alerts, createAlerts } from './alerts/alerts.ts';
import { createWebhook } from './alerts/https-webhook.ts';
import { type WebhookOutbox, createWebhookOutbox } from './alerts/outbox.ts';
import { alertStep, followAlerts } from './alerts/step-alerts.ts';
import { type ServerEvents, createServerEvents } from './events.ts';
import { type Metrics, createMetrics } from './metrics.ts';
import type { Telemetry } from './telemetry.ts';

/** Sends what waits for webhooks from now on. `onStep` puts down, with a server's step, what its owner is to be told of at once. */
export function openWebhooks({
  store,
  clock,
  log,
  onClose,
}: {
  store: Store;
  clock: Clock;
  log: Log;
  onClose: OnClose;
}): {
  outbox: WebhookOutbox;
  onStep: OnStep;
} {
  const webhook = createWebhook({ isAllowed: isPublicAddress });
  const outbox = createWebhookOutbox({ store, clock, log, webhook, record: recordThrough('system') });
  onClose(() => outbox.close());
  return { outbox, onStep: (tx, now, step) => alertStep(outbox, tx, now, step) };
}

/** Counts what servers do, for `Telemetry`. */
export function countSteps({ stepped }: Pick<Telemetry, 'stepped'>): OnStep {
  return async (_, now, step) => stepped(step, startMs(now));
}

/** From the wish for a server to its readiness; null where it has not come to that. */
function startMs({ context: { wokenAt, readyAt } }: ServerNow): number | null {
  return wokenAt === null || readyAt === null ? null : readyAt - wokenAt;
}

/** What owners are told of how their servers run. */
export interface Insight {
  serverEvents: ServerEvents;
  alerts: Alerts;
  metrics: Metrics;
}

export interface InsightOptions {
  store: Store;
  servers: Servers;
  engine: Engine;
  console: Console;
  rconPassword: (serverId: string) => string;
  outbox: WebhookOutbox;
  clock: Clock;
  log: Log;
  onClose: OnClose;
}

/** Reads running servers each minute from now on, and tells their webhooks and those who follow them what is amiss. */
export function openInsight(options: InsightOptions): Insight {
  const { store, servers, engine, console, rconPassword, outbox, clock, log, onClose } = options;
  const serverEvents = createServerEvents(servers, clock);
  onClose(() => serverEvents.close());
  onClose(followAlerts(servers, serverEvents));
  const alerts = createAlerts({ outbox, serverEvents, log });
  const onMinute = alerts.minute;
  const metrics = createMetrics({ servers, engine, console, clock, store, log, rconPassword, serverEvents, onMinute });
  onClose(() => metrics.close());
  return { serverEvents, alerts, metrics };
}
