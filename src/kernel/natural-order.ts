import { lazily } from './once.ts';

const collator = lazily(() => new Intl.Collator('en', { numeric: true }));

/** Compares texts by the numbers in them: `9` is before `10`, and `0.16.9` before `0.16.14`. */
export function compareNumbered(one: string, other: string): number {
  return collator().compare(one, other);
}

/** Compares two names as a reader would sort them, `world2` before `world10`. Different names are never equal. */
export function naturalOrder(one: string, other: string): number {
  return compareNumbered(one, other) || (one < other ? -1 : Number(one > other));
}
