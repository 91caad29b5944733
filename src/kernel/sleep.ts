import type { Clock } from './clock.ts';

/** Resolves after `ms` of the clock; rejects at once when `signal` fires. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const aborted = () => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = clock.at(clock.now() + ms, () => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    });
    signal?.addEventListener('abort', aborted, { once: true });
  });
}
