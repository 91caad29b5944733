import { refused } from '../jail/errors.ts';
import type { Jail } from '../jail/jail.ts';
import { invalidPath, joinNames, parsePath } from '../jail/path.ts';
import { patiently } from '../jail/patience.ts';
import { isList } from '../jail/secrets.ts';
import { type Room, spaceOf } from '../jail/space.ts';
import { type UnpackOptions, unpack } from './archives/read.ts';

/** The archive and the target folder. */
export interface Extraction {
  path: string;
  to: string;
  /** Files of the same names give way. Else ALREADY_EXISTS PATH_EXISTS, and nothing is unpacked. */
  overwrite: boolean;
}

/** Bytes unpacked, and those that are added by it. */
export async function extract(
  files: Jail,
  { path, to, overwrite }: Extraction,
  reading: UnpackOptions,
  room: Room,
): Promise<{ result: number; addedBytes: number }> {
  await using source = await files.open(path);
  const target = await files.stat(to).catch(() => undefined);
  if (target && target.kind !== 'directory') throw invalidPath(to, 'must be a directory, or nothing yet');
  await using stage = await files.stage();
  let addedBytes = 0;
  const beforePiece = patiently(room, reading, (bytes) => (addedBytes += bytes));
  let extracted = 0;
  for await (const { path, kind, mode, content } of unpack(source, reading)) {
    // A backup, say: its lists speak of a server's own folder.
    if (isList(path)) continue;
    await beforePiece(0);
    const place = joinNames(parsePath(`${to}/${path}`));
    if (kind === 'directory') {
      await stage.mkdir(path);
      continue;
    }
    // Said before the rest is unpacked; what comes there meanwhile is found when all is put in place.
    if (!overwrite && (await files.stat(place).catch(() => undefined))) throw refused('EEXIST', place);
    await using file = await stage.create(path, mode || undefined);
    let size = 0;
    for await (const chunk of content) {
      await beforePiece(spaceOf(size + chunk.length) - spaceOf(size));
      await file.write(size, chunk);
      size += chunk.length;
    }
    extracted += size;
  }
  const replacedBytes = await stage.mergeInto(to, !overwrite);
  return { result: extracted, addedBytes: addedBytes - replacedBytes };
}
