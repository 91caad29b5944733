import { constants } from 'node:fs';
import { type FileHandle, lchown, open } from 'node:fs/promises';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { SAFELY, at, eachOf, foundIn, openDirectory } from './descriptors.ts';

const ENTRIES_AT_ONCE = 16;
/** Deeper no world goes; each level is a descriptor. */
const MOST_LEVELS = 256;

/**
 * Gives a server's folder and all in it to a user, which only root can; a link itself, never its target. The folder comes
 * last: one that belongs to the user already has been handed over whole, and is left alone. What has a second name (a hard
 * link) stays as it is, since that may be anybody's file.
 */
export async function handOver(root: string, { uid, gid }: FileOwner): Promise<void> {
  await using folder = await open(root, constants.O_RDONLY | constants.O_DIRECTORY | SAFELY);
  if ((await folder.stat()).uid === uid) return;
  await handOverIn(folder, 1);
  await folder.chown(uid, gid);

  async function handOverIn(dir: FileHandle, level: number): Promise<void> {
    if (level > MOST_LEVELS) throw new Error(`more than ${MOST_LEVELS} folders within each other`);
    for await (const batch of foundIn(dir)) {
      await eachOf(batch, ENTRIES_AT_ONCE, async ({ name, stats }) => {
        if (stats.uid === uid || (stats.nlink > 1 && !stats.isDirectory())) return;
        await lchown(at(dir, name), uid, gid);
      });
      // One at a time, lest descriptors multiply with the levels.
      for (const { name, stats } of batch) {
        if (!stats.isDirectory()) continue;
        await using inside = await openDirectory(dir, name);
        await handOverIn(inside, level + 1);
      }
    }
  }
}
