import { createCache } from '../kernel/cache.ts';
import type { Clock } from '../kernel/clock.ts';
import { withTimeout } from '../kernel/timeout.ts';
import type { Engine } from './engine.ts';

/** Whether the engine answers. */
export interface Reachability {
  /** Asks the engine at most every 5 s, every second while it does not answer. */
  reachable(): Promise<boolean>;
}

const REACHABLE_MS = 5_000;
/** How often a silent engine is asked again, so that its return is noticed soon. */
const UNREACHABLE_MS = 1_000;
const ENGINE_MS = 3_000;

/** Asks by listing games, and remembers the answer for a while. */
export function createReachability(engine: Pick<Engine, 'list'>, clock: Clock): Reachability {
  const reached = createCache<boolean>({ most: 1, ttlMs: (reached) => (reached ? REACHABLE_MS : UNREACHABLE_MS) });
  return { reachable: () => reached.get('', clock.now(), () => answers(engine)) };
}

/** In real time: an engine that hangs does so whatever the service's clock says. */
async function answers(engine: Pick<Engine, 'list'>): Promise<boolean> {
  try {
    await withTimeout(engine.list(), ENGINE_MS);
    return true;
  } catch {
    return false;
  }
}
