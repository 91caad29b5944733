import { type Engine, EngineError } from '../../engines/engine.ts';
import type { Clock } from '../../kernel/clock.ts';
import { sleep } from '../../kernel/sleep.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { GameEnded } from '../readiness.ts';

/** An unreachable engine is retried this often, for this long, before a start fails. */
const ENGINE_RETRY_MS = 2_000;
const ENGINE_PATIENCE_MS = MINUTE_MS;
/** Number of checks for an outage after a failure that an outage would explain. */
const ENGINE_LOOKS = 3;

export interface EnginePatience {
  engine: Engine;
  clock: Clock;
  /** Number of times the engine has come back after an outage. */
  outages: () => number;
}

/**
 * Retries while the engine is unreachable. An engine that is shutting down returns misleading errors and ends games, so
 * a later check distinguishes these from real failures.
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

/** Whether the engine is unreachable now, or has been since `before` outages were counted. */
async function wasAway(
  { engine, clock, outages }: EnginePatience,
  before: number,
  signal: AbortSignal,
): Promise<boolean> {
  for (let round = 0; round < ENGINE_LOOKS; round++) {
    await sleep(clock, ENGINE_RETRY_MS, signal);
    if (outages() > before || (await engine.list().then(() => false, isAway))) return true;
  }
  return false;
}

function isAway(error: unknown): boolean {
  return error instanceof EngineError && error.code === 'engine_unavailable';
}

/**
 * Whether an engine that is shutting down explains the error: it ends its games by signals and refuses requests with
 * errors of its own.
 */
function mayBeGoing(error: unknown): boolean {
  if (error instanceof GameEnded)
    return !error.exit?.oomKilled && [null, 0, 137, 143].includes(error.exit?.code ?? null);
  return error instanceof EngineError && error.code === 'unknown';
}
