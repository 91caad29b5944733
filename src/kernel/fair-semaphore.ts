import { StatusError } from './status.ts';

/** Lets so much work go on at once, and so much of each tenant; further work waits, and tenants take turns. */
export interface FairSemaphore {
  /**
   * Resolves with what has to be called once at the end. Rejects with UNAVAILABLE BUSY where too much of the tenant, or of all
   * of them, waits already, and with its reason when `signal` fires.
   */
  enter(tenant: string, signal?: AbortSignal): Promise<() => void>;
}

export interface FairSemaphoreOptions {
  atOnce: number;
  /** Of one tenant. Less than `atOnce`, so that nobody holds all of it. */
  atOncePerTenant: number;
  mostWaiting: number;
  mostWaitingPerTenant: number;
}

type Waiter = () => void;

/** A tenant is whoever others are to be kept from waiting for: an account, or a server. */
export function createFairSemaphore(options: FairSemaphoreOptions): FairSemaphore {
  const { atOnce, atOncePerTenant, mostWaiting, mostWaitingPerTenant } = options;
  const holders = new Map<string, number>();
  /** In the order in which tenants get their turn. */
  const lines = new Map<string, Set<Waiter>>();
  let inside = 0;
  let waiting = 0;

  function mayEnter(tenant: string): boolean {
    return inside < atOnce && (holders.get(tenant) ?? 0) < atOncePerTenant;
  }

  function hold(tenant: string): void {
    inside += 1;
    holders.set(tenant, (holders.get(tenant) ?? 0) + 1);
  }

  function leaver(tenant: string): () => void {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      inside -= 1;
      const others = (holders.get(tenant) ?? 0) - 1;
      if (others > 0) holders.set(tenant, others);
      else holders.delete(tenant);
      admit();
    };
  }

  function admit(): void {
    for (const [tenant, line] of lines) {
      if (!mayEnter(tenant)) continue;
      const [first] = line;
      if (first === undefined) continue;
      forget(tenant, first);
      // Its next one stands behind the other tenants.
      if (lines.delete(tenant) && line.size > 0) lines.set(tenant, line);
      hold(tenant);
      first();
    }
  }

  function forget(tenant: string, waiter: Waiter): boolean {
    const line = lines.get(tenant);
    if (line === undefined || !line.delete(waiter)) return false;
    waiting -= 1;
    if (line.size === 0) lines.delete(tenant);
    return true;
  }

  return {
    async enter(tenant, signal) {
      signal?.throwIfAborted();
      if (mayEnter(tenant)) {
        hold(tenant);
        return leaver(tenant);
      }
      const line = lines.get(tenant) ?? new Set();
      if (waiting >= mostWaiting || line.size >= mostWaitingPerTenant) throw busy();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const aborted = () => {
        if (forget(tenant, resolve)) reject(signal?.reason as Error);
      };
      lines.set(tenant, line.add(resolve));
      waiting += 1;
      signal?.addEventListener('abort', aborted, { once: true });
      await promise.finally(() => signal?.removeEventListener('abort', aborted));
      return leaver(tenant);
    },
  };
}

function busy(): StatusError {
  const sentence = 'Too much work of this kind waits already. Try again in a few seconds.';
  return new StatusError('UNAVAILABLE', 'BUSY', sentence, { retryAfterSeconds: 5 });
}
