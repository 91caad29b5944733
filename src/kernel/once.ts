/**
 * Returns a function that calls `make` on first use and returns the same result from then on. A failure is not stored:
 * the next call tries again.
 */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    if (made !== undefined) return made;
    const trying = make();
    made = trying;
    trying.catch(() => {
      if (made === trying) made = undefined;
    });
    return trying;
  };
}

/**
 * Like `once`, for synchronous values. Used for formatters, whose creation takes milliseconds and would delay the
 * start.
 */
export function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
