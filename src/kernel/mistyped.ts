import { distance } from 'fastest-levenshtein';

/** Returns the known name closest to a mistyped one; undefined if the name is known or none is close. */
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
