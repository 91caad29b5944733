import type { Clock } from '../../kernel/clock.ts';
import { sleep } from '../../kernel/sleep.ts';

/** Pauses after a failure grow from the first to the second. */
const RETRY_MS = 5_000;
const MOST_RETRY_MS = 600_000;
/** The key of the list itself. */
const ALL = '';

export interface LaneOptions<Row> {
  clock: Clock;
  /** Ends it, once what goes on has ended. */
  signal: AbortSignal;
  /** Returns the work to do, in order. If it rejects, nothing is done, and it is asked again. */
  list: () => Promise<readonly Row[]>;
  /** Identifies a row; never ''. */
  keyOf: (row: Row) => string;
  work: (row: Row) => Promise<void>;
  /** Told of the first failure of a round, and how many there were. */
  onFailed: (error: unknown, count: number) => void;
}

/** Does what is owed, one after the other, until it is done. */
export interface Lane {
  /** Looks at once for what is new. */
  kick(): void;
  /** Resolves once the signal has fired and the last work has ended. */
  run(): Promise<void>;
}

interface Pause {
  ms: number;
  /** When it is over, by the clock. */
  until: number;
}

/** Each that fails is tried again by itself, after a pause of its own: it holds up no other, be it older or new. */
export function createLane<Row>(options: LaneOptions<Row>): Lane {
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
        // Without end, where nothing is to be tried again.
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
