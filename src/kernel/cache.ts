/** Remembers values that are read elsewhere, for a while. */
export interface Cache<T> {
  /**
   * Returns the cached or pending value of a key, else the result of `read`. Rejections are not cached. `version`: a
   * value of another version does not count. `now` is epoch ms, or any clock that all calls share.
   */
  get(key: string, now: number, read: () => Promise<T>, version?: string): Promise<T>;
  /** Forgets a key; what is being read of it is not remembered. */
  drop(key: string): void;
  /** Forgets what a change is about. To be called once it is stored: no later call is answered from before it. */
  forget(concerned: (value: T) => boolean): void;
  /** How many keys are being read. */
  inFlight(): number;
}

/** How much is remembered, and for how long. */
export interface CacheOptions<T> {
  /** Keys at most; the one asked for longest ago is forgotten first. */
  most: number;
  /** From when it was asked for; 0: not at all. Either way of time: a clock set back makes nothing last longer. */
  ttlMs: (value: T) => number;
}

interface Entry<T> {
  value: T;
  at: number;
  version: string | undefined;
}

interface Flight<T> {
  result: Promise<T>;
  version: string | undefined;
}

/** A bounded cache in memory, which reads one key once at a time. */
export function createCache<T>({ most, ttlMs }: CacheOptions<T>): Cache<T> {
  const entries = new Map<string, Entry<T>>();
  const flights = new Map<string, Flight<T>>();
  let changes = 0;

  /** Taken out and put back, so that the map stays in the order of last use. */
  function take(key: string, now: number, version: string | undefined): Entry<T> | undefined {
    const entry = entries.get(key);
    if (!entry) return undefined;
    entries.delete(key);
    if (entry.version !== version || Math.abs(now - entry.at) >= ttlMs(entry.value)) return undefined;
    entries.set(key, entry);
    return entry;
  }

  function keep(key: string, entry: Entry<T>): void {
    if (ttlMs(entry.value) <= 0) return;
    entries.set(key, entry);
    const [oldest] = entries.keys();
    if (oldest !== undefined && entries.size > most) entries.delete(oldest);
  }

  /** Reads once more where something changed meanwhile: what was found may be from before, and the change confirmed to somebody. */
  async function fill(read: () => Promise<T>, keepOwn: (value: T) => void): Promise<T> {
    for (;;) {
      const before = changes;
      const value = await read();
      if (before !== changes) continue;
      // Synchronously after the look at `changes`, so that none comes in between.
      keepOwn(value);
      return value;
    }
  }

  return {
    async get(key, now, read, version) {
      const entry = take(key, now, version);
      if (entry) return entry.value;
      const other = flights.get(key);
      if (other && other.version === version) return await other.result;
      const keepOwn = (value: T) => {
        if (flights.get(key) !== flight) return;
        flights.delete(key);
        keep(key, { value, at: now, version });
      };
      const flight: Flight<T> = { result: fill(read, keepOwn), version };
      flights.set(key, flight);
      try {
        return await flight.result;
      } finally {
        if (flights.get(key) === flight) flights.delete(key);
      }
    },
    drop(key) {
      entries.delete(key);
      flights.delete(key);
    },
    forget(concerned) {
      changes += 1;
      for (const [key, { value }] of entries) if (concerned(value)) entries.delete(key);
    },
    inFlight: () => flights.size,
  };
}
