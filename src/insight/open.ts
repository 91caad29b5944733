/** Shows owners what their servers do and alerts them to problems. Viewing a server never wakes it. */
import type { DiskQuota } from '../disk/quota.ts';
import type { GameConsoles } from '../engines/console/console.ts';
import type { Engine } from '../engines/engine.ts';
import type { LostGames } from '../engines/lost-games.ts';
import { dataFrame } from '../http/sse.ts';
import type { StreamSlots } from '../http/stream-slots.ts';
import { isPublicAddress } from '../kernel/ip.ts';
import { listOwners } from '../accounts/rows.ts';
import { recordThrough } from '../audit/audit.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import type { Mailer } from '../mail/mail.ts';
import type { TypedCommandAccess } from '../players/typed-commands.ts';
import type { OnStep } from '../servers/actors.ts';
import type { Shared } from '../servers/shared.ts';
import type { Secret } from '../store/secret.ts';
import type { Tx } from '../store/store.ts';
import type { Feature } from '../web/feature.ts';
import { alertStep, createAlerts, followAlerts } from './alerts/alerts.ts';
import { createWebhook } from './alerts/webhook.ts';
import { type WebhookOutbox, createWebhookOutbox } from './alerts/outbox.ts';
import { mountAlertPages } from './alerts/pages.ts';
import { createSecretOf } from './alerts/signature.ts';
import { mountWebhookPages } from './alerts/webhook-pages.ts';
import { webhookOperations } from './alerts/webhooks-api.ts';
import { consoleOperations } from './console-api.ts';
import { diagnosticOperations } from './diagnostics-api.ts';
import { eventOperations } from './events-api.ts';
import { ServerEvents } from './events.ts';
import { createLogStreams } from './log-streams.ts';
import { logOperations } from './logs-api.ts';
import { metricOperations } from './metrics-api.ts';
import { Metrics } from './metrics.ts';
import { mountConsole } from './pages/console.ts';
import { type Exposition, prometheusOperations } from './prometheus.ts';
import type { Telemetry } from './telemetry.ts';

/**
 * Starts sending waiting messages to webhooks. `onStep` stores a step's alerts for the owner in the write of that step.
 */
export function openWebhooks(
  { store, clock, log, onClose }: Omit<Shared, 'servers' | 'serveServer'>,
  { secret, mailer, baseUrl }: { secret: Secret; mailer: Mailer; baseUrl: string },
): {
  outbox: WebhookOutbox;
  onStep: OnStep;
  /** Stores a test alert to be sent to a server's webhook. */
  testAlert: (tx: Tx, serverId: string, at: number) => Promise<void>;
} {
  const webhook = createWebhook({ isAllowed: isPublicAddress });
  const outbox = createWebhookOutbox({ store, clock, log }, webhook, recordThrough('system'), {
    secretOf: createSecretOf(secret),
    onOff({ accountId, host }) {
      const subject = 'A webhook at Dormouse was switched off';
      const text = `Your webhook at ${host} accepted no message for three days. Check it, then switch it on: ${baseUrl}/profile/webhooks\n`;
      listOwners(store, accountId)
        .then((owners) => Promise.all(owners.map(({ email }) => mailer.send({ to: email, subject, text }))))
        .catch((err: unknown) => log.warn({ account: accountId, err }, 'the e-mail could not be sent'));
    },
  });
  onClose(() => outbox.close());
  return {
    outbox,
    onStep: (tx, now, step) => alertStep(outbox, tx, now, step),
    testAlert: (tx, serverId, at) => outbox.add(tx, serverId, { event: 'test', at }),
  };
}

/** Returns a callback that counts servers' steps, with the ms from a wake until the server was ready. */
export function countSteps({ stepped }: { stepped: Telemetry['stepped'] }): OnStep {
  return async (_, { context: { wokenAt, readyAt } }, step) =>
    stepped(step, wokenAt === null || readyAt === null ? null : readyAt - wokenAt);
}

/** Starts reading running servers every minute, and alerting their webhooks and viewers. */
export function openInsight(
  shared: Shared,
  {
    engine,
    lostGames,
    consoles,
    access,
    disk,
    transferSlots,
    telemetry,
    outbox,
    secret,
    workers,
  }: {
    engine: Engine;
    /** The games on unresponsive machines, if games run on several. */
    lostGames: LostGames | undefined;
    /** The consoles of games (RCON). */
    consoles: GameConsoles;
    /** For commands that people type: standard input if a game opens no console. */
    access: TypedCommandAccess;
    disk: DiskQuota;
    transferSlots: StreamSlots;
    telemetry: Exposition;
    outbox: WebhookOutbox;
    secret: Secret;
    workers: WorkerPool;
  },
) {
  const { store, servers, clock, log, onClose } = shared;
  const serverEvents = new ServerEvents(servers, clock, lostGames);
  onClose(() => serverEvents.close());
  onClose(followAlerts(servers, serverEvents));
  const alerts = createAlerts(outbox, serverEvents, log);
  const metrics = new Metrics({ servers, engine, consoles, clock, store, log, serverEvents, onMinute: alerts.minute });
  onClose(() => metrics.close());
  const logStreams = createLogStreams(engine, dataFrame, log);
  const readings = metricOperations(shared, metrics);
  const feature: Feature = {
    // Used by the charts.
    pageOperations: readings,
    operations: [
      ...consoleOperations(shared, access),
      ...logOperations(shared, engine, logStreams),
      ...readings,
      ...eventOperations(shared, serverEvents, disk),
      ...diagnosticOperations(shared),
      ...prometheusOperations({ telemetry }),
      ...webhookOperations(shared, createSecretOf(secret)),
    ],
    panel(panel) {
      mountConsole(panel, engine, transferSlots, workers);
      mountAlertPages(panel);
      mountWebhookPages(panel);
    },
  };
  return { serverEvents, alerts, metrics, logStreams, feature };
}
