/** So long requests are begun in one turn of the event loop; then pings, players and timers have theirs. */
const MOST_MS = 10;

/**
 * To be awaited before a part of a request that takes a millisecond or so: undefined where this turn has time for it. Where many
 * callers have come at once, what they ask for would else be done in one turn, as long as it takes.
 */
export function createTurns(mostMs = MOST_MS): () => Promise<void> | undefined {
  let endsAt: number | undefined;

  const isOver = (): boolean => {
    const now = performance.now();
    if (endsAt === undefined) {
      endsAt = now + mostMs;
      // The first thing that is done once the requests of this turn have been.
      setImmediate(() => (endsAt = undefined));
    }
    return now > endsAt;
  };

  async function later(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (isOver());
  }

  return () => (isOver() ? later() : undefined);
}

/** Of all requests of this process, which has one event loop. */
export const ownTurn = createTurns();
