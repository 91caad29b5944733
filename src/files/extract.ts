import { refused } from '../jail/errors.ts';
import type { Jail } from '../jail/jail.ts';
import { invalidPath, joinNames, parsePath } from '../jail/path.ts';
import { patiently } from '../jail/patience.ts';
import { isList } from '../jail/secrets.ts';
import { type Room, spaceOf } from '../jail/space.ts';
import { type UnpackOptions, unpack } from './archives/read.ts';

/** The archive, the target folder and the policy for existing files. */
export interface Extraction {
  path: string;
  to: string;
  /**
   * Whether to replace existing files. If not, any conflict throws ALREADY_EXISTS PATH_EXISTS, and nothing is
   * extracted.
   */
  overwrite: boolean;
}

/** Extracts an archive. `result`: bytes extracted; `addedBytes`: the growth of the server. */
export async function extract(
  files: Jail,
  { path, to, overwrite }: Extraction,
  reading: UnpackOptions,
  room: Room,
): Promise<{ result: number; addedBytes: number }> {
  await using source = await files.open(path);
  const target = await files.stat(to).catch(() => undefined);
  if (target && target.kind !== 'directory') throw invalidPath(to, 'must be a directory or must not exist yet');
  await using stage = await files.stage();
  let addedBytes = 0;
  const beforePiece = patiently(room, reading, (bytes) => (addedBytes += bytes));
  let extracted = 0;
  for await (const { path, kind, mode, content } of unpack(source, reading)) {
    // Skips the service's lists, as in a backup: they describe the server's own folder.
    if (isList(path)) continue;
    await beforePiece(0);
    const place = joinNames(parsePath(`${to}/${path}`));
    if (kind === 'directory') {
      await stage.mkdir(path);
      continue;
    }
    // Reports conflicts early. Later ones are detected when the files are moved into place.
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
