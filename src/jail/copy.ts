import { KIB } from '../kernel/units.ts';
import { type Cell, inDirectory, requireVisible, requireWritable } from './cell.ts';
import { kindOf, openDirectory, statEntry } from './descriptors.ts';
import { refused } from './errors.ts';
import { type JailFile, openFile, openMet } from './files.ts';
import { makeDirectoryAt, requireOutside } from './moves.ts';
import { type Names, joinNames, splitLast } from './path.ts';
import { spaceOf } from './space.ts';
import { openStage } from './stage.ts';
import { requireNameable, walk } from './tree.ts';

const CHUNK_BYTES = 256 * KIB;

/**
 * Called before each piece with the bytes that it takes in addition to its entry (0 for a directory). An error it
 * throws ends the copy.
 */
type BeforePiece = (bytes: number) => Promise<void>;

/**
 * Copies a file, or a directory with its contents, to a path that must not exist. Returns the number of bytes copied.
 * The copy appears at once and complete, or not at all. Leaves out links, pipes, sockets and devices, and copies
 * secrets as they are shown.
 */
export async function copyPath(
  cell: Cell,
  from: Names,
  to: Names,
  beforePiece: BeforePiece = async () => {},
): Promise<number> {
  requireVisible(cell, from);
  requireWritable(cell, to);
  requireOutside(from, to);
  const target = splitLast(to);
  await inDirectory(cell, target.parent, async (dir) => {
    if (await statEntry(dir, target.name)) throw refused('EEXIST', joinNames(to));
  });
  const { parent, name } = splitLast(from);
  // The stage is hidden, so a job on the files need not wait for it.
  await using stage = await openStage(cell);
  const copied = await inDirectory(cell, parent, async (dir) => {
    const stats = await statEntry(dir, name);
    if (!stats) throw refused('ENOENT', joinNames(from));
    const kind = kindOf(stats);
    if (kind === 'link') throw refused('ELOOP', joinNames(from));
    if (kind !== 'directory')
      return await copyFile(stage.cell, await openMet(cell, dir, name, from), [name], beforePiece);
    await makeDirectoryAt(stage.cell, [name]);
    await using inside = await openDirectory(dir, name);
    let bytes = 0;
    for await (const met of walk(inside)) {
      requireNameable(to, met.path);
      await beforePiece(0);
      const names = [name, ...met.path.split('/')];
      if (met.kind === 'directory') await makeDirectoryAt(stage.cell, names);
      else {
        const file = await openMet(cell, met.dir, met.name, [...from, ...met.path.split('/')]);
        bytes += await copyFile(stage.cell, file, names, beforePiece);
      }
    }
    return bytes;
  });
  await cell.change(() => stage.placeAt(name, to));
  return copied;
}

/** Copies as many bytes as the file has when it is opened, so that copying a growing file ends. */
async function copyFile(into: Cell, file: JailFile, names: Names, beforePiece: BeforePiece): Promise<number> {
  await using source = file;
  const { sizeBytes, mode } = await source.stat();
  await using copy = await openFile(into, names, { write: true, create: true, exclusive: true, mode });
  let done = 0;
  while (done < sizeBytes) {
    const chunk = await source.read(done, Math.min(CHUNK_BYTES, sizeBytes - done));
    if (chunk.length === 0) break;
    await beforePiece(spaceOf(done + chunk.length) - spaceOf(done));
    await copy.write(done, chunk);
    done += chunk.length;
  }
  return done;
}
