import { createCache } from '../kernel/cache.ts';
import type { Store } from '../store/store.ts';

/** Changes by other processes (a row edited by hand) are noticed after this time. */
const REMEMBERED_MS = 30_000;
const REMEMBERED = 10_000;

/** Caches recently used credentials of one store by hash, so that most calls need no query. */
export interface CredentialMemory<Known> {
  /**
   * Returns the cached value of a hash, otherwise the result of `read`. Undefined is not cached, so that guesses do not
   * fill the memory.
   */
  recall(hash: string, now: number, read: () => Promise<Known | undefined>): Promise<Known | undefined>;
  /**
   * Forgets the credentials affected by a change. Call it once the change is stored, so that no later call uses old
   * values.
   */
  forget(concerned: (known: Known) => boolean): void;
}

/** Returns a function with one memory per store. */
export function createCredentialMemory<Known>(): (store: Store) => CredentialMemory<Known> {
  const memories = new WeakMap<Store, CredentialMemory<Known>>();
  return function memoryOf(store) {
    const memory = memories.get(store) ?? oneMemory<Known>();
    memories.set(store, memory);
    return memory;
  };
}

function oneMemory<Known>(): CredentialMemory<Known> {
  const cache = createCache<Known | undefined>({
    most: REMEMBERED,
    ttlMs: (known) => (known === undefined ? 0 : REMEMBERED_MS),
  });
  return {
    recall: (hash, now, read) => cache.get(hash, now, read),
    forget: (concerned) => cache.forget((known) => known !== undefined && concerned(known)),
  };
}
