/** Search in subfolders and folder sizes, bounded in entries and time. For a worker: each call blocks. */
import type { Stats } from 'node:fs';
import { type Met, statMet, walkNow } from '../jail/read-tree.ts';
import { guardOfName } from '../jail/secrets.ts';
import { modifiedAtOf, sizeOf } from '../jail/stated.ts';

/** An entry, as it is listed. `name` is a path if it is below the listed directory. */
export interface FoundEntry {
  name: string;
  isDir: boolean;
  sizeBytes: number;
  modifiedAt: number;
}

/** Limits of a walk: names read, entries found, and time by a clock in ms. */
export const BOUNDS = { visited: 100_000, found: 1_000, ms: 3_000, now: () => performance.now() };

export function foundEntry(name: string, stats: Stats): FoundEntry {
  return { name, isDir: stats.isDirectory(), sizeBytes: sizeOf(stats), modifiedAt: modifiedAtOf(stats) };
}

/**
 * Returns the files and directories below an open directory whose names contain a text. `truncated`: whether a limit
 * was reached, or a directory could not be read.
 */
export function searchBelow(
  root: number,
  { guarded, contains, sizes }: { guarded: boolean; contains: string; sizes: boolean },
  bounds = BOUNDS,
): { found: FoundEntry[]; truncated: boolean } {
  const wanted = contains.toLowerCase();
  const found: FoundEntry[] = [];
  const folders = new Map<string, FoundEntry>();
  const isComplete = visitBelow(root, guarded, bounds, (met) => {
    const isFound = met.path
      .slice(met.path.lastIndexOf('/') + 1)
      .toLowerCase()
      .includes(wanted);
    if (isFound && found.length === bounds.found) return false;
    const stats = isFound || (sizes && folders.size > 0) ? statMet(met) : undefined;
    if (stats === undefined) return true;
    const entry = foundEntry(met.path, stats);
    if (sizes) addSize(folders, entry);
    if (isFound) found.push(entry);
    if (isFound && entry.isDir) folders.set(entry.name, entry);
    return true;
  });
  return { found, truncated: !isComplete };
}

/** Adds the files below the directories of an open directory to their sizes. Returns whether all were counted. */
export function addSizes(root: number, guarded: boolean, entries: readonly FoundEntry[], bounds = BOUNDS): boolean {
  const folders = new Map(entries.filter(({ isDir }) => isDir).map((entry) => [entry.name, entry]));
  return visitBelow(root, guarded, bounds, (met) => {
    const stats = met.stats === undefined && !met.isAtTop ? statMet(met) : undefined;
    if (stats) addSize(folders, foundEntry(met.path, stats));
    return true;
  });
}

/** Adds the size of a file to each of `folders` that contains it. */
function addSize(folders: ReadonlyMap<string, FoundEntry>, { name, sizeBytes }: FoundEntry): void {
  if (sizeBytes === 0) return;
  for (let end = name.indexOf('/'); end !== -1; end = name.indexOf('/', end + 1)) {
    const folder = folders.get(name.slice(0, end));
    if (folder) folder.sizeBytes = Math.min(folder.sizeBytes + sizeBytes, Number.MAX_SAFE_INTEGER);
  }
}

/** Calls `visit` with each entry until it returns false. Returns whether all entries were visited. */
function visitBelow(
  root: number,
  guarded: boolean,
  { visited, ms, now }: typeof BOUNDS,
  visit: (met: Met) => boolean,
): boolean {
  const until = now() + ms;
  let left = visited;
  let isComplete = true;
  const onward = () => {
    if (left-- <= 0 || now() >= until) isComplete = false;
    return isComplete;
  };
  const skips = () => {
    isComplete = false;
    return true;
  };
  const isHidden = (name: string) => guarded && guardOfName(name) === 'hidden';
  for (const met of walkNow(root, { isHidden, onward, skips })) if (!visit(met)) return false;
  return isComplete;
}
