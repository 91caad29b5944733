import { STOP_FORCED } from '../../../machines/server-reasons.ts';
import type { WebhookOutbox } from './outbox.ts';
import { deleteIncident, insertIncident, listIncidents, listWebhookServers } from './rows.ts';
import type { ServerEvents } from '../events.ts';
import { listSamples } from '../metric-rows.ts';
import { type MetricSample, type Minute, SAMPLE_MS } from '../metrics.ts';
import type { Log } from '../../kernel/log.ts';
import type { ServerStep } from '../../audit/audit.ts';
import type { ServerNow } from '../../servers/server-now.ts';
import type { Servers } from '../../servers/servers.ts';
import type { Tx } from '../../store/store.ts';

interface Alerts {
  /**
   * Checks a minute of all running servers, in the write of their readings: opens and ends incidents of slow servers,
   * and ends those of servers that have stopped. Returns a function that notifies the viewers, to call after the
   * commit.
   */
  minute: (tx: Tx, at: number, minutes: readonly Minute[]) => Promise<() => void>;
  /** Notifies the webhooks of an account's servers, each once, that its spend cap is reached. */
  spendCapReached: (
    tx: Tx,
    cap: { accountId: string; capMicros: number; action: 'notify' | 'stop'; at: number },
  ) => Promise<void>;
}

/** A minute may be this late and still follow the one before. */
const SLACK_MS = SAMPLE_MS / 2;

export function createAlerts(
  outbox: Pick<WebhookOutbox, 'add'>,
  serverEvents: Pick<ServerEvents, 'publish'>,
  log: Log,
): Alerts {
  async function judge(tx: Tx, { serverId, readyAt, sample }: Minute, openedAt: number | null) {
    const since = Math.max(readyAt, sample.at - (READINGS - 1) * SAMPLE_MS - SLACK_MS);
    // Most minutes are good and change nothing, so they cost no query.
    const mayDecide = incidentStep(
      Array.from({ length: READINGS }, () => sample),
      { openedAt, readyAt },
    );
    if (mayDecide === undefined) return undefined;
    const recent = (await listSamples(tx, serverId, since, READINGS)).map(({ at, figures }) => {
      const [, , , , tps, players] = figures;
      return { at, tps, players };
    });
    return incidentStep(recent, { openedAt, readyAt });
  }

  async function open(tx: Tx, serverId: string, { at, tps, mspt, players }: MetricSample): Promise<() => void> {
    await insertIncident(tx, { serverId, openedAt: at });
    await outbox.add(tx, serverId, { event: 'tps.low', at, tps, mspt, players });
    return () => {
      log.info({ server: serverId, tps, mspt, players }, 'server too slow');
      serverEvents.publish(serverId, 'alert', { alert: 'tps.low', tps, mspt, players });
    };
  }

  async function end(tx: Tx, serverId: string, sample: MetricSample, openedAt: number): Promise<() => void> {
    const { at, tps, mspt, players } = sample;
    await deleteIncident(tx, serverId);
    await outbox.add(tx, serverId, { event: 'tps.recovered', at, tps, mspt, players, openedAt });
    return () => {
      const slowMs = at - openedAt;
      log.info({ server: serverId, tps, mspt, players, slowMs }, 'server is no longer slow');
      const slowSeconds = Math.round(slowMs / 1_000);
      serverEvents.publish(serverId, 'alert', { alert: 'tps.recovered', tps, mspt, players, slowSeconds });
    };
  }

  /** Ends the incident of an earlier run. It is not a recovery, but owners waiting for one must be notified. */
  async function stop(tx: Tx, serverId: string, at: number, openedAt: number): Promise<() => void> {
    await deleteIncident(tx, serverId);
    await outbox.add(tx, serverId, { event: 'tps.ended', at, openedAt });
    return () => {
      const slowMs = at - openedAt;
      log.info({ server: serverId, slowMs }, 'a server that was too slow has stopped');
      serverEvents.publish(serverId, 'alert', { alert: 'tps.ended', slowSeconds: Math.round(slowMs / 1_000) });
    };
  }

  return {
    async minute(tx, at, minutes) {
      const incidents = new Map((await listIncidents(tx)).map(({ serverId, openedAt }) => [serverId, openedAt]));
      const notifications: (() => void)[] = [];
      for (const each of minutes) {
        const { serverId, sample } = each;
        const openedAt = incidents.get(serverId) ?? null;
        const step = await judge(tx, each, openedAt);
        if (step === 'open') notifications.push(await open(tx, serverId, sample));
        else if (step === 'close' && openedAt !== null) notifications.push(await end(tx, serverId, sample, openedAt));
        else if (step === 'forget' && openedAt !== null) notifications.push(await stop(tx, serverId, at, openedAt));
        incidents.delete(serverId);
      }
      for (const [serverId, openedAt] of incidents) notifications.push(await stop(tx, serverId, at, openedAt));
      return () => notifications.forEach((notify) => notify());
    },
    async spendCapReached(tx, { accountId, capMicros, action, at }) {
      for (const serverId of await listWebhookServers(tx, accountId))
        await outbox.add(tx, serverId, { event: 'spendCap.reached', at, capMicros, action });
    },
  };
}

