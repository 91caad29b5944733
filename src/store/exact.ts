/**
 * Returns a value that databases store exactly. Throws RangeError for any other: databases round numbers beyond 2^53,
 * and store NaN and undefined as NULL.
 */
export function exact<T>(value: T): T {
  const tooLarge = typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER);
  if (tooLarge || value === undefined) throw new RangeError(`${String(value)} cannot be stored exactly.`);
  return value;
}
