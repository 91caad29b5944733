import { readFile, readdir, readlink } from 'node:fs/promises';
import { createCache } from '../../kernel/cache.ts';
import type { PublishedPort } from '../engine.ts';
import { familyOf } from './family.ts';
import { processTable } from './table.ts';

/** A port of a game at 127.0.0.1. */
type Target = Pick<PublishedPort, 'containerPort' | 'proto'>;

/** The first process of a game; null if unknown. */
interface Leader {
  pid: number | null;
  start: string | null;
}

/** How long a result is cached, because strangers can cause any number of checks. */
const ANSWER_KEPT_MS = 1_000;

/**
 * Addresses that accept connections to 127.0.0.1, as the kernel writes them: 127.0.0.1 and 0.0.0.0, in IPv4 and IPv6.
 */
const REACHED = new Set([
  '0100007F',
  '00000000',
  '0000000000000000FFFF00000100007F',
  '0000000000000000FFFF000000000000',
  '00000000000000000000000000000000',
]);
const MOST_PORTS = 64;
const LISTENING = '0A';

/** Whether this system reports the owner of a socket. If not, no port leads into a game. */
export const TELLS_OWNERS = process.platform === 'linux';

/**
 * Returns a function that checks whether only a game's own processes listen at a port of 127.0.0.1: those of its
 * session, or started by it. It returns false if no process listens or if the owner is unknown. Results are cached for
 * a second.
 */
export function socketsOf(game: () => Leader | undefined): (target: Target) => Promise<boolean> {
  const answers = createCache<boolean>({ most: MOST_PORTS, ttlMs: () => ANSWER_KEPT_MS });
  return async function isOwn(target) {
    const tryOnce = () => answersAt(target, game()).catch(() => false);
    return await answers.get(`${target.containerPort}/${target.proto}`, performance.now(), tryOnce);
  };
}

async function answersAt(target: Target, leader: Leader | undefined): Promise<boolean> {
  if (!TELLS_OWNERS || !leader?.pid || leader.start === null) return false;
  const { pid, start } = leader;
  const missing = await socketsAt(target);
  if (missing.size === 0 || (await processTable.startOf(pid)) !== start) return false;
  // Usually the game's first process listens.
  await takeOwn(missing, pid);
  if (missing.size > 0) for (const other of await familyOf(pid)) await takeOwn(missing, other);
  return missing.size === 0;
}

/**
 * Returns the ports on which a game's own processes listen for TCP connections to 127.0.0.1, and those of `ports` that
 * belong to other programs; undefined if the system does not report it.
 */
export async function listenersOf(
  leader: Leader,
  ports: readonly number[],
): Promise<{ own: number[]; taken: number[] } | undefined> {
  if (!TELLS_OWNERS || leader.pid === null) return undefined;
  const sockets = await listening();
  const missing = new Set(sockets.keys());
  for (const pid of [leader.pid, ...(await familyOf(leader.pid))]) await takeOwn(missing, pid);
  const foreign = new Set([...missing].map((inode) => sockets.get(inode) ?? 0));
  const own = new Set([...sockets.values()].filter((port) => !foreign.has(port)));
  return { own: [...own], taken: ports.filter((port) => foreign.has(port)) };
}

/** Returns the ports of all sockets that accept connections to 127.0.0.1, by inode. */
async function listening(): Promise<Map<string, number>> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readTable(`/proc/net/${name}`)));
  const sockets = new Map<string, number>();
  for (const fields of tables.flat()) {
    const [address = '', port = ''] = (fields[1] ?? '').split(':');
    if (REACHED.has(address) && fields[3] === LISTENING) sockets.set(fields[9] ?? '', Number.parseInt(port, 16));
  }
  return sockets;
}

/** Returns the inodes of the sockets at a port, from the tables in `/proc/net` (man 5 proc). */
async function socketsAt({ containerPort, proto }: Target): Promise<Set<string>> {
  const port = containerPort.toString(16).toUpperCase().padStart(4, '0');
  const tables = await Promise.all([proto, `${proto}6`].map((name) => readTable(`/proc/net/${name}`)));
  const found = tables.flat().filter(([, local = '', , state]) => {
    const [address = '', at] = local.split(':');
    return at === port && REACHED.has(address) && (proto === 'udp' || state === LISTENING);
  });
  return new Set(found.map((fields) => fields[9] ?? ''));
}

async function readTable(path: string): Promise<string[][]> {
  // The IPv6 table is missing if IPv6 is off.
  const text = await readFile(path, 'latin1').catch(() => '');
  return text.split('\n').map((line) => line.trim().split(/\s+/));
}

/**
 * Removes the sockets of a process from `inodes`. Ignores processes of other users, which cannot be read, and ended
 * ones.
 */
async function takeOwn(inodes: Set<string>, pid: number): Promise<void> {
  const dir = `/proc/${pid}/fd`;
  for (const fd of await readdir(dir).catch(() => [])) {
    if (inodes.size === 0) return;
    const link = await readlink(`${dir}/${fd}`).catch(() => '');
    inodes.delete(/^socket:\[(\d+)\]$/.exec(link)?.[1] ?? '');
  }
}
