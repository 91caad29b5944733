import type { Clock } from '../../kernel/clock.ts';
import { sleep } from '../../kernel/sleep.ts';

/** Pauses after failures grow from this to MOST_RETRY_MS. */
const RETRY_MS = 5_000;
const MOST_RETRY_MS = 600_000;
/** The key for failures of `list`. */
const ALL = '';

export interface UploadQueueOptions<Row> {
  clock: Clock;
  /** Ends the queue once the current work has ended. */
  signal: AbortSignal;
  /** Returns the work to do, in order. If it rejects, it is called again later. */
  list: () => Promise<readonly Row[]>;
  /** Identifies a row; never ''. */
  keyOf: (row: Row) => string;
  work: (row: Row) => Promise<void>;
  /** Called with the first error of a round and the number of errors. */
  onFailed: (error: unknown, count: number) => void;
}

/** Processes pending rows, one after the other, and retries failures. */
export interface UploadQueue {
  /** Checks for new work at once. */
  kick(): void;
  /** Resolves once the signal has fired and the last work has ended. */
  run(): Promise<void>;
}

interface Pause {
  ms: number;
  /** End of the pause, by the clock. */
  until: number;
}

/** Creates a queue. Each failed row is retried after its own pause and does not delay other rows. */
export function createUploadQueue<Row>(options: UploadQueueOptions<Row>): UploadQueue {
  const { clock, signal, list, keyOf, work, onFailed } = options;
  const pauses = new Map<string, Pause>();
  let kicked = new AbortController();

  async function round(): Promise<void> {
    const errors: unknown[] = [];
    const trying = async (key: string, attempt: () => Promise<void>) => {
      try {
        await attempt();
        pauses.delete(key);
      } catch (error) {
        errors.push(error);
        const ms = Math.min(2 * (pauses.get(key)?.ms ?? RETRY_MS / 2), MOST_RETRY_MS);
        pauses.set(key, { ms, until: clock.now() + ms });
      }
    };
    await trying(ALL, async () => {
      const rows = await list();
      const keys = new Set([ALL, ...rows.map(keyOf)]);
      for (const key of pauses.keys()) if (!keys.has(key)) pauses.delete(key);
      for (const row of rows) {
        if (signal.aborted) return;
        const key = keyOf(row);
        if ((pauses.get(key)?.until ?? 0) <= clock.now()) await trying(key, () => work(row));
      }
    });
    if (errors.length > 0 && !signal.aborted) onFailed(errors[0], errors.length);
  }

  return {
    kick: () => kicked.abort(),
    async run() {
      while (!signal.aborted) {
        kicked = new AbortController();
        const woken = AbortSignal.any([kicked.signal, signal]);
        await round();
        const next = Math.min(...[...pauses.values()].map(({ until }) => until));
        // Waits indefinitely if there is nothing to retry.
        await (next === Infinity ? fired(woken) : sleep(clock, next - clock.now(), woken).catch(() => {}));
      }
    },
  };
}

function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
