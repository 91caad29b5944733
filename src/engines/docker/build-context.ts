import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Pack, pack } from 'tar-stream';

/** A folder packed for an engine. */
export interface BuildContext {
  archive: NodeJS.ReadableStream;
  /** Resolves once the whole folder is in the archive. Rejects if a file cannot be read. */
  packed: Promise<void>;
}

/**
 * Packs a folder as an archive to build an image from: directories, files and links, with their modes. Unlike the
 * client's own archive it is not compressed, because compressing takes longer than sending to an engine on this
 * machine.
 */
export function buildContext(folder: string): BuildContext {
  const archive = pack();
  // `packed` reports the error.
  archive.on('error', () => {});
  const packed = addAll(archive, folder, '').then(
    () => archive.finalize(),
    (error: Error) => {
      archive.destroy(error);
      throw error;
    },
  );
  return { archive: archive as unknown as NodeJS.ReadableStream, packed };
}

async function addAll(archive: Pack, folder: string, below: string): Promise<void> {
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    const name = join(below, entry.name);
    const path = join(folder, name);
    const { mode, size, mtime } = await lstat(path);
    if (entry.isDirectory()) {
      archive.entry({ name, mode, mtime, type: 'directory' });
      await addAll(archive, folder, name);
    } else if (entry.isSymbolicLink()) {
      archive.entry({ name, mode, mtime, type: 'symlink', linkname: await readlink(path) });
    } else {
      const packing = archive.entry({ name, mode, mtime, size, type: 'file' }) as unknown as NodeJS.WritableStream;
      await pipeline(createReadStream(path), packing);
    }
  }
}
