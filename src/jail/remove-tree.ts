import { constants } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { ignore } from '../kernel/ignore.ts';
import { statEntry, unlockDirectory } from './descriptors.ts';
import { erase } from './temps.ts';

/**
 * Removes a file, or a folder with its contents, if it exists. Removes links without following them. Works on few
 * entries at once, however large or deep the tree.
 */
export async function removeTree(path: string): Promise<void> {
  // Other systems do not serve servers' files at all, so no plugin interferes.
  if (process.platform !== 'linux') return await rm(path, { recursive: true, force: true, maxRetries: 3 });
  const name = basename(path);
  const parent = await open(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY).catch(ignore('ENOENT'));
  if (parent === undefined) return;
  try {
    const found = await statEntry(parent, name);
    if (!found?.isDirectory()) return await erase(parent, name, parent);
    // Moves deep folders up into the folder itself, so that a process that dies leaves no files outside.
    await using top = await unlockDirectory(parent, name);
    await erase(parent, name, top);
    // In a deep tree, the last folder may have been moved up after the last pass over the top folder.
    if (await statEntry(parent, name)) await erase(parent, name, top);
    if (await statEntry(parent, name)) throw new Error(`${path} was not removed, because it keeps being filled`);
  } finally {
    await parent.close();
  }
}
