import { type Anchor, type SteadyClock, type SteadyTime, steadyClock } from '../kernel/steady-clock.ts';
import { getMeta, setMeta } from '../store/meta.ts';
import type { Store } from '../store/store.ts';
import { lastProof } from './awake-session-rows.ts';

export interface SteadyClockOptions extends SteadyTime {
  /** Names what the count belongs to, this boot of the machine; '' where that is not known. */
  epoch: string;
}

const KEY = 'steady-clock';

/**
 * The kernel's count of time since the boot runs on whatever happens to this process, so the first start in a boot writes
 * down which instant it stands for, and all later ones go by that. After a reboot it is anchored anew, at the machine's clock,
 * but never before what sessions that still last have proven: they would wait until it is there again.
 */
export async function openSteadyClock(store: Store, options: SteadyClockOptions): Promise<SteadyClock> {
  const { clock, epoch, monotonicMs } = options;
  const anchor = await store.write(async (tx) => {
    const kept = JSON.parse((await getMeta(tx, KEY)) ?? 'null') as Anchor | null;
    if (kept !== null && epoch !== '' && kept.epoch === epoch && kept.monotonicMs <= monotonicMs()) return kept;
    const steadyMs = Math.max(clock.now(), await lastProof(tx));
    const made: Anchor = { epoch, monotonicMs: monotonicMs(), steadyMs };
    await setMeta(tx, KEY, JSON.stringify(made));
    return made;
  });
  return steadyClock(options, anchor);
}
