/**
 * Compares two releases as their numbers go (`1.9` before `1.21.4` before `26.1`): negative, zero or positive. A pre-release
 * or candidate counts as its release. Undefined where one of them is none, as a weekly snapshot.
 */
export function compareVersions(one: string, other: string): number | undefined {
  const [a, b] = [numbersOf(one), numbersOf(other)];
  if (!a || !b) return undefined;
  for (let nth = 0; nth < 3; nth++) {
    const difference = (a[nth] ?? 0) - (b[nth] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function numbersOf(version: string): number[] | undefined {
  const [, numbers] = /^(\d{1,3}(?:\.\d{1,3}){1,2})(?:-.*)?$/.exec(version) ?? [];
  return numbers?.split('.').map(Number);
}
