/** Makes something when it is first asked for, and gives the same from then on. A failure is not kept: the next caller tries again. */
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

/** The same for what is made at once. A formatter of a language takes milliseconds to make, which a start need not wait for. */
export function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
