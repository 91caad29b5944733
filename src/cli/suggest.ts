/** Limits of word lengths: up to SHORT letters, one may differ; below LONG, two; from there, three. */
const SHORT = 4;
const LONG = 9;

/**
 * Returns the words most likely meant by `word`: those that start with it or differ by a few typos, the nearest first,
 * at most three. Empty if no word is near or `word` is one of them.
 */
export function nearest(word: string, known: readonly string[]): string[] {
  const written = plain(word);
  if (written === '' || known.includes(word)) return [];
  const most = written.length <= SHORT ? 1 : written.length < LONG ? 2 : 3;
  return [...new Set(known)]
    .map((each) => ({ each, slips: slipsTo(written, plain(each)) }))
    .filter(({ slips }) => slips <= most)
    .toSorted((one, other) => one.slips - other.slips)
    .slice(0, 3)
    .map(({ each }) => each);
}

/** Returns the nearest words as a question; '' if no word is near. */
export function suggest(word: string, known: readonly string[]): string {
  return didYouMean(nearest(word, known));
}

/** Returns `Did you mean one, two or three?`; '' without suggestions. */
export function didYouMean(words: readonly string[]): string {
  const last = words.at(-1);
  if (last === undefined) return '';
  return `Did you mean ${words.length === 1 ? last : `${words.slice(0, -1).join(', ')} or ${last}`}?`;
}

/** Returns the number of typos. A prefix of more than two letters counts as one. */
function slipsTo(written: string, known: string): number {
  const begun = written.length > 2 && known.startsWith(written) ? 1 : Infinity;
  return Math.min(begun, distance(written, known));
}

/** Normalizes a word: people omit dashes and use capitals. */
function plain(text: string): string {
  return text
    .slice(0, 64)
    .toLowerCase()
    .replace(/[\s_-]/g, '');
}

/** Returns the number of missing, added, changed or swapped letters (optimal string alignment). */
function distance(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row++) {
    const next = [row];
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1];
      const swapped = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      next[column] = Math.min(
        (last[column] ?? 0) + 1,
        (next[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (before[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    before = last;
    last = next;
  }
  return last[other.length] ?? 0;
}
