/**
 * Gives a value back unless a database would keep something else: numbers beyond 2^53 come back rounded, NaN and
 * undefined as NULL. RangeError for those.
 */
export function exact<T>(value: T): T {
  const tooLarge = typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER);
  if (tooLarge || value === undefined) throw new RangeError(`${String(value)} cannot be stored exactly.`);
  return value;
}
