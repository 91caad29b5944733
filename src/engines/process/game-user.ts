import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { FileOwner } from '../../kernel/atomic-file.ts';

/** User ids that no distribution, container or directory service assigns (systemd.io/UIDS-GIDS, "unused"). */
const FIRST_UID = 0x7000_0000;
const UIDS = 0x0ffe_0000;
const OTHERS_READ = 0o004;
const OTHERS_PASS = 0o001;

/**
 * Returns the user of an installation's games, for a process that may change users; undefined if root is the only user
 * that its namespace maps. The id is derived from the installation's number and has no name, shell or other processes.
 */
export async function gameUser(installation: number): Promise<FileOwner | undefined> {
  const map = await readFile('/proc/self/uid_map', 'utf8').catch(() => '');
  const uid = mappedUid(map, FIRST_UID + (installation % UIDS));
  return uid === undefined ? undefined : { uid, gid: uid };
}

/**
 * Returns the wanted id if the map of a user namespace contains it. If not, as in a container with few ids, returns the
 * last but one of the mapped ids; undefined if only root is mapped.
 */
export function mappedUid(map: string, wanted: number): number | undefined {
  // Each line is "first id inside, first id outside, count" (man 7 user_namespaces).
  const ranges = map.split('\n').flatMap((line) => {
    const [first = NaN, , count = NaN] = line.trim().split(/\s+/).map(Number);
    return count > 0 ? [{ first, end: first + count }] : [];
  });
  const isMapped = (uid: number) => ranges.some(({ first, end }) => first <= uid && uid < end);
  if (ranges.length === 0 || isMapped(wanted)) return wanted;
  const end = Math.max(...ranges.map((range) => range.end));
  return [end - 2, end - 1].find((uid) => uid > 0 && isMapped(uid));
}

/**
 * Returns the first directory above a path that other users cannot enter, or the path itself if they can neither read
 * nor enter it; undefined if they can.
 */
export async function closedAbove(path: string): Promise<string | undefined> {
  const above: string[] = [];
  for (let dir = path; dir !== dirname(dir); dir = dirname(dir)) above.unshift(dir);
  for (const each of above) {
    const { mode } = await stat(each);
    if ((mode & (each === path ? OTHERS_READ | OTHERS_PASS : OTHERS_PASS)) === 0) return each;
  }
  return undefined;
}
