import { randomBytes } from 'node:crypto';
import { open, readFile, rename, unlink } from 'node:fs/promises';

/** A user and a group of this machine, by number: whom a file belongs to, where this process is root. */
export interface FileOwner {
  uid: number;
  gid: number;
}

/** Replaces a file as a whole: after a crash it holds the old text or the new, on the disk. Mode 0600; of `owner`, where one is given. */
export async function writeAtomic(path: string, text: string, owner?: FileOwner): Promise<void> {
  const temp = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await using file = await open(temp, 'wx', 0o600);
    if (owner) await file.chown(owner.uid, owner.gid);
    await file.writeFile(text);
    await file.sync();
    await rename(temp, path);
  } catch (error) {
    await unlink(temp).catch(() => undefined);
    throw error;
  }
}

/** A file's text; undefined where there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/** Removes a file; it need not be there. */
export async function removeIfThere(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
