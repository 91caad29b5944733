import { abortable } from './timeout.ts';

/**
 * Runs `work` once all earlier work under the same mutex has ended, and settles like it; a failure does not block
 * others. `signal` ends the wait: `work` is then never called. Work that has started runs to its end.
 */
export type WithLock = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/** `WithLock` with a mutex for each key: different keys don't wait for each other. */
export type WithKeyLock = <T>(key: string, work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/** Creates a mutex. Work runs in order of the calls. Work that requests a mutex it already holds waits forever. */
export function createMutex(): WithLock {
  let last: Promise<unknown> = Promise.resolve();
  return function withLock(work, signal) {
    const turn = last;
    const result = (signal ? abortable(turn, signal) : turn).then(() => {
      signal?.throwIfAborted();
      return work();
    });
    // Wait for both, so that a caller that gives up does not change the order. Drop the result, so that it does not stay in memory.
    last = Promise.allSettled([turn, result]).then(() => undefined);
    return result;
  };
}

/** Creates mutexes by key. Keys without work in flight use no memory. */
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
