/** Counts who holds a place where there are only so many. Nobody waits for one: that is a semaphore. */
export interface Places {
  /**
   * Takes a place under each key, of which there are at most so many, and gives what frees them (a second time does nothing);
   * undefined where one is full, and then none is taken.
   */
  take(most: Readonly<Record<string, number>>): (() => void) | undefined;
  /** Places taken under a key. */
  taken(key: string): number;
  /** Places taken under all keys. */
  total(): number;
}

/** Places in memory; a key of which none is taken takes none. */
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
