import type { Clock } from './clock.ts';

const LATE = Symbol('late');

/**
 * Settles like `work` if that takes at most `ms`. The work itself continues: `late` can end it. Its later failure is
 * ignored.
 */
export async function withTimeout<T, L = never>(
  work: Promise<T>,
  ms: number,
  {
    clock,
    signal,
    late = () => tooLate(ms),
  }: {
    /** The clock of the limit. Default: real time, regardless of the service's clock. */
    clock?: Clock;
    /** Ends the wait at once: it rejects with the signal's reason. */
    signal?: AbortSignal;
    /** Called when time is up. Its result or error becomes that of the wait. Default: throws an Error. */
    late?: () => L;
  } = {},
): Promise<T | L> {
  const over = Promise.withResolvers<typeof LATE>();
  const cancel = startTimer(ms, () => over.resolve(LATE), clock);
  try {
    const race = Promise.race([work, over.promise]);
    const first = await (signal ? abortable(race, signal) : race);
    return first === LATE ? late() : first;
  } finally {
    cancel();
  }
}

/**
 * Settles like `work`; rejects with the signal's reason once that fires. The work itself may serve other callers and
 * continues.
 */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work;
  const { promise, reject } = Promise.withResolvers<never>();
  const aborted = () => reject(signal.reason as Error);
  if (signal.aborted) aborted();
  signal.addEventListener('abort', aborted, { once: true });
  try {
    return await Promise.race([promise, work]);
  } finally {
    signal.removeEventListener('abort', aborted);
  }
}

function tooLate(ms: number): never {
  throw new Error(`not done within ${ms} ms`);
}

function startTimer(ms: number, fire: () => void, clock: Clock | undefined): () => void {
  if (clock) return clock.at(clock.now() + ms, fire);
  const timer = setTimeout(fire, ms);
  return () => clearTimeout(timer);
}
