import type { Clock } from './clock.ts';

interface Known<T> {
  value: T;
  staleAt: number;
}

/** Answers of another service, remembered for a while. */
export interface Recent<T> {
  /** The answer that is fresh, or on its way; else `ask` is called. What it rejects with is not remembered. */
  find(key: string, ask: () => Promise<T>): Promise<T>;
  /** How many are on their way. */
  asking(): number;
}

/** Keeps at most `most` answers, each for as long as `freshMs` says of it, and asks for one thing once at a time. */
export function createRecent<T>({
  clock,
  most,
  freshMs,
}: {
  clock: Clock;
  most: number;
  freshMs: (value: T) => number;
}): Recent<T> {
  const known = new Map<string, Known<T>>();
  const asking = new Map<string, Promise<T>>();

  async function answered(key: string, ask: () => Promise<T>): Promise<T> {
    try {
      const value = await ask();
      known.delete(key);
      known.set(key, { value, staleAt: clock.now() + freshMs(value) });
      if (known.size > most) known.delete(known.keys().next().value ?? '');
      return value;
    } finally {
      asking.delete(key);
    }
  }

  return {
    async find(key, ask) {
      const kept = known.get(key);
      if (kept && kept.staleAt > clock.now()) return kept.value;
      const underWay = asking.get(key);
      if (underWay) return underWay;
      const answer = answered(key, ask);
      asking.set(key, answer);
      return answer;
    },
    asking: () => asking.size,
  };
}
