import { StatusError } from '../status.ts';

/** A caller that wants a place. Keys take turns within a queue, and queues take turns. */
export interface Caller {
  /** The tenant that others must not wait for: an account, a server, a network. */
  key: string;
  /** Callers waiting in one queue do not block those of another. Default: one queue for all. */
  queue?: string;
}

/** Limits concurrent work. Further callers wait in a queue. */
export interface Semaphore {
  /**
   * Waits for a place. Resolves with a function that releases it; further calls do nothing. Rejects with `full()` if
   * too many callers wait, and with the signal's reason when `signal` fires.
   */
  enter(caller: Caller, signal?: AbortSignal): Promise<() => void>;
}

/** The limits of a semaphore. */
export interface SemaphoreOptions {
  /** Most callers that hold a place. */
  atOnce: number;
  /**
   * Most callers of one key that hold a place. Set it below `atOnce`, so that one key cannot take all places. Default:
   * `atOnce`.
   */
  atOncePerKey?: number;
  /** Most callers that wait in each queue. */
  mostWaiting: number;
  /** Most callers of one key that wait in each queue. Default: `mostWaiting`. */
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
  /** In order of turns. A queue that has had its turn moves to the end. */
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

  /**
   * Turns away the last caller of the key with the most waiting callers, if it has at least two more than the new
   * caller's key. Returns false otherwise.
   */
  function makeRoom(queue: Queue, own: number): boolean {
    const [longest = new Set<Waiter>()] = [...queue.values()].toSorted((one, other) => other.size - one.size);
    const last = [...longest].at(-1);
    if (longest.size < own + 2 || last === undefined) return false;
    longest.delete(last);
    last.refuse(full());
    return true;
  }

  /** Admits the next waiting caller, if one may enter. At most one can, because only one place became free. */
  function admitNext(): void {
    for (const [name, queue] of queues) {
      for (const [key, own] of queue) {
        const [first] = own;
        if (first === undefined || !mayEnter(key)) continue;
        remove(name, key, first);
        // Move the key behind the other keys, and the queue behind the other queues.
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
  const sentence = 'Too many requests of this kind are waiting. Try again in a few seconds.';
  return new StatusError('UNAVAILABLE', 'BUSY', sentence, { retryAfterSeconds: 5 });
}
