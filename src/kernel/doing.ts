import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage<() => string>();

/** Does something under a name, which is asked for only where somebody wants to know. */
export function doing<T>(name: () => string, work: () => T): T {
  return current.run(name, work);
}

/** The name of the current activity; '' without one. */
export function nameOfDoing(): string {
  return current.getStore()?.() ?? '';
}
