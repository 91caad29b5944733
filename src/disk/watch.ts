import { statfs } from 'node:fs/promises';
import type { Clock } from '../kernel/clock.ts';
import { GIB, MIB, MINUTE_MS } from '../kernel/units.ts';

/** A server that may be growing. */
export interface Watched {
  serverId: string;
  /** Bytes until its limit; 0 or less: exceeded. Infinity: unlimited. */
  leftBytes: number;
  /** Only shared limits apply to the server, so it is measured rarely while it does not grow. */
  seldom?: boolean;
}

/**
 * Longest interval between two queries of the file system's use. One system call serves all servers. Shorter if a limit
 * is near.
 */
export const BEAT_MS = 2_000;
/** Shortest interval between these queries. */
const QUICK_BEAT_MS = 250;
/** Longest interval between two measurements of a server, because deletions by others may hide its growth. */
const LONGEST_MS = MINUTE_MS;
/** The same for a server without a quota, whose use is only displayed and counted for its account. */
const UNLIMITED_MS = 300_000;
/** A growing server is walked at most a quarter of the time, any other server at most a twentieth. */
const REST_GROWING = 3;
const REST = 19;
const LEAST_BYTES = MIB;

interface Check {
  at: number;
  /** The file system's total growth at that time. */
  taken: number;
  tookMs: number;
}

/**
 * Measures awake servers, more often the closer they are to their quota, until closed. A server is measured once the
 * whole file system has grown by half of what the server may still grow. A server that writes R bytes a second is
 * therefore detected before it has written R · (a beat + five walks) beyond its quota. A beat is half the time in which
 * all servers together, at their current rate, would fill the space of the server with the least space left: for a
 * quota of 60 MB at 6 MB/s, a quarter of a second once 3 MB are left. If other servers delete as fast as one writes,
 * detection may take a minute. `watched` returns the awake servers, `usedBytes` the bytes in use on their file system.
 */
export function watchDisks(
  clock: Clock,
  measure: (serverId: string) => Promise<unknown>,
  watched: () => Watched[],
  usedBytes: () => Promise<number>,
): { close(): void } {
  const checks = new Map<string, Check>();
  const checking = new Set<string>();
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
    for (const id of checks.keys()) if (!ids.has(id)) checks.delete(id);
    const takenBefore = taken;
    if (servers.length > 0) await count();
    if (closed) return;
    for (const server of servers) if (isDue(server)) void check(server.serverId);
    pauseMs = pauseAfter(taken - takenBefore, servers);
  }

  /** `grown`: bytes since the last beat. */
  function pauseAfter(grown: number, servers: Watched[]): number {
    const left = Math.min(...servers.map(surelyLeft));
    const halfOfItMs = (left / grown) * pauseMs * 0.5;
    return grown < LEAST_BYTES / 8 ? BEAT_MS : Math.min(BEAT_MS, Math.max(QUICK_BEAT_MS, halfOfItMs));
  }

  /** Returns the bytes left if the server alone had caused all growth since its last measurement. */
  function surelyLeft({ serverId, leftBytes }: Watched): number {
    return leftBytes - taken + (checks.get(serverId)?.taken ?? taken);
  }

  /** Adds up the file system's growth. Deletions are not subtracted, because they may be other servers'. */
  async function count(): Promise<void> {
    // If the query fails, any growth is possible.
    const now = await usedBytes().catch(() => NaN);
    taken += Number.isNaN(now) ? GIB : Math.max(0, now - before);
    before = Number.isNaN(now) ? Infinity : now;
  }

  function isDue({ serverId, leftBytes, seldom = false }: Watched): boolean {
    if (checking.has(serverId)) return false;
    const last = checks.get(serverId);
    if (last === undefined) return true;
    const since = Math.abs(clock.now() - last.at);
    const grown = taken - last.taken >= Math.max(LEAST_BYTES, leftBytes / 2);
    const longestMs = seldom ? UNLIMITED_MS : LONGEST_MS;
    return since >= (grown ? REST_GROWING * last.tookMs : Math.max(longestMs, REST * last.tookMs));
  }

  async function check(serverId: string): Promise<void> {
    const began = performance.now();
    const takenBefore = taken;
    checking.add(serverId);
    try {
      await measure(serverId);
    } catch {
      // The server is gone or unreadable. The next beat tries again.
    } finally {
      checking.delete(serverId);
      checks.set(serverId, { at: clock.now(), taken: takenBefore, tookMs: performance.now() - began });
    }
  }

  return {
    close() {
      closed = true;
      cancel();
    },
  };
}

/** Returns the bytes in use on the file system that holds `path`. */
export async function bytesInUse(path: string): Promise<number> {
  const { bsize, blocks, bfree } = await statfs(path);
  return (blocks - bfree) * bsize;
}
