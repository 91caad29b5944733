import { createHash } from 'node:crypto';
import type { UnpackOptions } from '../files/archives/read.ts';
import { openIfThere, removeIfThere, sizeIfThere, textIfThere } from '../jail/if-there.ts';
import type { Jail } from '../jail/jail.ts';
import type { LISTS } from '../jail/secrets.ts';
import { StatusError } from '../kernel/status.ts';
import { invalid } from './pack-index.ts';
import { LIST_LIMITS, listFrom, listText, packList } from './placed-list.ts';

/** Files that this service has put into a server's folder: path → checksum in hex, or '' for one not yet in place. */
export type Placed = ReadonlyMap<string, string>;

/** The list of individually added mods, or that of a pack. Hidden from owners and included in their backups. */
export type PlacedList = Extract<(typeof LISTS)[number], '.dormouse-mods.json' | '.dormouse-pack.json'>;

/**
 * Reads the list of mods. It is stored with the files it lists, so that both are restored together. A game may write to
 * it: an unreadable list counts as empty, and the caller checks its content.
 */
export async function readPlaced(jail: Jail, list: '.dormouse-mods.json'): Promise<Placed> {
  const { bytes, files } = LIST_LIMITS[list];
  return new Map(listFrom((await textIfThere(jail, list, bytes)) ?? '', files));
}

/** Reads the list of a pack in a worker, because it may be long. Rejects if the pool is full. */
export async function readPackList(jail: Jail, { workers, tenant, signal }: UnpackOptions): Promise<Placed> {
  const placed = new Map<string, string>();
  await using list = await openIfThere(() => jail.open('.dormouse-pack.json'));
  if (list?.descriptor === undefined) return placed;
  const reading = { tenant, signal, files: [list.descriptor], brief: true };
  try {
    for await (const piece of workers.stream(packList, null, reading))
      for (const [path, sum] of piece) placed.set(path, sum);
  } catch (error) {
    // The list that this service writes is never that large. A list written by a game is ignored.
    if (!(error instanceof StatusError) || error.reason !== 'WORK_TOO_LARGE') throw error;
    placed.clear();
  }
  return placed;
}

/**
 * Writes a list; an empty one is removed. Throws FAILED_PRECONDITION MODPACK_INVALID if it could not be read back,
 * which can only happen to a pack's; the previous list then stays.
 */
export async function writePlaced(jail: Jail, list: PlacedList, placed: Placed): Promise<void> {
  if (placed.size === 0) return await removeIfThere(jail, list);
  const content = Buffer.from(listText(placed));
  const { bytes, files } = LIST_LIMITS[list];
  if (content.length > bytes || placed.size > files) throw invalid('has too many files to track');
  await using replacement = await jail.replace(list);
  await replacement.write(content);
  await replacement.commit();
}

/** Removes a file if it still has this checksum (SHA-512), and returns its size. Any other file stays. */
export async function removeUnchanged(jail: Jail, path: string, sum: string): Promise<number> {
  const sizeBytes = await sizeIfThere(jail, path);
  if (sizeBytes === undefined) return 0;
  const hash = createHash('sha512');
  {
    await using file = await jail.open(path);
    for await (const chunk of file.stream({ keepOpen: true })) hash.update(chunk as Buffer);
  }
  if (hash.digest('hex') !== sum.toLowerCase()) return 0;
  await removeIfThere(jail, path);
  return sizeBytes;
}
