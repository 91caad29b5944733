import { StatusError } from '../status.ts';

/** A caller that wants a place: callers of one key take turns with those of others, and so do queues. */
export interface Caller {
  /** The tenant that others must not wait for: an account, a server, a network. */
  key: string;
  /** Callers waiting in one queue do not block those of another. Default: one queue for all. */
  queue?: string;
}

/** Lets so much work go on at once; further work waits. */
export interface Semaphore {
  /**
   * Resolves with what has to be called at the end (a second time does nothing). Rejects with `full()` where too many wait, and
   * with its reason when `signal` fires.
   */
  enter(caller: Caller, signal?: AbortSignal): Promise<() => void>;
}

/** The limits of a semaphore. */
export interface SemaphoreOptions {
  /** How much work is done at once. */
  atOnce: number;
  /** Per key. Less than `atOnce`, so that one key cannot hold everything. Default: no limit of its own. */
  atOncePerKey?: number;
  /** How many may wait in each queue. */
  mostWaiting: number;
  /** Per key. Default: no limit of its own. */
  mostWaitingPerKey?: number;
  /**
   * In a full queue, the key with the most callers waiting gives up its last one for a key with fewer. Default: false.
   */
  makesRoom?: boolean;
  /** The error for a caller that is turned away. Default: UNAVAILABLE BUSY. */
  full?: () => Error;
}

interface Waiter {
  admit: () => void;
  refuse: (error: Error) => void;
}

/** Waiters by key, in the order in which keys get their turn. */
type Queue = Map<string, Set<Waiter>>;

/** Creates a semaphore that a single key cannot hold or fill: each key's first caller goes before any key's second. */
export function createSemaphore(options: SemaphoreOptions): Semaphore {
  const { atOnce, atOncePerKey = atOnce, mostWaiting, mostWaitingPerKey = mostWaiting } = options;
  const { makesRoom = false, full = busy } = options;
  const holders = new Map<string, number>();
  /** In the order of turns: one that has had its turn goes to the end. */
  const queues = new Map<string, Queue>();
  let inside = 0;

  return {
    async enter({ key, queue = '' }, signal) {
      signal?.throwIfAborted();
      if (mayEnter(key)) hold(key);
      else await wait(queue, key, signal);
      let isInside = true;
      return () => {
        if (!isInside) return;
        isInside = false;
        leave(key);
      };
    },
  };

  function mayEnter(key: string): boolean {
    return inside < atOnce && (holders.get(key) ?? 0) < atOncePerKey;
  }

  function hold(key: string): void {
    inside += 1;
    holders.set(key, (holders.get(key) ?? 0) + 1);
  }

  function leave(key: string): void {
    inside -= 1;
    const others = (holders.get(key) ?? 0) - 1;
    if (others > 0) holders.set(key, others);
    else holders.delete(key);
    admitNext();
  }

  async function wait(name: string, key: string, signal: AbortSignal | undefined): Promise<void> {
    const queue = queues.get(name) ?? (new Map() as Queue);
    const own = queue.get(key) ?? new Set();
    if (own.size >= mostWaitingPerKey || (sizeOf(queue) >= mostWaiting && !(makesRoom && makeRoom(queue, own.size))))
      throw full();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { admit: resolve, refuse: reject };
    queue.set(key, own.add(waiter));
    queues.set(name, queue);
    const aborted = () => {
      if (remove(name, key, waiter)) reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', aborted, { once: true });
    await promise.finally(() => signal?.removeEventListener('abort', aborted));
  }

  /** Turns away the last caller of a key that has at least two more waiting than the new caller's. */
  function makeRoom(queue: Queue, own: number): boolean {
    const [longest = new Set<Waiter>()] = [...queue.values()].toSorted((one, other) => other.size - one.size);
    const last = [...longest].at(-1);
    if (longest.size < own + 2 || last === undefined) return false;
    longest.delete(last);
    last.refuse(full());
    return true;
  }

  /** A place became free, so at most one waiting caller can enter. */
  function admitNext(): void {
    for (const [name, queue] of queues) {
      for (const [key, own] of queue) {
        const [first] = own;
        if (first === undefined || !mayEnter(key)) continue;
        remove(name, key, first);
        // Its next one stands behind the other keys, and its queue behind the other queues.
        if (queue.delete(key)) queue.set(key, own);
        if (queues.delete(name)) queues.set(name, queue);
        hold(key);
        return first.admit();
      }
    }
  }

  function remove(name: string, key: string, waiter: Waiter): boolean {
    const queue = queues.get(name);
    const own = queue?.get(key);
    if (!queue || !own?.delete(waiter)) return false;
    if (own.size === 0) queue.delete(key);
    if (queue.size === 0) queues.delete(name);
    return true;
  }
}

function sizeOf(queue: Queue): number {
  let size = 0;
  for (const own of queue.values()) size += own.size;
  return size;
}

function busy(): StatusError {
  const sentence = 'Too much work of this kind waits already. Try again in a few seconds.';
  return new StatusError('UNAVAILABLE', 'BUSY', sentence, { retryAfterSeconds: 5 });
}
