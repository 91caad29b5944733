import { uptime } from 'node:os';
import { Worker } from 'node:worker_threads';

export interface DeadlineOptions {
  /** The last time at which the lease was certainly held, by `sinceBootMs`. */
  at: number;
  /** The process ends this long after `at`, unless the deadline is extended. */
  limitMs: number;
  /** Called by the event loop when time is up, in case the thread cannot end the process; see `startDeadline`. */
  onLate: () => void;
  /** Descriptor for the log line with the reason. Default: standard error. */
  logFd?: number;
}

/** Data passed to its thread. */
export interface DeadlineData extends Required<Pick<DeadlineOptions, 'limitMs' | 'logFd'>> {
  /** One value: the last time at which the lease was held, by `sinceBootMs`. */
  held: BigInt64Array;
}

/** Ends this process at its time limit, unless it is extended or stopped. */
export interface Deadline {
  extend(at: number): void;
  stop(): Promise<void>;
}

const LOOK_MS = 100;

/**
 * Returns the ms since the machine's boot, including sleep, which no clock of a program counts. Setting the machine's
 * clock does not change them.
 */
export function sinceBootMs(): number {
  return Math.round(uptime() * 1_000);
}

/**
 * Ends this process by SIGKILL as soon as its lease has not been renewed for `limitMs`: because it was stopped, its
 * event loop is stuck, its machine was asleep, or the database is unreachable. Another process may be about to take
 * over, and this one must not act beside it. A thread checks, so that a busy event loop does not matter. The first
 * process of a container cannot be killed from inside (pid_namespaces(7)), so the event loop checks, too.
 */
export function startDeadline({ at, limitMs, onLate, logFd = 2 }: DeadlineOptions): Deadline {
  const held = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));
  const extend = (heldAt: number) => void Atomics.store(held, 0, BigInt(heldAt));
  extend(at);
  const workerData: DeadlineData = { held, limitMs, logFd };
  const thread = new Worker(new URL('lease-deadline-thread.js', import.meta.url), {
    workerData,
    env: {},
    execArgv: [],
  });
  thread.unref();
  const isLate = () => sinceBootMs() - Number(Atomics.load(held, 0)) >= limitMs;
  const looking = setInterval(() => isLate() && onLate(), LOOK_MS).unref();
  return {
    extend,
    async stop() {
      clearInterval(looking);
      await thread.terminate();
    },
  };
}
