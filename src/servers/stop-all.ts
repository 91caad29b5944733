import type { Cause } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { Servers } from './servers.ts';

/** Longest time until a stop becomes a kill and is stored. */
const MOST_MS = 130_000;

/** Whether a server in this state has a game, or may have one. */
export const hasGame = (state: string): boolean => isTagged(state, 'awake') || state === 'stopping';

/**
 * Puts every server to sleep and records `note` as the reason. Call it once servers can no longer be woken. Resolves
 * when all are asleep, or after two minutes. Logs each server that it could not stop.
 */
export async function stopAll(
  servers: Servers,
  { note, clock, log }: { note: string; clock: Clock; log: Log },
): Promise<void> {
  const cause: Cause = { kind: 'system', id: 'shutdown', note };
  const signal = AbortSignal.timeout(MOST_MS);
  const awake = servers.live().filter(({ state }) => hasGame(state));
  await Promise.all(
    awake.map(async ({ row: { id }, state }) => {
      try {
        if (state !== 'stopping') await servers.send(id, { type: 'STOP', at: clock.now(), cause });
        await servers.until(id, (now) => now === null || isTagged(now.state, 'at-rest'), signal);
      } catch (error) {
        log.error({ server: id, err: error }, 'could not put the server to sleep');
      }
    }),
  );
}
