/** The requested entries of a directory, and their order. */
export interface Part {
  /** Most entries; 0: all. */
  limit: number;
  /** Number of entries to skip. */
  offset: number;
  /** Only names that contain this text, ignoring case; '' for all. */
  contains: string;
  /** False: by name only. */
  directoriesFirst: boolean;
}

export const ALL: Part = { limit: 0, offset: 0, contains: '', directoriesFirst: false };

/** Returns the requested part, in order, and the number of all entries. Sorts in place. */
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
