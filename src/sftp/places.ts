/** Counts who holds a place where there are only so many. */
export interface Places {
  /** Takes a place under each key, of which there are at most so many; undefined where one is full, and none is taken. */
  take(most: Readonly<Record<string, number>>): (() => void) | undefined;
}

export function createPlaces(): Places {
  const taken = new Map<string, number>();
  return {
    take(most) {
      const keys = Object.keys(most);
      if (keys.some((key) => (taken.get(key) ?? 0) >= most[key]!)) return undefined;
      for (const key of keys) taken.set(key, (taken.get(key) ?? 0) + 1);
      let held = true;
      return () => {
        if (!held) return;
        held = false;
        for (const key of keys) {
          const left = taken.get(key)! - 1;
          if (left > 0) taken.set(key, left);
          else taken.delete(key);
        }
      };
    },
  };
}
