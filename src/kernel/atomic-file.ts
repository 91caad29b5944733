import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ignore } from './ignore.ts';

/** The user and group ids of a file's owner. Only a process that runs as root can set them. */
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
  /** Creates missing directories, and syncs the file's name to disk before the promise resolves. Default: false. */
  durable?: boolean;
  /**
   * Temporary path of the file until it is complete, in the same directory. Default: a name that `sweepDrafts` knows.
   */
  draft?: string;
}

/**
 * Writes or replaces a file atomically: at any moment, and after a crash, either the old or the new content is on disk
 * in full. Replaces a symbolic link at the path instead of following it. If it fails, removes the draft and rejects
 * with the file system's error.
 */
export async function writeAtomic(path: string, content: Content, options: AtomicWrite = {}): Promise<void> {
  const { mode = 0o600, owner, durable = false, draft = `${path}.${randomBytes(6).toString('hex')}.tmp` } = options;
  if (durable) await mkdir(dirname(path), { recursive: true });
  // Fails if the path exists, even as a link.
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

/** Syncs a directory, so that names created, moved or removed in it are on disk. */
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

/** The temporary name of a file that is written beside its final path. */
const DRAFT = /^(.+)\.[0-9a-f]{12}\.tmp$/;

/**
 * Removes drafts (`<name>.<12 hex digits>.tmp`) of the named files that are older than this process: their writers are
 * dead. Ignores a missing directory.
 */
export async function sweepDrafts(directory: string, isOurs: (name: string) => boolean): Promise<void> {
  const startedAt = Date.now() - process.uptime() * 1_000;
  const entries = await readdir(directory, { withFileTypes: true }).catch(ignore('ENOENT', 'ENOTDIR'));
  for (const entry of entries ?? []) {
    const [, name] = DRAFT.exec(entry.name) ?? [];
    if (name === undefined || !entry.isFile() || !isOurs(name)) continue;
    const path = join(directory, entry.name);
    const found = await stat(path).catch(ignore('ENOENT'));
    if (found && found.mtimeMs < startedAt) await unlink(path).catch(ignore('ENOENT'));
  }
}
