import type { Clock } from '../ports.ts';
import { getMeta, setMeta } from '../store/meta.ts';
import type { Store } from '../store/store.ts';

/** Tells how much time has passed, whoever sets the machine's clock meanwhile, across restarts of this process too. */
export interface SteadyClock {
  /** Epoch ms of a clock that never jumps: near to the real one, but only differences mean anything. */
  now(): number;
  /** The instant that the machine's clock calls `at`; never in the future. */
  at(at: number): number;
}

export interface SteadyClockOptions {
  clock: Clock;
  /** A count of ms that only grows. */
  monotonicMs: () => number;
  /** Names what the count belongs to, this boot of the machine; '' where that is not known. */
  epoch: string;
}

const KEY = 'steady-clock';

/**
 * The kernel's count of time since the boot runs on whatever happens to this process, so the first start in a boot writes
 * down which instant it stands for, and all later ones go by that. After a reboot no game runs, and it is anchored anew.
 */
export async function openSteadyClock(store: Store, options: SteadyClockOptions): Promise<SteadyClock> {
  const { clock, epoch, monotonicMs } = options;
  const anchor = await store.write(async (tx) => {
    const kept = JSON.parse((await getMeta(tx, KEY)) ?? 'null') as Anchor | null;
    if (kept !== null && epoch !== '' && kept.epoch === epoch && kept.monotonicMs <= monotonicMs()) return kept;
    const made: Anchor = { epoch, monotonicMs: monotonicMs(), steadyMs: clock.now() };
    await setMeta(tx, KEY, JSON.stringify(made));
    return made;
  });
  const now = () => anchor.steadyMs + Math.max(0, Math.floor(monotonicMs() - anchor.monotonicMs));
  return { now, at: (at) => now() - Math.max(0, clock.now() - at) };
}

interface Anchor {
  epoch: string;
  monotonicMs: number;
  steadyMs: number;
}
