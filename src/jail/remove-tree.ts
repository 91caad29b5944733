import { constants } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { ignore } from '../kernel/ignore.ts';
import { statEntry, unlockDirectory } from './descriptors.ts';
import { erase } from './temps.ts';

/**
 * Removes a file or a folder with all that is in it; nothing where it is not there. Links are removed, never followed.
 * However large or deep the tree, few of its files are at work at once.
 */
export async function removeTree(path: string): Promise<void> {
  // Without descriptors, servers' files are not served at all.
  if (process.platform !== 'linux') return await rm(path, { recursive: true, force: true, maxRetries: 3 });
  const name = basename(path);
  const parent = await open(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY).catch(ignore('ENOENT'));
  if (parent === undefined) return;
  try {
    const found = await statEntry(parent, name);
    if (!found?.isDirectory()) return await erase(parent, name, parent);
    // Deep folders are moved up into the folder itself, so that a process that dies leaves nothing outside.
    await using top = await unlockDirectory(parent, name);
    await erase(parent, name, top);
    // In a deep one the last of these was moved up after the folder was last looked at.
    if (await statEntry(parent, name)) await erase(parent, name, top);
    if (await statEntry(parent, name)) throw new Error(`${path} is filled while it is removed`);
  } finally {
    await parent.close();
  }
}
