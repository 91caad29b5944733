import { sumTicks } from '../insight/telemetry-rows.ts';
import type { Clock } from '../kernel/clock.ts';
import { createMutex } from '../kernel/mutex.ts';
import type { Store } from '../store/store.ts';

/** A tick is stored at most this long after its instant. A younger one may still be in flight. */
const SETTLED_MS = 10_000;

/**
 * Counts the ticks charged from now on, and their cost. Each call adds those since the previous one. Ticks are kept for
 * at least a day, so rare calls suffice.
 */
export function createChargeCount(store: Store, clock: Clock): () => Promise<{ ticks: number; micros: number }> {
  const total = { ticks: 0, micros: 0 };
  let countedTo = clock.now() - SETTLED_MS;
  const withLock = createMutex();

  async function count(): Promise<{ ticks: number; micros: number }> {
    const until = clock.now() - SETTLED_MS;
    if (until <= countedTo) return { ...total };
    const { ticks, micros } = await sumTicks(store, countedTo, until);
    countedTo = until;
    total.ticks += ticks;
    total.micros += micros;
    return { ...total };
  }

  return () => withLock(count);
}
