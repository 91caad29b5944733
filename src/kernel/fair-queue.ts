/** Who wants work done: callers of one key take turns with those of others, and so do lanes. */
export interface Caller {
  /** Who is in another lane is not kept waiting by however many are in this one. */
  lane: string;
  key: string;
}

export interface FairQueueOptions {
  /** How much work is done at once. */
  atOnce: number;
  /** How many may wait in each lane. */
  mostWaiting: number;
  /** What is thrown to who is sent away. */
  full: () => Error;
}

/** Runs work when it is the caller's turn; rejects with `full()` where too many wait. */
export type FairQueue = <T>(caller: Caller, work: () => Promise<T>) => Promise<T>;

interface Waiting {
  start: () => void;
  refuse: (error: Error) => void;
}

type Lane = Map<string, Waiting[]>;

/**
 * A queue that nobody alone can fill: each key's first comes before any key's second. Where a lane is full, whoever has the
 * most waiting in it gives up their last for a caller with fewer.
 */
export function createFairQueue({ atOnce, mostWaiting, full }: FairQueueOptions): FairQueue {
  // In the order of turns: who has had one goes to the end.
  const lanes = new Map<string, Lane>();
  let running = 0;

  return async function run({ lane, key }, work) {
    if (running >= atOnce) await new Promise<void>((start, refuse) => enqueue(lane, key, { start, refuse }));
    else running++;
    try {
      return await work();
    } finally {
      // The place passes to the next, if there is one.
      const next = dequeue();
      if (next) next.start();
      else running--;
    }
  };

  function enqueue(name: string, key: string, waiting: Waiting): void {
    const lane: Lane = lanes.get(name) ?? new Map();
    const own = lane.get(key) ?? [];
    if (sizeOf(lane) >= mostWaiting && !makeRoom(lane, own.length)) return waiting.refuse(full());
    own.push(waiting);
    lane.set(key, own);
    lanes.set(name, lane);
  }

  /** Sends away the last of whoever has at least two more waiting than the caller. */
  function makeRoom(lane: Lane, own: number): boolean {
    const [longest = []] = [...lane.values()].toSorted((one, other) => other.length - one.length);
    if (longest.length < own + 2) return false;
    longest.pop()?.refuse(full());
    return true;
  }

  function dequeue(): Waiting | undefined {
    for (const [name, lane] of lanes) {
      const [turn] = lane;
      if (!turn) continue;
      const [key, own] = turn;
      const next = own.shift();
      lane.delete(key);
      if (own.length > 0) lane.set(key, own);
      lanes.delete(name);
      if (lane.size > 0) lanes.set(name, lane);
      return next;
    }
    return undefined;
  }
}

function sizeOf(lane: Lane): number {
  let size = 0;
  for (const own of lane.values()) size += own.length;
  return size;
}