interface PaceReading {
  at: number;
  /** 0 if the game did not report it. */
  tps: number;
  players: number;
}

/** The effect of a reading on a server's incident: one begins, the open one ends, or it belongs to an earlier run. */
type IncidentStep = 'open' | 'close' | 'forget';

const LOW_TPS = 15;
const LOW_READINGS = 3;
const GOOD_TPS = 18;
const GOOD_READINGS = 2;
const READINGS = Math.max(LOW_READINGS, GOOD_READINGS);

/**
 * Three minutes in a row below 15 ticks per second open an incident, two at 18 or more end it; readings in between, or
 * brief ones, change nothing. A minute without players opens none, because no player notices and an empty game may
 * pause. `recent` are the newest readings of this run of the game, oldest first, including this minute's.
 */
export function incidentStep(
  recent: readonly PaceReading[],
  { openedAt, readyAt }: { openedAt: number | null; readyAt: number },
): IncidentStep | undefined {
  if (openedAt === null) {
    const isLow = ({ tps, players }: PaceReading) => tps > 0 && tps < LOW_TPS && players > 0;
    return holds(recent, LOW_READINGS, isLow) ? 'open' : undefined;
  }
  if (openedAt < readyAt) return 'forget';
  return holds(recent, GOOD_READINGS, ({ tps }) => tps >= GOOD_TPS) ? 'close' : undefined;
}

function holds(recent: readonly PaceReading[], count: number, each: (reading: PaceReading) => boolean): boolean {
  const last = recent.slice(-count);
  return last.length === count && last.every(each);
}

/** Reports whether a step ends a game that hangs. */
function isHang({ event, from, to, cause }: ServerStep): boolean {
  return event === 'SAMPLE' && from === 'running' && to !== from && cause.id === 'hung';
}

/** Reports whether a step follows a forced stop: the game was killed before it had saved. */
function isForcedStop({ failure }: ServerStep): boolean {
  return failure === STOP_FORCED.code;
}

/** Alerts a server's webhook of a step, in the write of that step. */
export async function alertStep(
  outbox: Pick<WebhookOutbox, 'add'>,
  tx: Tx,
  { row, context }: ServerNow,
  step: ServerStep,
): Promise<void> {
  const { at } = step;
  if (isForcedStop(step)) return await outbox.add(tx, row.id, { event: 'stop.forced', at });
  if (!isHang(step)) return;
  const silentMs = at - (context.live.silentSince ?? at);
  await outbox.add(tx, row.id, { event: 'game.hung', at, silentMs, restarts: context.queued !== null });
}

/** Publishes the same alerts to the server's viewers, once the step is stored. Returns a function that stops this. */
export function followAlerts(servers: Servers, serverEvents: Pick<ServerEvents, 'publish'>): () => void {
  return servers.follow((step) => {
    if (step.kind !== 'server') return;
    if (isForcedStop(step)) serverEvents.publish(step.id, 'alert', { alert: 'stop.forced' });
    else if (isHang(step)) serverEvents.publish(step.id, 'alert', { alert: 'game.hung' });
  });
}
