import type { Clock } from '../kernel/clock.ts';

/** A held mutex, which can be lent to others for a while. */
export interface Hold {
  /**
   * Runs work that needs the mutex only once it is done. If the work takes longer than a moment, the mutex is lent to
   * others, and this resolves when it is back, before any key that has not held it yet. Rejects with the error of the
   * work, or with the reason of `signal`, which also ends the wait for the mutex. After a rejection, the mutex may no
   * longer be held.
   */
  lend: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;
}

/**
 * Runs `work` with the mutex when it is the turn of `key`, and settles with its result. If `signal` fires during the
 * wait, `work` is never called.
 */
export type WithLendable = <T>(key: string, work: (hold: Hold) => Promise<T>, signal: AbortSignal) => Promise<T>;

/** Hands the mutex to a waiter. */
type Waiter = () => void;

/**
 * Creates a mutex that keys hold in rotation. A holder that waits for slow work lends it to others after `momentMs`.
 */
export function createLendableMutex(clock: Clock, momentMs: number): WithLendable {
  /** Holders that have lent the mutex and are waiting for it. */
  const back = new Set<Waiter>();
  /** Waiters that have not held the mutex yet, by key. */
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

  /** Removes and returns the next waiter, of another key than the last if possible; undefined without waiters. */
  function nextOfFirst(): Waiter | undefined {
    const waiting = [...first].filter(([, own]) => own.size > 0);
    const [key, own] = waiting.find(([each]) => each !== lastKey) ?? waiting[0] ?? [];
    if (key === undefined || own === undefined) return undefined;
    const [next] = own;
    own.delete(next!);
    // The key's next waiter goes behind the other keys.
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
