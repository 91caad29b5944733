import { crc32 } from 'node:zlib';
import { openJail } from '../jail/jail.ts';

/** A fingerprint of the files in a folder: it stays the same as long as nothing in the folder changes. */
export async function treeFingerprintOf(root: string): Promise<string> {
  await using jail = await openJail(root);
  let entries = 0;
  // A sum does not depend on order: a directory may list its names in another order each time.
  let sum = 0;
  for await (const { path, version } of jail.tree('')) {
    entries += 1;
    sum += crc32(`${path} ${version}`);
  }
  return `${entries}-${sum}`;
}
