import { type Engine, EngineError } from '../../engines/engine.ts';
import type { Clock } from '../../kernel/clock.ts';
import { sleep } from '../../kernel/sleep.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { GameEnded } from '../readiness.ts';

/** An engine that does not answer is asked again this often, for this long, before a start has failed. */
const ENGINE_RETRY_MS = 2_000;
const ENGINE_PATIENCE_MS = MINUTE_MS;
/** How often it is looked at after a failure that its going down would explain. */
const ENGINE_LOOKS = 3;

export interface EnginePatience {
  engine: Pick<Engine, 'list'>;
  clock: Clock;
  /** How often the engine has come back after it was out of reach. */
  outages: () => number;
}

/**
 * Tries again while the engine is out of reach. What it answers, and what becomes of games, while it is going down is
 * told from a real failure by asking it a little later.
 */
export async function withPatience<T>(of: EnginePatience, signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  const { clock } = of;
  for (const end = clock.now() + ENGINE_PATIENCE_MS; ; await sleep(clock, ENGINE_RETRY_MS, signal)) {
    const outages = of.outages();
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if (clock.now() >= end || !(isAway(error) || (mayBeGoing(error) && (await wasAway(of, outages, signal)))))
        throw error;
    }
  }
}

/** Whether the engine is out of reach now, or was since `before` outages were counted. */
async function wasAway(
  { engine, clock, outages }: EnginePatience,
  before: number,
  signal: AbortSignal,
): Promise<boolean> {
  for (let look = 0; look < ENGINE_LOOKS; look++) {
    await sleep(clock, ENGINE_RETRY_MS, signal);
    if (outages() > before || (await engine.list().then(() => false, isAway))) return true;
  }
  return false;
}

function isAway(error: unknown): boolean {
  return error instanceof EngineError && error.code === 'engine_unavailable';
}

/** An engine that is shutting down ends its games by signals and refuses in words of its own. */
function mayBeGoing(error: unknown): boolean {
  if (error instanceof GameEnded)
    return !error.exit?.oomKilled && [null, 0, 137, 143].includes(error.exit?.code ?? null);
  return error instanceof EngineError && error.code === 'unknown';
}
