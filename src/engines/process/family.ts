import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { send } from './signals.ts';
import { statFields } from './table.ts';

/** Maximum depth of nested processes. No game needs more. */
const MOST_ANCESTORS = 64;

interface Kin {
  pid: number;
  parent: number;
  session: number;
}

/** Returns the processes of a leader's session and all their descendants. */
export async function familyOf(leader: number): Promise<number[]> {
  return (await familyTree(leader)).map(({ pid }) => pid);
}

/**
 * Sends a signal to the game of a process group. Bubblewrap would end on a signal without passing it on, and its other
 * processes would go on. So while it has not started the game yet, the whole group is killed: nothing is to be saved.
 */
export async function signalGame(leader: number, signal: NodeJS.Signals): Promise<void> {
  const game = await gameProcessOf(leader);
  if (game === undefined) send(-leader, 'SIGKILL');
  else send(game, signal);
}

/**
 * Returns the game's own first process: the started one, or the one inside bubblewrap. Returns undefined while
 * bubblewrap has not started it yet.
 */
export async function gameProcessOf(leader: number): Promise<number | undefined> {
  if (!isWrapper(leader)) return leader;
  const family = await familyTree(leader);
  let pid = leader;
  for (let steps = 0; steps < MOST_ANCESTORS && isWrapper(pid); steps++) {
    const child = family.find(({ parent }) => parent === pid);
    if (child === undefined) return undefined;
    pid = child.pid;
  }
  return pid;
}

function isWrapper(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'bwrap';
  } catch {
    return false;
  }
}

async function familyTree(leader: number): Promise<Kin[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const kin = new Map<number, Kin>();
  for (const pid of pids) {
    const fields = statFields(pid);
    if (fields) kin.set(pid, { pid, parent: Number(fields[1]), session: Number(fields[3]) });
  }
  const isOfFamily = (pid: number) => {
    let each = kin.get(pid);
    for (let steps = 0; each && steps < MOST_ANCESTORS; steps++) {
      if (each.session === leader) return true;
      each = kin.get(each.parent);
    }
    return false;
  };
  return [...kin.values()].filter(({ pid }) => isOfFamily(pid));
}
