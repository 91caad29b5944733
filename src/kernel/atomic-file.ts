import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A user and a group of this machine, by number: the owner of a file if this process is root. */
export interface FileOwner {
  uid: number;
  gid: number;
}

/** The content of a file, whole or in pieces. */
type Content = string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** How `writeAtomic` writes. */
export interface AtomicWrite {
  /** Default: 0600. */
  mode?: number;
  /** Default: this process's user. */
  owner?: FileOwner | undefined;
  /** Missing directories are made, and the file's name is on disk too once the promise resolves. Default: false. */
  durable?: boolean;
  /**
   * Temporary path of the file until it is complete, in the same directory. Default: a name that `sweepDrafts` knows.
   */
  draft?: string;
}

/**
 * Writes a file in the place of an earlier one: at any moment, and after a crash, there is the old one or the new, whole and on
 * disk. A link that bears the name is replaced, not followed. Rejects as the file system does, and then leaves no draft.
 */
export async function writeAtomic(path: string, content: Content, options: AtomicWrite = {}): Promise<void> {
  const { mode = 0o600, owner, durable = false, draft = `${path}.${randomBytes(6).toString('hex')}.tmp` } = options;
  if (durable) await mkdir(dirname(path), { recursive: true });
  // Fails where there is anything, a link too.
  const file = await open(draft, 'wx', mode);
  try {
    await using open = file;
    if (owner) await open.chown(owner.uid, owner.gid);
    await open.writeFile(content);
    await open.sync();
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    throw error;
  }
  if (durable) await syncDirectory(dirname(path));
}

/** Once it resolves, names made, moved and removed in a directory are on disk. */
export async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, 'r');
  await directory.sync();
}

/** Returns a file's bytes; undefined if it does not exist. */
export async function readIfThere(path: string): Promise<Buffer | undefined> {
  return await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}
