import { AsyncLocalStorage } from 'node:async_hooks';
import { Worker } from 'node:worker_threads';

/** A period in which one task blocked the event loop. */
export interface Stuck {
  stuckMs: number;
  /** The name from `withActivity`; '' without one. */
  activity: string;
  /** The stack, innermost first: function, file and line. */
  at: string[];
}

/** Data passed to its thread. */
export interface WatchdogData {
  stuckMs: number;
  /** Time limit of the watched thread's answer. A thread in native code cannot answer. */
  answerMs: number;
  logFd: number;
  beats: Int32Array;
  /** An expression that returns the name of the current activity. */
  asks: string;
}

const STUCK_MS = 2_000;
const ANSWER_MS = 1_000;
const BEATS_PER_SPAN = 8;
const ASK = Symbol.for('dormouse.activity');

/**
 * Watches this thread's event loop from another thread. After `stuckMs` without progress, writes the activity and the
 * stack to the log; `onStuck` gets them once the loop continues. The thread checks four times in that span and does
 * nothing else. It does not keep the process alive. Returns a function that stops it.
 */
export function startWatchdog({
  onStuck,
  stuckMs = STUCK_MS,
  answerMs = ANSWER_MS,
  logFd = 2,
}: {
  /** Called once the event loop continues, because it cannot run earlier. */
  onStuck: (stuck: Stuck) => void;
  stuckMs?: number;
  answerMs?: number;
  /** Descriptor for the log line written while the event loop is stuck. Default: standard error. */
  logFd?: number;
}): () => Promise<void> {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const beat = setInterval(() => void Atomics.add(beats, 0, 1), stuckMs / BEATS_PER_SPAN).unref();
  // The thread evaluates this while it has paused the current one.
  Reflect.set(globalThis, ASK, nameOfActivity);
  const asks = `globalThis[Symbol.for('${ASK.description}')]?.()`;
  const workerData: WatchdogData = { beats, stuckMs, answerMs, logFd, asks };
  const thread = new Worker(new URL('watchdog-thread.js', import.meta.url), { workerData, env: {}, execArgv: [] });
  thread.on('message', onStuck);
  // The service also works without the watchdog.
  thread.on('error', () => clearInterval(beat));
  thread.unref();
  return async () => {
    clearInterval(beat);
    await thread.terminate();
  };
}

const current = new AsyncLocalStorage<() => string>();

/** Runs `work` under a name. Calls `name` only if the watchdog reports it. */
export function withActivity<T>(name: () => string, work: () => T): T {
  return current.run(name, work);
}

/** The name of the current activity; '' without one. */
function nameOfActivity(): string {
  return current.getStore()?.() ?? '';
}
