import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';

/** The default limit, shorter than the timeout of most tests, because this error says more than theirs. */
const PATIENCE_MS = 240_000;
/** The longest pause. At this rate, one key may call the API without limit. */
const EVERY_MS = 200;

interface Patience {
  /** The name of the condition, for the error. Default: the code of `ask`. */
  what?: string;
  /** The pause after each attempt. By default, pauses grow from 1 ms to 200 ms. */
  everyMs?: number;
  withinMs?: number;
  /** Whether an error means "not yet". By default, it ends the wait. */
  despiteErrors?: boolean;
}

type Answer<T> = Exclude<Awaited<T>, undefined | false>;

/**
 * Calls `ask` until it returns neither undefined nor false, and resolves with the answer. Rejects after four minutes of
 * real time.
 */
export async function until<T>(ask: () => T): Promise<Answer<T>>;
/** Does the same with a name for the condition, or with limits of its own. */
export async function until<T>(how: string | Patience, ask: () => T): Promise<Answer<T>>;
export async function until<T>(how: string | Patience | (() => T), second?: () => T): Promise<Answer<T>> {
  const ask = typeof how === 'function' ? how : second!;
  const patience = typeof how === 'string' ? { what: how } : typeof how === 'function' ? {} : how;
  const { what = String(ask), everyMs, withinMs = PATIENCE_MS, despiteErrors = false }: Patience = patience;
  const end = performance.now() + withinMs;
  for (let pauseMs = everyMs ?? 1; ; pauseMs = everyMs ?? Math.min(2 * pauseMs, EVERY_MS)) {
    let last: unknown;
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer as Answer<T>;
      last = answer;
    } catch (error) {
      if (!despiteErrors) throw error;
      last = error;
    }
    if (performance.now() > end)
      throw new Error(`not within ${withinMs} ms, but at last ${inspect(last)}: ${what}`, { cause: last });
    await delay(pauseMs);
  }
}
