import { type Anchor, type SteadyClock, type SteadyTime, steadyClock } from '../kernel/steady-clock.ts';
import { getMeta, setMeta } from '../store/meta.ts';
import type { Store, Tx } from '../store/store.ts';
import { lastProof } from './awake-session-rows.ts';

export interface SteadyClockOptions extends SteadyTime {
  /** Names what the count belongs to, this boot of the machine; '' where that is not known. */
  epoch: string;
}

const KEY = 'steady-clock';
const AHEAD_KEY = 'steady-clock-ahead';

/**
 * The kernel's count of time since the boot runs on whatever happens to this process, so the first start in a boot writes
 * down which instant it stands for, and all later ones go by that. After a reboot, or on another machine, it is anchored anew:
 * at the machine's clock, less what that was set ahead in the boot before, so that accounts are not charged for hours that never
 * passed. But never before what sessions that still last have proven: they would wait until it is there again.
 */
export async function openSteadyClock(store: Store, options: SteadyClockOptions): Promise<SteadyClock> {
  const { clock, epoch, monotonicMs } = options;
  const anchor = await store.write(async (tx) => {
    const kept = JSON.parse((await getMeta(tx, KEY)) ?? 'null') as Anchor | null;
    if (kept !== null && epoch !== '' && kept.epoch === epoch && kept.monotonicMs <= monotonicMs()) return kept;
    const aheadMs = Number((await getMeta(tx, AHEAD_KEY)) ?? 0);
    const steadyMs = Math.max(clock.now() - aheadMs, await lastProof(tx));
    const made: Anchor = { epoch, monotonicMs: monotonicMs(), steadyMs };
    await setMeta(tx, KEY, JSON.stringify(made));
    return made;
  });
  return steadyClock(options, anchor);
}

/**
 * Stores how far the wall has been set ahead of the steady clock. A clock that was set back counts as 0: the next machine may
 * have another one, and an offset that is wrong there must not make time.
 */
export async function keepOffset(tx: Tx, offsetMs: number): Promise<void> {
  await setMeta(tx, AHEAD_KEY, String(Math.max(0, offsetMs)));
}
