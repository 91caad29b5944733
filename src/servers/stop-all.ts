import type { Cause } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { Servers } from './servers.ts';

const CAUSE: Cause = { kind: 'system', id: 'shutdown', note: 'its games end with the service, as the container does' };
/** As long as a stop may take until it is a kill, and what is stored then. */
const MOST_MS = 130_000;

/**
 * Has every game save and end, for where none outlives this process. Nobody may be able to wake one any more. Resolves when all
 * are asleep, after two minutes at the latest; what could not be told is logged.
 */
export async function stopAll(
  servers: Pick<Servers, 'live' | 'send' | 'until'>,
  { clock, log }: { clock: Pick<Clock, 'now'>; log: Log },
): Promise<void> {
  const signal = AbortSignal.timeout(MOST_MS);
  const awake = servers.live().filter(({ state }) => isTagged(state, 'awake') || state === 'stopping');
  await Promise.all(
    awake.map(async ({ row: { id }, state }) => {
      try {
        if (state !== 'stopping') await servers.send(id, { type: 'STOP', at: clock.now(), cause: CAUSE });
        await servers.until(id, (now) => now === null || isTagged(now.state, 'at-rest'), signal);
      } catch (error) {
        log.error({ server: id, err: error }, 'could not be put to sleep; its game ends as it is');
      }
    }),
  );
}
