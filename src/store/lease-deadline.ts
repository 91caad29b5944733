import { uptime } from 'node:os';
import { Worker } from 'node:worker_threads';

export interface DeadlineOptions {
  /** When the lease was last surely held, by `sinceBootMs`. */
  at: number;
  /** The process ends when so much time has passed since. */
  limitMs: number;
  /** Told by the event loop, where the thread cannot end the process; see `startDeadline`. */
  onLate: () => void;
  /** Descriptor to which it is said why. Default: standard error. */
  logFd?: number;
}

/** Data passed to its thread. */
export interface DeadlineData extends Required<Pick<DeadlineOptions, 'limitMs' | 'logFd'>> {
  /** One value, by `sinceBootMs`. */
  held: BigInt64Array;
}

/** Ends this process at once, unless it is put off. */
export interface Deadline {
  extend(at: number): void;
  stop(): Promise<void>;
}

const LOOK_MS = 100;

/** Time since the machine's boot, sleep included, which no clock of a program counts; setting the machine's clock does not change it. */
export function sinceBootMs(): number {
  return Math.round(uptime() * 1_000);
}

/**
 * Ends this process by SIGKILL as soon as its lease has not been renewed for `limitMs`: because it was stopped, its
 * event loop is stuck, its machine has slept, or the database is unreachable. Another process may be about to take
 * over, and this one must not act beside it. A thread checks, so that a busy event loop does not matter. Within a
 * container its first process cannot be killed from inside (pid_namespaces(7)): there the event loop has to find out.
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
