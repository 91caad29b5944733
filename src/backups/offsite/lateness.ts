import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import type { Log } from '../../kernel/log.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel/units.ts';
import type { Store } from '../../store/store.ts';
import { countUploads } from './rows.ts';

/** A large world on a slow connection takes a while. */
const LATE_MS = 6 * HOUR_MS;
const LOOK_MS = 10 * MINUTE_MS;

export interface LatenessOptions {
  store: Pick<Store, 'query'>;
  clock: Clock;
  log: Log;
}

/**
 * Logs an error for operators once backups have waited six hours for their upload, repeats it daily, and logs when it
 * is over.
 */
export function watchLateness({ store, clock, log }: LatenessOptions): () => void {
  let toldAt: number | undefined;
  async function look(): Promise<void> {
    const { count, since } = await countUploads(store);
    const now = clock.now();
    if (since === null || now - since < LATE_MS) {
      if (toldAt !== undefined) log.info({ waiting: count }, 'backups are brought off site again');
      toldAt = undefined;
      return;
    }
    if (toldAt !== undefined && now - toldAt < DAY_MS) return;
    toldAt = now;
    const hours = Math.floor((now - since) / HOUR_MS);
    log.error({ waiting: count, hours }, 'backups wait to be brought off site, and gather in the folder');
  }
  return every(clock, LOOK_MS, () => {
    look().catch((error: unknown) =>
      log.warn({ err: error }, 'it is not known how long backups wait to be brought off site'),
    );
  });
}
