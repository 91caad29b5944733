import { crc32 } from 'node:zlib';
import { openJail } from '../jail/jail.ts';

/** Returns a fingerprint of the files in a folder. It is constant as long as nothing in the folder changes. */
export async function treeFingerprintOf(root: string): Promise<string> {
  await using jail = await openJail(root);
  let entries = 0;
  // A sum, because directories may list their names in a different order each time.
  let sum = 0;
  for await (const { path, version } of jail.tree('')) {
    entries += 1;
    sum += crc32(`${path} ${version}`);
  }
  return `${entries}-${sum}`;
}
