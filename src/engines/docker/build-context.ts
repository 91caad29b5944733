import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Pack, pack } from 'tar-stream';

/** A folder on its way to an engine. */
export interface BuildContext {
  archive: NodeJS.ReadableStream;
  /** Settles when all of the folder is in the archive, or something could not be read. */
  packed: Promise<void>;
}

/**
 * A folder as an archive to build an image from: directories, files and links, with their modes. It is not compressed, as the
 * client's own would be: that takes longer than the way to an engine on this machine.
 */
export function buildContext(folder: string): BuildContext {
  const archive = pack();
  // Told by `packed`.
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
