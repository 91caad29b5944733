import { createCache } from '../kernel/cache.ts';
import type { Clock } from '../kernel/clock.ts';
import { withTimeout } from '../kernel/timeout.ts';
import type { Engine } from './engine.ts';

/** Reports whether the engine responds. */
export interface Reachability {
  /** Queries the engine at most every 5 s, or every second while it does not respond. */
  reachable(): Promise<boolean>;
}

const REACHABLE_MS = 5_000;
/** Interval for an engine that does not respond, so that its return is noticed soon. */
const UNREACHABLE_MS = 1_000;
const ENGINE_MS = 3_000;

/** Queries the engine by listing its games, and caches the result. */
export function createReachability(engine: Pick<Engine, 'list'>, clock: Clock): Reachability {
  const reached = createCache<boolean>({ most: 1, ttlMs: (reached) => (reached ? REACHABLE_MS : UNREACHABLE_MS) });
  return { reachable: () => reached.get('', clock.now(), () => answers(engine)) };
}

/** Measures in real time, because an engine can hang whatever the service's clock shows. */
async function answers(engine: Pick<Engine, 'list'>): Promise<boolean> {
  try {
    await withTimeout(engine.list(), ENGINE_MS);
    return true;
  } catch {
    return false;
  }
}
