import { type Cache, createCache } from '../kernel/cache.ts';
import type { Store } from '../store/store.ts';

/** Changes by other processes (a row edited by hand) are noticed after this time. */
const REMEMBERED_MS = 30_000;
const REMEMBERED = 10_000;

/** Caches recently used credentials of each store by hash, so that most calls need no query. */
export class CredentialMemory<Known> {
  readonly #caches = new WeakMap<Store, Cache<Known | undefined>>();

  /**
   * Returns the cached value of a hash, otherwise the result of `read`. Undefined is not cached, so that guesses do not
   * fill the memory.
   */
  recall(store: Store, hash: string, now: number, read: () => Promise<Known | undefined>): Promise<Known | undefined> {
    return this.#of(store).get(hash, now, read);
  }

  /**
   * Forgets the credentials affected by a change. Call it once the change is stored, so that no later call uses old
   * values.
   */
  forget(store: Store, concerned: (known: Known) => boolean): void {
    this.#of(store).forget((known) => known !== undefined && concerned(known));
  }

  #of(store: Store): Cache<Known | undefined> {
    const ttlMs = (known: Known | undefined) => (known === undefined ? 0 : REMEMBERED_MS);
    const cache = this.#caches.get(store) ?? createCache({ most: REMEMBERED, ttlMs });
    this.#caches.set(store, cache);
    return cache;
  }
}
