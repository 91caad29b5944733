import { constants } from 'node:fs';
import { type FileHandle, lchown, open } from 'node:fs/promises';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { SAFELY, at, eachOf, foundIn, openDirectory } from './descriptors.ts';

const ENTRIES_AT_ONCE = 16;
/** No world is deeper. Each level needs a descriptor. */
const MOST_LEVELS = 256;

/**
 * Changes the owner of a server's folder and its contents, which requires root. Changes links themselves, never their
 * targets. The folder is last: if it belongs to the user already, its contents do, too, and the call does not change
 * them. Skips files with a second name (hard links), which may belong to another user.
 */
export async function handOver(root: string, { uid, gid }: FileOwner): Promise<void> {
  await using folder = await open(root, constants.O_RDONLY | constants.O_DIRECTORY | SAFELY);
  if ((await folder.stat()).uid === uid) return;
  await handOverIn(folder, 1);
  await folder.chown(uid, gid);

  async function handOverIn(dir: FileHandle, level: number): Promise<void> {
    if (level > MOST_LEVELS) throw new Error(`more than ${MOST_LEVELS} nested folders`);
    for await (const batch of foundIn(dir)) {
      await eachOf(batch, ENTRIES_AT_ONCE, async ({ name, stats }) => {
        if (stats.uid === uid || (stats.nlink > 1 && !stats.isDirectory())) return;
        await lchown(at(dir, name), uid, gid);
      });
      // One at a time, so that descriptors do not multiply with the levels.
      for (const { name, stats } of batch) {
        if (!stats.isDirectory()) continue;
        await using inside = await openDirectory(dir, name);
        await handOverIn(inside, level + 1);
      }
    }
  }
}
