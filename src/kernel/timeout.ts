import type { Clock } from './clock.ts';

const LATE = Symbol('late');

/** How `withTimeout` waits. */
export interface TimeoutOptions<L> {
  /** By whose time. Default: real time, whatever the service's clock says. */
  clock?: Clock;
  /** Ends the wait at once: it rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Gives the result, or throws the error, of a wait that took too long. Default: throws an Error. */
  late?: () => L;
}

/**
 * What `work` settles with, where that takes `ms` at most. The work itself goes on: whoever can end it does so in `late`. Its later
 * failure is nobody's.
 */
export async function withTimeout<T, L = never>(
  work: Promise<T>,
  ms: number,
  { clock, signal, late = () => tooLate(ms) }: TimeoutOptions<L> = {},
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

/** What `work` settles with; rejects with the signal's reason once that fires. The work itself may serve others and goes on. */
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
