import { abortable } from './timeout.ts';

/**
 * Runs `work` once all earlier work under the same mutex has ended, and settles as it does; its failure keeps nobody else out.
 * `signal` ends the wait: `work` is then never called. Work that has begun goes on to its end.
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
    // Whoever has given up leaves the others in their order. Nothing of what any of them came to is kept for the next.
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
