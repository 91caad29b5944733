/** Lets so many pieces of work go on at once; further ones wait in line. */
export interface Gate {
  /** Resolves with what has to be called at the end. Rejects when `signal` fires, and with `full()` where the line is too long. */
  enter(signal: AbortSignal | undefined): Promise<() => void>;
}

export function createGate({
  atOnce,
  mostWaiting,
  full,
}: {
  atOnce: number;
  mostWaiting: number;
  full: () => Error;
}): Gate {
  const line = new Set<() => void>();
  let inside = 0;

  function leave(): void {
    const [next] = line;
    if (next === undefined) return void inside--;
    line.delete(next);
    next();
  }

  return {
    async enter(signal) {
      signal?.throwIfAborted();
      if (inside < atOnce) {
        inside++;
        return leave;
      }
      if (line.size >= mostWaiting) throw full();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const aborted = () => {
        if (line.delete(resolve)) reject(signal?.reason as Error);
      };
      line.add(resolve);
      signal?.addEventListener('abort', aborted, { once: true });
      await promise.finally(() => signal?.removeEventListener('abort', aborted));
      return leave;
    },
  };
}
