import { STOP_FORCED } from '../../../machines/server-reasons.ts';
import type { WebhookOutbox } from './outbox.ts';
import type { ServerEvents } from '../events.ts';
import type { ServerStep } from '../../audit/audit.ts';
import type { Tx } from '../../store/store.ts';
import type { ServerNow } from '../../servers/server-now.ts';
import type { Servers } from '../../servers/servers.ts';

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
