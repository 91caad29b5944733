import { lstatSync, opendirSync } from 'node:fs';
import { guardOfName } from '../jail/secrets.ts';
import { modifiedAtOf, sizeOf } from '../jail/stated.ts';
import { StatusError } from '../kernel/status.ts';
import { MIB } from '../kernel/units.ts';
import { job } from '../kernel/workers/job.ts';

/** Most entries of a listed directory. */
const MAX_ENTRIES = 250_000;
/** The longest answer. */
const MAX_BYTES = 32 * MIB;
/** Entries in one piece of the answer. */
const PIECE = 2_000;
const DIRECTORY = '/proc/self/fd/4';
const BATCH = 1_024;

/**
 * Lists the directory of the worker's first descriptor, or a part of it, as the text of a `ListFilesResponse`.
 * `guarded`: leaves out the service's own files. Throws RESOURCE_EXHAUSTED DIRECTORY_TOO_LARGE.
 */
export const listDirectory = job(
  import.meta.url,
  'listDirectory',
  async function* listDirectory({ guarded, part }: { guarded: boolean; part: Part }) {
    const { entries, total } = partOf([...entriesIn(guarded)], part);
    const lines = entries.map(({ line }) => line);
    if (lines.reduce((bytes, line) => bytes + Buffer.byteLength(line) + 1, 0) > MAX_BYTES) throw tooManyEntries();
    yield Buffer.from('{"entries":[');
    for (let from = 0; from < lines.length; from += PIECE) {
      yield Buffer.from(`${from > 0 ? ',' : ''}${lines.slice(from, from + PIECE).join(',')}`);
    }
    yield Buffer.from(`],"total":${total}}`);
  },
);

interface Line {
  name: string;
  isDir: boolean;
  line: string;
}

function* entriesIn(guarded: boolean): Generator<Line> {
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
    const isDir = stats.isDirectory();
    const size = String(sizeOf(stats));
    const modifiedAt = new Date(modifiedAtOf(stats)).toISOString();
    yield { name, isDir, line: JSON.stringify({ name, isDir, size, modifiedAt }) };
  }
}

function tooManyEntries(): StatusError {
  return new StatusError(
    'RESOURCE_EXHAUSTED',
    'DIRECTORY_TOO_LARGE',
    `The directory has more than ${MAX_ENTRIES} entries, or its names are too long. List it over SFTP.`,
  );
}

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
