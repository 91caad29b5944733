import { createCache } from '../kernel/cache.ts';
import type { Store } from '../store/store.ts';

/** Changes by other processes (a row edited by hand) are noticed after this time. */
const REMEMBERED_MS = 30_000;
const REMEMBERED = 10_000;

/** The credentials that one store's callers used lately, by hash, so that a call does not cost a query. */
export interface CredentialMemory<Known> {
  /**
   * Returns the remembered value of a hash, else the result of `read`. Undefined is not remembered, so that guesses do
   * not fill the memory.
   */
  recall(hash: string, now: number, read: () => Promise<Known | undefined>): Promise<Known | undefined>;
  /** Forgets those that a change is about. To be called once it is stored: no later call is answered from before it. */
  forget(concerned: (known: Known) => boolean): void;
}

/** A memory for each store there is. */
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
