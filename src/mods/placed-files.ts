import { createHash } from 'node:crypto';
import { z } from 'zod';
import { jsonIfThere, removeIfThere, sizeIfThere } from '../jail/if-there.ts';
import type { Jail } from '../jail/jail.ts';
import type { LISTS } from '../jail/secrets.ts';
import { MIB } from '../kernel/units.ts';

/** Files that this service has put into a server's folder: path → checksum in hex, or '' for one not yet in place. */
export type Placed = ReadonlyMap<string, string>;

/** Which list: of mods asked for one by one, or of a pack's. Hidden from owners, and part of their backups. */
export type PlacedList = Extract<(typeof LISTS)[number], '.dormouse-mods.json' | '.dormouse-pack.json'>;

const MAX_BYTES = 32 * MIB;
const Shape = z.object({ files: z.record(z.string().max(4_096), z.string().max(128)) });

/**
 * Reads a list. It lies with the files that it lists, so that both are restored together. A game may write to it: one
 * that cannot be read counts as empty, and the caller checks its content.
 */
export async function readPlaced(jail: Jail, list: PlacedList): Promise<Placed> {
  const found = await jsonIfThere(jail, list, Shape, MAX_BYTES);
  return new Map(Object.entries(found?.files ?? {}));
}

/** Writes a list; an empty one is removed. */
export async function writePlaced(jail: Jail, list: PlacedList, placed: Placed): Promise<void> {
  if (placed.size === 0) return await removeIfThere(jail, list);
  await using replacement = await jail.replace(list);
  await replacement.write(Buffer.from(JSON.stringify({ files: Object.fromEntries(placed) })));
  await replacement.commit();
}

/** Removes a file that still has this checksum (SHA-512), and returns its size. Any other stays. */
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
