import type { Clock } from '../kernel/clock.ts';

/** The holding of a mutex that others may have for a while. */
export interface Hold {
  /**
   * Does work that needs the mutex only once it is done: where it takes longer than a moment, others have the mutex meanwhile, and this
   * resolves when it is had back, before anybody who has not begun yet. Rejects as the work does, or with the reason of `signal`,
   * which also ends the wait for the mutex; then it may be others' for good.
   */
  lend: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;
}

/** Runs `work` once it is the turn of `key`, and settles as it does. `signal` ends the wait: `work` is then never called. */
export type WithLendable = <T>(key: string, work: (hold: Hold) => Promise<T>, signal: AbortSignal) => Promise<T>;

/** Gives the mutex. */
type Waiter = () => void;

/** A mutex that keys get in turns. A holder that waits for something slow lends it to others after `momentMs`. */
export function createLendableMutex(clock: Clock, momentMs: number): WithLendable {
  /** Holders that have lent it. */
  const back = new Set<Waiter>();
  /** Those that have not had it yet, by key. */
  const first = new Map<string, Set<Waiter>>();
  let isHeld = false;
  let lastKey: string | undefined;

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
    const [next = nextOfFirst()] = back;
    if (next === undefined) isHeld = false;
    else {
      back.delete(next);
      next();
    }
  }

  /** The next one of another key than the last, if there is one. */
  function nextOfFirst(): Waiter | undefined {
    const waiting = [...first].filter(([, own]) => own.size > 0);
    const [key, own] = waiting.find(([each]) => each !== lastKey) ?? waiting[0] ?? [];
    if (key === undefined || own === undefined) return undefined;
    const [next] = own;
    own.delete(next!);
    // Its next one stands behind the other keys.
    first.delete(key);
    if (own.size > 0) first.set(key, own);
    return next;
  }

  async function takeFirst(key: string, signal: AbortSignal): Promise<void> {
    const own = first.get(key) ?? new Set();
    first.set(key, own);
    await take(own, signal).finally(() => own.size === 0 && first.get(key) === own && first.delete(key));
    lastKey = key;
  }

  return async function withLendable(key, work, signal) {
    await takeFirst(key, signal);
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
