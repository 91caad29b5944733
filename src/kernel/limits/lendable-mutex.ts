import type { Clock } from '../clock.ts';

/** The holding of a mutex that others may have for a while. */
export interface Hold {
  /**
   * Does work that needs the mutex only once it is done: where it takes longer than a moment, others have the mutex meanwhile, and this
   * resolves when it is had back, before anybody who has not begun yet. Rejects as the work does, or with the reason of `signal`,
   * which also ends the wait for the mutex; then it may be others' for good.
   */
  lend: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;
}

/** Runs `work` once it is its turn, and settles as it does. `signal` ends the wait: `work` is then never called. */
export type WithLendable = <T>(work: (hold: Hold) => Promise<T>, signal: AbortSignal) => Promise<T>;

/** Gives the mutex. */
type Waiter = () => void;

/** A mutex in the order in which it is asked for, of which whoever waits for something slow keeps nobody out for more than `momentMs`. */
export function createLendableMutex(clock: Clock, momentMs: number): WithLendable {
  /** Those who have lent it, and those who have not had it yet. */
  const [back, first] = [new Set<Waiter>(), new Set<Waiter>()];
  let isHeld = false;

  async function take(line: Set<Waiter>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!isHeld) {
      isHeld = true;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const aborted = () => {
      if (line.delete(resolve)) reject(signal.reason as Error);
    };
    line.add(resolve);
    signal.addEventListener('abort', aborted, { once: true });
    await promise.finally(() => signal.removeEventListener('abort', aborted));
  }

  function give(): void {
    const line = back.size > 0 ? back : first;
    const [next] = line;
    if (next === undefined) isHeld = false;
    else {
      line.delete(next);
      next();
    }
  }

  return async function withLendable(work, signal) {
    await take(first, signal);
    let has = true;
    const leave = () => {
      if (!has) return;
      has = false;
      give();
    };
    const lend: Hold['lend'] = async (slow, until) => {
      const cancel = clock.at(clock.now() + momentMs, leave);
      const result = await slow().finally(cancel);
      if (!has) {
        await take(back, until);
        has = true;
      }
      return result;
    };
    try {
      return await work({ lend });
    } finally {
      leave();
    }
  };
}
