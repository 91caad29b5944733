import { AsyncLocalStorage } from 'node:async_hooks';
import { Worker } from 'node:worker_threads';

/** A time in which the event loop did nothing but one thing. */
export interface Stuck {
  stuckMs: number;
  /** As `withActivity` named it; '' for nothing. */
  activity: string;
  /** The stack, innermost first: function, file and line. */
  at: string[];
}

export interface WatchdogOptions {
  /** Told once it goes on again, as nothing can be told here before. */
  onStuck: (stuck: Stuck) => void;
  /** Default: 2 s. */
  stuckMs?: number;
  /** Descriptor to which a line is written while it is stuck. Default: standard error. */
  logFd?: number;
}

/** Data passed to its thread. */
export interface WatchdogData extends Required<Pick<WatchdogOptions, 'stuckMs' | 'logFd'>> {
  beats: Int32Array;
  /** An expression that gives the name of what is done. */
  asks: string;
}

const STUCK_MS = 2_000;
const BEATS_PER_SPAN = 8;
const ASK = Symbol.for('dormouse.activity');

/**
 * Watches this thread's event loop from another thread. If it is stuck, `onStuck` or the log gets the stack within 2 s.
 * The thread looks four times in that span and does nothing else. It does not keep the process alive. Returns a
 * function that stops it.
 */
export function startWatchdog({ onStuck, stuckMs = STUCK_MS, logFd = 2 }: WatchdogOptions): () => Promise<void> {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const beat = setInterval(() => void Atomics.add(beats, 0, 1), stuckMs / BEATS_PER_SPAN).unref();
  // Called by the thread while this one stands still, in the middle of what it does.
  Reflect.set(globalThis, ASK, nameOfActivity);
  const asks = `globalThis[Symbol.for('${ASK.description}')]?.()`;
  const workerData: WatchdogData = { beats, stuckMs, logFd, asks };
  const thread = new Worker(new URL('watchdog-thread.js', import.meta.url), { workerData, env: {}, execArgv: [] });
  thread.on('message', onStuck);
  // Without it the service is as good as with it.
  thread.on('error', () => clearInterval(beat));
  thread.unref();
  return async () => {
    clearInterval(beat);
    await thread.terminate();
  };
}

const current = new AsyncLocalStorage<() => string>();

/** Does something under a name, which is asked for only where somebody wants to know. */
export function withActivity<T>(name: () => string, work: () => T): T {
  return current.run(name, work);
}

/** The name of the current activity; '' without one. */
function nameOfActivity(): string {
  return current.getStore()?.() ?? '';
}
