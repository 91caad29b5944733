import { abortable } from './timeout.ts';

/**
 * Runs `work` once all earlier work under the same mutex has ended, and settles like it; a failure does not block
 * others. `signal` ends the wait: `work` is then never called. Work that has started runs to its end.
 */
export type WithLock = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/** `WithLock` with a mutex for each key: different keys don't wait for each other. */
export type WithKeyLock = <T>(key: string, work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/** A mutex. Work gets it in the order in which it was asked for; work that asks for a mutex it holds waits for ever. */
export function createMutex(): WithLock {
  let last: Promise<unknown> = Promise.resolve();
  return function withLock(work, signal) {
    const turn = last;
    const result = (signal ? abortable(turn, signal) : turn).then(() => {
      signal?.throwIfAborted();
      return work();
    });
    // A caller that gave up keeps the others in order. Results are not kept in memory for the next.
    last = Promise.allSettled([turn, result]).then(() => undefined);
    return result;
  };
}

/** Mutexes by key. Keys without work in flight take no memory. */
export function createKeyedMutex(): WithKeyLock {
  const held = new Map<string, { withLock: WithLock; users: number }>();
  return async function withLock(key, work, signal) {
    const mutex = held.get(key) ?? { withLock: createMutex(), users: 0 };
    held.set(key, mutex);
    mutex.users += 1;
    try {
      return await mutex.withLock(work, signal);
    } finally {
      mutex.users -= 1;
      if (mutex.users === 0) held.delete(key);
    }
  };
}
