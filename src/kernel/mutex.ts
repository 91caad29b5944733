/** Runs `work` after all earlier work of the same key has ended, so that a check holds until what it allows is done. */
export type Turns = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** Turns of one kind; different keys don't wait for each other. Keys without work under way take no memory. */
export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return async function inTurn(key, work) {
    const turn = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (last.get(key) === turn) last.delete(key);
    }
  };
}
