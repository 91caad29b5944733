import { lazily } from './once.ts';

const collator = lazily(() => new Intl.Collator('en', { numeric: true }));

/** Compares two names as a reader would sort them: without regard to case, and `world2` before `world10`. */
export function naturalOrder(one: string, other: string): number {
  return collator().compare(one, other) || (one < other ? -1 : Number(one > other));
}
