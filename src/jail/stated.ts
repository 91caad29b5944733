import type { Stats } from 'node:fs';

/** The range of RFC 3339, as epoch ms: the years 1 to 9999. */
const [EARLIEST, LATEST] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')];

/**
 * Returns when an entry was last changed, in whole epoch ms. A game's process may set any date, and some file systems
 * keep it: dates outside the valid range are clamped.
 */
export function modifiedAtOf({ mtimeMs }: Stats): number {
  return Math.min(Math.max(EARLIEST, Math.trunc(mtimeMs)), LATEST);
}

/**
 * Returns the size of a file in bytes; 0 for any other entry. Limited to the largest exact number, because a sparse
 * file may be larger.
 */
export function sizeOf(stats: Stats): number {
  return stats.isFile() ? Math.min(stats.size, Number.MAX_SAFE_INTEGER) : 0;
}
