import { distance } from 'fastest-levenshtein';

/** The name that is probably meant by one that is none of those known; undefined: it is one of them, or near to none. */
export function meantBy(given: string, known: readonly string[]): string | undefined {
  if (known.includes(given)) return undefined;
  return known.find(
    (name) =>
      bare(name) === bare(given) || (name.length > 7 && (distance(name, given) === 1 || isSwapped(name, given))),
  );
}

/** Whether the names differ by two neighbouring letters in the wrong order. */
function isSwapped(name: string, given: string): boolean {
  const at = Array.from(name).findIndex((letter, index) => letter !== given[index]);
  return given === `${name.slice(0, at)}${name[at + 1]}${name[at]}${name.slice(at + 2)}`;
}

function bare(name: string): string {
  return name.replaceAll(/[^a-z\d]/gi, '').toUpperCase();
}
