import { fstatSync, readFileSync } from 'node:fs';
import { KIB, MIB } from '../kernel/units.ts';
import { job } from '../kernel/workers/job.ts';

/** A file's path, and its checksum in hex, or '' for one not yet in place. */
export type PlacedFile = readonly [path: string, sum: string];

/**
 * Limits of a list: twice what a server's mods or a pack need, because it holds the files before and after a change.
 */
export const LIST_LIMITS = {
  '.dormouse-mods.json': { bytes: 512 * KIB, files: 10_000 },
  '.dormouse-pack.json': { bytes: 32 * MIB, files: 210_000 },
} as const;

const PATH_UNITS = 4_096;
const SUM_UNITS = 128;
/** Files per piece. */
const PIECE = 1_000;
const PACK_LIST = 4;

/** Returns the text of a list. */
export function listText(files: Iterable<PlacedFile>): string {
  return JSON.stringify({ files: Object.fromEntries(files) });
}

/**
 * Parses the files of a list; undefined if it is invalid or has more than `most`. Uses no schema, which would double
 * the time of parsing the JSON.
 */
export function listFrom(text: string, most: number): PlacedFile[] | undefined {
  const files = filesOf(text);
  if (typeof files !== 'object' || files === null || Array.isArray(files)) return undefined;
  const entries = Object.entries(files);
  return entries.length <= most && entries.every(isFile) ? entries : undefined;
}

/** Yields the pack list in the worker's first descriptor, in pieces; nothing for an invalid list. */
export const packList = job(import.meta.url, 'packList', async function* packList() {
  const { bytes, files: most } = LIST_LIMITS['.dormouse-pack.json'];
  if (fstatSync(PACK_LIST).size > bytes) return;
  const files = listFrom(readFileSync(PACK_LIST, 'utf8'), most) ?? [];
  for (let from = 0; from < files.length; from += PIECE) yield files.slice(from, from + PIECE);
});

function filesOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { files?: unknown } | null)?.files;
  } catch {
    return undefined;
  }
}

function isFile(entry: [string, unknown]): entry is [string, string] {
  const [path, sum] = entry;
  return path.length <= PATH_UNITS && typeof sum === 'string' && sum.length <= SUM_UNITS;
}
