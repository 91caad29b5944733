/** Counts the holders of a limited number of places. Does not queue: for that, use a semaphore. */
export interface Places {
  /**
   * Takes a place under each key, with a maximum for each, and returns their release (idempotent); undefined if one is
   * full, in which case no place is taken.
   */
  take(most: Readonly<Record<string, number>>): (() => void) | undefined;
  /** Places taken under a key. */
  taken(key: string): number;
  /** Places taken under all keys. */
  total(): number;
}

/** Places in memory; a key without holders uses no memory. */
export function createPlaces(): Places {
  const counts = new Map<string, number>();
  const taken = (key: string) => counts.get(key) ?? 0;
  return {
    take(most) {
      const keys = Object.keys(most);
      if (keys.some((key) => taken(key) >= most[key]!)) return undefined;
      for (const key of keys) counts.set(key, taken(key) + 1);
      return () => {
        for (const key of keys.splice(0)) {
          const left = taken(key) - 1;
          if (left > 0) counts.set(key, left);
          else counts.delete(key);
        }
      };
    },
    taken,
    total: () => [...counts.values()].reduce((sum, count) => sum + count, 0),
  };
}
