import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';

/** Shorter than most tests may take in all: its error tells more than theirs. */
const PATIENCE_MS = 240_000;
/** So often one key may ask the API for as long as it likes. */
const EVERY_MS = 200;

interface Patience {
  /** What is waited for, for the error; without it, that shows the code of `ask`. */
  what?: string;
  /** The pause after each look; without it, pauses are short at first and then 200 ms. */
  everyMs?: number;
  withinMs?: number;
  /** What throws does not hold yet; without it, its error ends the wait. */
  despiteErrors?: boolean;
}

type Answer<T> = Exclude<Awaited<T>, undefined | false>;

/** Asks until the answer is neither undefined nor false, and resolves with it; throws after some minutes of real time. */
export async function until<T>(ask: () => T): Promise<Answer<T>>;
/** The same, where what is waited for has a name, or needs patience of its own. */
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
