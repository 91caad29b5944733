import { crc32 } from 'node:zlib';
import { openJail } from '../jail/jail.ts';

/** How the files of a folder lie: the same as long as nothing in it changes, and another afterwards. */
export async function markOf(root: string): Promise<string> {
  await using jail = await openJail(root);
  let entries = 0;
  // In no order: a directory need not give its names in the same one twice.
  let sum = 0;
  for await (const { path, version } of jail.tree('')) {
    entries += 1;
    sum += crc32(`${path} ${version}`);
  }
  return `${entries}-${sum}`;
}
