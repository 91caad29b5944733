/** A release (`1.21.8`, `26.1`), its pre-releases and candidates, or a weekly snapshot (`25w14a`). */
export const MINECRAFT_VERSION =
  /^(?:\d{1,3}\.\d{1,3}(?:\.\d{1,3})?(?:-(?:pre|rc|snapshot)-?\d{1,3})?|\d{2}w\d{2}[a-z])$/;

/** A version of a proxy such as Velocity: `3.4.0-SNAPSHOT`. */
export const PROXY_VERSION = /^\d{1,3}\.\d{1,3}\.\d{1,3}(?:-SNAPSHOT)?$/;

/**
 * Compares two releases numerically (`1.9` before `1.21.4` before `26.1`). Returns a negative number, zero or a
 * positive number. A pre-release or candidate counts as its release. Undefined unless both are releases; weekly
 * snapshots are not.
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
