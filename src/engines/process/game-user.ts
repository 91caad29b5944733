import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { FileOwner } from '../../kernel/atomic-file.ts';

/** User ids that no distribution, container or directory service gives out (systemd.io/UIDS-GIDS, "unused"). */
const FIRST_UID = 0x7000_0000;
const UIDS = 0x0ffe_0000;
const OTHERS_READ = 0o004;
const OTHERS_PASS = 0o001;

/**
 * The user that an installation's games run as where this process may change users: an id derived from the
 * installation's number, without a name, a shell or other processes. Where that id is not mapped, as in a container
 * with few ids, it is the last but one of those there are.
 */
export async function gameUser(installation: number): Promise<FileOwner> {
  const uid = FIRST_UID + (installation % UIDS);
  // Lines of "first id inside, first id outside, how many" (man 7 user_namespaces).
  const map = await readFile('/proc/self/uid_map', 'utf8').catch(() => '');
  const ranges = map.split('\n').flatMap((line) => {
    const [first = NaN, , count = NaN] = line.trim().split(/\s+/).map(Number);
    return count > 0 ? [{ first, end: first + count }] : [];
  });
  if (ranges.length === 0 || ranges.some(({ first, end }) => first <= uid && uid < end)) return { uid, gid: uid };
  const last = Math.max(...ranges.map(({ end }) => end)) - 2;
  return { uid: last, gid: last };
}

/**
 * The first directory above a path that other users may not pass, or the path itself where they may not use it;
 * undefined where they may.
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
