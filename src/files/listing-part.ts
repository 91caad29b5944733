/** Which entries of a directory are wanted, and in which order. */
export interface Part {
  /** At most so many; 0: all. */
  limit: number;
  /** How many are left out in front. */
  offset: number;
  /** Only names with this in them, in any case; '' for all. */
  contains: string;
  /** Else by name alone. */
  directoriesFirst: boolean;
}

export const ALL: Part = { limit: 0, offset: 0, contains: '', directoriesFirst: false };

/** Returns that part, in order of name, and the number of all entries. Sorts in place. */
export function partOf<Entry extends { name: string; isDir: boolean }>(
  all: Entry[],
  { limit, offset, contains, directoriesFirst }: Part,
): { entries: Entry[]; total: number } {
  const wanted = contains.toLowerCase();
  const found = wanted === '' ? all : all.filter(({ name }) => name.toLowerCase().includes(wanted));
  found.sort((one, other) => {
    if (directoriesFirst && one.isDir !== other.isDir) return one.isDir ? -1 : 1;
    return one.name < other.name ? -1 : 1;
  });
  return { entries: found.slice(offset, limit === 0 ? undefined : offset + limit), total: found.length };
}
