import { openSync } from 'node:fs';
import { basename, dirname } from 'node:path';

/** The longest path that fits into `sockaddr_un` on every system, without its final zero (unix(7)). */
const LONGEST = 103;

/**
 * Returns a path that the kernel accepts for this socket. A path too long is replaced by one through a descriptor of
 * its folder, which stays open with the process (Linux only). Throws on other systems.
 */
export function socketPath(path: string): string {
  if (Buffer.byteLength(path) <= LONGEST) return path;
  if (process.platform !== 'linux') throw new Error(`The path of DATA_DIR is too long for a socket (${path}).`);
  return `/proc/self/fd/${openSync(dirname(path), 'r')}/${basename(path)}`;
}
