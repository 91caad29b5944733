import { lstatSync, opendirSync } from 'node:fs';
import { guardOfName } from '../jail/secrets.ts';
import { naturalOrder } from '../kernel/natural-order.ts';
import { StatusError } from '../kernel/status.ts';
import { MIB } from '../kernel/units.ts';
import { job } from '../kernel/workers/job.ts';
import { type FoundEntry, addSizes, foundEntry, searchBelow } from './below.ts';

/** Most entries of a listed directory. */
const MAX_ENTRIES = 250_000;
/** The longest answer. */
const MAX_BYTES = 32 * MIB;
/** Entries in one piece of the answer. */
const PIECE = 2_000;
const ROOT = 4;
const DIRECTORY = `/proc/self/fd/${ROOT}`;
const BATCH = 1_024;

/**
 * Lists the directory of the worker's first descriptor, or a part of it, as the text of a `ListFilesResponse`.
 * `guarded`: leaves out the service's own files. Throws RESOURCE_EXHAUSTED DIRECTORY_TOO_LARGE.
 */
export const listDirectory = job(
  import.meta.url,
  'listDirectory',
  async function* listDirectory({ guarded, part }: { guarded: boolean; part: Part }) {
    const { found, truncated } = foundIn(guarded, part);
    const { entries, total } = partOf(found, part);
    const lines = entries.map(lineOf);
    if (lines.reduce((bytes, line) => bytes + Buffer.byteLength(line) + 1, 0) > MAX_BYTES) throw tooManyEntries();
    yield Buffer.from('{"entries":[');
    for (let from = 0; from < lines.length; from += PIECE) {
      yield Buffer.from(`${from > 0 ? ',' : ''}${lines.slice(from, from + PIECE).join(',')}`);
    }
    yield Buffer.from(`],"total":${total},"truncated":${truncated}}`);
  },
);

/** Returns the entries of the directory, or also those below it, and whether some or their sizes are missing. */
function foundIn(guarded: boolean, part: Part): { found: FoundEntry[]; truncated: boolean } {
  if (part.recursive) return searchBelow(ROOT, { guarded, contains: part.contains, sizes: part.sizes });
  const found = [...entriesIn(guarded)];
  return { found, truncated: part.sizes && !addSizes(ROOT, guarded, found) };
}

function lineOf({ name, isDir, sizeBytes, modifiedAt }: FoundEntry): string {
  return JSON.stringify({ name, isDir, size: String(sizeBytes), modifiedAt: new Date(modifiedAt).toISOString() });
}

function* entriesIn(guarded: boolean): Generator<FoundEntry> {
  using directory = opendirSync(`${DIRECTORY}/`, { encoding: 'latin1' as BufferEncoding, bufferSize: BATCH });
  let count = 0;
  for (let met = directory.readSync(); met !== null; met = directory.readSync()) {
    // Names are arbitrary bytes, which Latin-1 preserves.
    const bytes = Buffer.from(met.name, 'latin1');
    const name = bytes.toString();
    if (guarded && guardOfName(name) === 'hidden') continue;
    const stats = lstatSync(Buffer.concat([Buffer.from(`${DIRECTORY}/`), bytes]), { throwIfNoEntry: false });
    if (stats === undefined) continue;
    if (++count > MAX_ENTRIES) throw tooManyEntries();
    yield foundEntry(name, stats);
  }
}

function tooManyEntries(): StatusError {
  return new StatusError(
    'RESOURCE_EXHAUSTED',
    'DIRECTORY_TOO_LARGE',
    `The directory has more than ${MAX_ENTRIES} entries, or its names are too long. List it over SFTP.`,
  );
}

/**
 * Orders of a listing. `name`: by the characters' codes; `natural`: by the numbers in names, `world2` before `world10`.
 * Entries of equal size or time are in natural order.
 */
export const SORTS = ['name', 'natural', 'size', 'modifiedAt'] as const;

/** The requested entries of a directory, and their order. */
export interface Part {
  /** Most entries; 0: all. */
  limit: number;
  /** Number of entries to skip. */
  offset: number;
  /** Only names that contain this text, ignoring case; '' for all. */
  contains: string;
  /** Whether directories precede all other entries, in either direction. */
  directoriesFirst: boolean;
  sort: (typeof SORTS)[number];
  /** Whether the order is reversed: the largest or latest first. */
  descending: boolean;
  /** Whether to list everything below the directory (`below.ts`). Names are then paths, `contains` is for their end. */
  recursive: boolean;
  /** Whether the size of a directory is that of all files below it. */
  sizes: boolean;
}

/** An entry to sort. Without `sizeBytes` and `modifiedAt` only by name. */
interface Sortable {
  name: string;
  isDir: boolean;
  sizeBytes?: number;
  modifiedAt?: number;
}

export const ALL: Part = {
  limit: 0,
  offset: 0,
  contains: '',
  directoriesFirst: false,
  sort: 'name',
  descending: false,
  recursive: false,
  sizes: false,
};

/** Returns the requested part, in order, and the number of all entries. Sorts in place. */
export function partOf<Entry extends Sortable>(
  all: Entry[],
  { limit, offset, contains, directoriesFirst, sort, descending, recursive }: Part,
): { entries: Entry[]; total: number } {
  const wanted = contains.toLowerCase();
  const found = recursive || wanted === '' ? all : all.filter(({ name }) => name.toLowerCase().includes(wanted));
  const compare = compareBy(sort, descending);
  found.sort((one, other) => {
    if (directoriesFirst && one.isDir !== other.isDir) return one.isDir ? -1 : 1;
    return compare(one, other);
  });
  return { entries: found.slice(offset, limit === 0 ? undefined : offset + limit), total: found.length };
}

/** Compares two entries. Ties are in natural order, whatever the direction. */
function compareBy(sort: Part['sort'], descending: boolean): (one: Sortable, other: Sortable) => number {
  const sign = descending ? -1 : 1;
  if (sort === 'name') return (one, other) => (one.name < other.name ? -sign : sign);
  if (sort === 'natural') return (one, other) => sign * naturalOrder(one.name, other.name);
  const key = sort === 'size' ? 'sizeBytes' : sort;
  return (one, other) => sign * ((one[key] ?? 0) - (other[key] ?? 0)) || naturalOrder(one.name, other.name);
}
