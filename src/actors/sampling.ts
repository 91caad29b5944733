import type { ServerEvent } from '../../machines/server-types.ts';
import type { Clock, Console, Pinger } from '../ports.ts';
import type { EffectHost } from './effect-host.ts';
import type { ServerNow } from './effect-host.ts';

/** A running game is asked for its players this often. */
export const SAMPLE_MS = 15_000;
const PING_TIMEOUT_MS = 3_000;
/** A status answer is kept for the time the server sleeps; one with more than this (a huge icon) is not worth it. */
const MAX_STATUS_CHARS = 16 * 1024;

interface SamplingOptions {
  pinger: Pinger;
  console: Console;
  clock: Clock;
  idleAfterMs: number;
  rconPassword: (serverId: string) => string;
}

/**
 * Sends a SAMPLE now and then until the returned function is called. Our own requests are no activity: only players that the
 * game itself counts are. Where the status does not answer, the console's `list` is asked; where neither does, players is null.
 */
export function sampleEvery(
  { pinger, console, clock, idleAfterMs, rconPassword }: SamplingOptions,
  host: EffectHost,
  id: string,
  send: (event: ServerEvent) => void,
): () => void {
  let cancel = () => {};
  let over = false;

  async function players({ row, context }: ServerNow): Promise<number | null> {
    if (context.address === null) return null;
    try {
      const status = await pinger.status(context.address, PING_TIMEOUT_MS);
      if (status.raw.length <= MAX_STATUS_CHARS) await remember(row.lastStatus, status.raw);
      return status.playersOnline;
    } catch {
      if (context.rcon === null) return null;
      const reply = await console.run(context.rcon, rconPassword(id), 'list').catch(() => '');
      const count = /There are (\d+)/.exec(reply)?.[1];
      return count === undefined ? null : Number(count);
    }
  }

  /** The status without who is online is what the server list shows while the server sleeps. */
  async function remember(before: string, raw: string): Promise<void> {
    const status = JSON.parse(raw) as { players?: { max?: number } };
    const lasting = JSON.stringify({ ...status, players: { max: status.players?.max ?? 0, online: 0 } });
    if (lasting !== before) await host.patch(id, { lastStatus: lasting });
  }

  async function sample(): Promise<void> {
    const now = host.now(id);
    if (now === undefined || over) return;
    const online = await players(now);
    if (over) return;
    const minutes = host.now(id)?.row.idleTimeoutMinutes ?? 0;
    send({
      type: 'SAMPLE',
      at: clock.now(),
      players: online,
      idleAfterMs: minutes > 0 ? minutes * 60_000 : idleAfterMs,
    });
    if (!over) cancel = clock.at(clock.now() + SAMPLE_MS, () => void sample());
  }

  cancel = clock.at(clock.now(), () => void sample());
  return () => {
    over = true;
    cancel();
  };
}
