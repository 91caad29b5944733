import { statfs } from 'node:fs/promises';
import type { Clock } from '../kernel/clock.ts';
import { GIB, MIB, MINUTE_MS } from '../kernel/units.ts';
import type { DiskUsage } from './usage.ts';

/** A server whose files may be growing. */
export interface Watched {
  serverId: string;
  /** How much it may still grow; 0 or less: not at all. Infinity: unlimited. */
  leftBytes: number;
  /** Only shared limits apply to it: it is measured rarely while it does not grow. */
  seldom?: boolean;
}

export interface DiskWatchOptions {
  clock: Clock;
  usage: Pick<DiskUsage, 'measure'>;
  /** Those that are awake now. */
  watched: () => Watched[];
  /** Bytes in use on the file system of the servers. */
  usedBytes: () => Promise<number>;
}

/** How often the file system is asked how much is in use: one system call for all servers. Sooner where one could fill up. */
export const BEAT_MS = 2_000;
/** At least between two of these calls. */
const QUICK_BEAT_MS = 250;
/** A server is measured at least this often, as its growth may hide behind what others delete. */
const LONGEST_MS = MINUTE_MS;
/** A server without a quota of its own is measured this often: its usage is shown, and counts for its account. */
const UNLIMITED_MS = 300_000;
/** At most a quarter of the time is spent walking a growing server, and a twentieth walking one that may grow. */
const REST_GROWING = 3;
const REST = 19;
const LEAST_BYTES = MIB;

interface Look {
  at: number;
  /** The use of the whole file system at that time. */
  taken: number;
  tookMs: number;
}

/**
 * Has the servers that are awake measured as often as their quota may be in danger, until closed. A server is measured
 * once the whole file system has taken in half of what the server may still grow, so that one that writes R bytes a second
 * is found to be over its quota before it has written R · (a beat + five walks) beyond it. The beat is half of the time in which the
 * server that has least left would write that, as fast as all together do: a quarter of a second for 60 MB at 6 MB/s once 3 MB are
 * left. Only where others delete as fast as it writes may it take a minute.
 */
export function watchDisks({ clock, usage, watched, usedBytes }: DiskWatchOptions): { close(): void } {
  const looks = new Map<string, Look>();
  const looking = new Set<string>();
  let taken = 0;
  let before = Infinity;
  let pauseMs = BEAT_MS;
  let closed = false;
  let cancel = clock.at(clock.now() + pauseMs, beat);

  function beat(): void {
    void round().finally(() => {
      if (!closed) cancel = clock.at(clock.now() + pauseMs, beat);
    });
  }

  async function round(): Promise<void> {
    const servers = watched();
    const ids = new Set(servers.map(({ serverId }) => serverId));
    for (const id of looks.keys()) if (!ids.has(id)) looks.delete(id);
    const takenBefore = taken;
    if (servers.length > 0) await count();
    if (closed) return;
    for (const server of servers) if (isDue(server)) void look(server.serverId);
    pauseMs = pauseAfter(taken - takenBefore, servers);
  }

  /** `grown`: since the last beat. */
  function pauseAfter(grown: number, servers: Watched[]): number {
    const left = Math.min(...servers.map(surelyLeft));
    const halfOfItMs = (left / grown) * pauseMs * 0.5;
    return grown < LEAST_BYTES / 8 ? BEAT_MS : Math.min(BEAT_MS, Math.max(QUICK_BEAT_MS, halfOfItMs));
  }

  /** Were all that the file system took in since its last look its own. */
  function surelyLeft({ serverId, leftBytes }: Watched): number {
    return leftBytes - taken + (looks.get(serverId)?.taken ?? taken);
  }

  /** Adds up what the file system took in. Deletions subtract nothing, as they may be other servers'. */
  async function count(): Promise<void> {
    // A file system that cannot be asked may have taken in anything.
    const now = await usedBytes().catch(() => NaN);
    taken += Number.isNaN(now) ? GIB : Math.max(0, now - before);
    before = Number.isNaN(now) ? Infinity : now;
  }

  function isDue({ serverId, leftBytes, seldom = false }: Watched): boolean {
    if (looking.has(serverId)) return false;
    const last = looks.get(serverId);
    if (last === undefined) return true;
    const since = Math.abs(clock.now() - last.at);
    const grown = taken - last.taken >= Math.max(LEAST_BYTES, leftBytes / 2);
    const longestMs = seldom ? UNLIMITED_MS : LONGEST_MS;
    return since >= (grown ? REST_GROWING * last.tookMs : Math.max(longestMs, REST * last.tookMs));
  }

  async function look(serverId: string): Promise<void> {
    const began = performance.now();
    const takenBefore = taken;
    looking.add(serverId);
    try {
      await usage.measure(serverId);
    } catch {
      // Gone, or unreadable now: the next beat looks again.
    } finally {
      looking.delete(serverId);
      looks.set(serverId, { at: clock.now(), taken: takenBefore, tookMs: performance.now() - began });
    }
  }

  return {
    close() {
      closed = true;
      cancel();
    },
  };
}

/** Bytes in use on the file system that holds `path`. */
export async function bytesInUse(path: string): Promise<number> {
  const { bsize, blocks, bfree } = await statfs(path);
  return (blocks - bfree) * bsize;
}
