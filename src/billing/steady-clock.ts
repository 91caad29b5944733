import { type Anchor, type SteadyClock, type SteadyTime, steadyClock } from '../kernel/steady-clock.ts';
import { getMeta, setMeta } from '../store/meta.ts';
import type { Store, Tx } from '../store/store.ts';
import { lastProof } from './awake-session-rows.ts';

const KEY = 'steady-clock';
const AHEAD_KEY = 'steady-clock-ahead';

/**
 * Opens the steady clock. The kernel's count of time since boot is independent of this process, so the first start in a
 * boot stores the instant it corresponds to, and later starts use it. After a reboot, or on another machine, it is set
 * anew: to the wall clock, minus its lead over the steady clock in the previous boot, so that accounts are not charged
 * for hours that never passed. It is never earlier than the time that open sessions have proven, because they would not
 * be metered until it is reached again. `epoch` identifies this boot of the machine, to which the count belongs; '' if
 * unknown.
 */
export async function openSteadyClock(store: Store, epoch: string, time: SteadyTime): Promise<SteadyClock> {
  const { clock, monotonicMs } = time;
  const anchor = await store.write(async (tx) => {
    const kept = JSON.parse((await getMeta(tx, KEY)) ?? 'null') as Anchor | null;
    if (kept !== null && epoch !== '' && kept.epoch === epoch && kept.monotonicMs <= monotonicMs()) return kept;
    const aheadMs = Number((await getMeta(tx, AHEAD_KEY)) ?? 0);
    const steadyMs = Math.max(clock.now() - aheadMs, await lastProof(tx));
    const made: Anchor = { epoch, monotonicMs: monotonicMs(), steadyMs };
    await setMeta(tx, KEY, JSON.stringify(made));
    return made;
  });
  return steadyClock(time, anchor);
}

/**
 * Stores how far the wall clock is ahead of the steady clock. A wall clock that was set back counts as 0: the next
 * machine may have another clock, and a wrong offset must not add time.
 */
export async function keepOffset(tx: Tx, offsetMs: number): Promise<void> {
  await setMeta(tx, AHEAD_KEY, String(Math.max(0, offsetMs)));
}
