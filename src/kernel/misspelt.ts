import { distance } from 'fastest-levenshtein';

/** The first of the given names that is nearly one which nobody gives, and that one; undefined: there is no such slip. */
export function misspelt(
  given: readonly string[],
  names: readonly string[],
): { given: string; meant: string } | undefined {
  const missing = names.filter((name) => !given.includes(name));
  for (const each of given) {
    if (names.includes(each)) continue;
    const meant = missing.find((name) => bare(name) === bare(each) || (name.length > 7 && distance(name, each) === 1));
    if (meant !== undefined) return { given: each, meant };
  }
  return undefined;
}

function bare(name: string): string {
  return name.replaceAll(/[^a-z\d]/gi, '').toUpperCase();
}
