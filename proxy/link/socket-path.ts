import { openSync } from 'node:fs';
import { basename, dirname } from 'node:path';

/** The longest path that fits into `sockaddr_un` on every system, without its final zero (unix(7)). */
const LONGEST = 103;

/**
 * A path by which the kernel takes a socket of this name, however deep it lies: on Linux, by a descriptor of its folder that stays
 * open with this process. Throws where there is no such way.
 */
export function socketPath(path: string): string {
  if (Buffer.byteLength(path) <= LONGEST) return path;
  if (process.platform !== 'linux') throw new Error(`The path of DATA_DIR is too long for a socket (${path}).`);
  return `/proc/self/fd/${openSync(dirname(path), 'r')}/${basename(path)}`;
}
