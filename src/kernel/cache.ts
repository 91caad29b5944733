/** Caches values that are read from elsewhere, for a limited time. */
export interface Cache<T> {
  /**
   * Returns the cached or pending value of a key, else the result of `read`. Rejections are not cached. `version`: a
   * value of another version does not count. `now` is epoch ms, or any clock that all calls share.
   */
  get(key: string, now: number, read: () => Promise<T>, version?: string): Promise<T>;
  /** Removes a key. A read in progress for it is not cached. */
  drop(key: string): void;
  /**
   * Removes the values that a change concerns. Call it once the change is stored. Later calls never return a value from
   * before the change.
   */
  forget(concerned: (value: T) => boolean): void;
  /** Returns the number of keys being read. */
  inFlight(): number;
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

/** Creates a bounded cache in memory. Concurrent calls for a key share one read. */
export function createCache<T>({
  most,
  ttlMs,
}: {
  /** Most keys to cache. The least recently used key is removed first. */
  most: number;
  /**
   * How long a value is cached after the call that read it; 0: not at all. A value also expires if the clock is set
   * back this far.
   */
  ttlMs: (value: T) => number;
}): Cache<T> {
  const entries = new Map<string, Entry<T>>();
  const flights = new Map<string, Flight<T>>();
  let changes = 0;

  /** Deletes and reinserts the entry, so that the map stays in order of last use. */
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

  /** Reads again if a change was stored during the read, because the value may be older than the confirmed change. */
  async function fill(read: () => Promise<T>, keepOwn: (value: T) => void): Promise<T> {
    for (;;) {
      const before = changes;
      const value = await read();
      if (before !== changes) continue;
      // Runs in the same turn as the check of `changes`, so that no change can come in between.
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
