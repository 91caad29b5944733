import { openSync } from 'node:fs';
import { basename, dirname } from 'node:path';

/** The longest path that fits into `sockaddr_un` on every system, without its final zero (unix(7)). */
const LONGEST = 103;

/**
 * Returns a path for this socket that the kernel accepts. Replaces a path that is too long by one through a descriptor
 * of its folder, which stays open until the process ends. This works only on Linux; throws on other systems.
 */
export function socketPath(path: string): string {
  if (Buffer.byteLength(path) <= LONGEST) return path;
  if (process.platform !== 'linux')
    throw new Error(`The path of DATA_DIR is too long for a socket (${path}). Choose a shorter path.`);
  return `/proc/self/fd/${openSync(dirname(path), 'r')}/${basename(path)}`;
}
