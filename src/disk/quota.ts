import type { Disk } from '../jail/space.ts';
import type { Clock } from '../kernel/clock.ts';
import { type RefusalWords, StatusError, preconditionFailure, quotaExceeded } from '../kernel/status.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { MIB } from '../kernel/units.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import { STOP_TEXTS } from '../servers/stopping.ts';
import { openRowCache } from '../store/row-cache.ts';
import type { Sql, Store, Tx } from '../store/store.ts';
import { listServerDisks, saveQuotaOverride } from './rows.ts';
import type { DiskUsage, Usage } from './usage.ts';

/** The quota in MB of servers with at most this RAM; 0: none. */
export interface QuotaTier {
  ramMb: number;
  quotaMb: number;
}

/** The part of a server that determines its quota. */
interface Quoted {
  id: string;
  accountId: string;
  ramMb: number;
}

/** A server's disk use and quota for its owner. */
export interface DiskView {
  diskUsageMb: number;
  diskUsageKnown: boolean;
  /** 0: none. */
  diskQuotaOverrideMb: number;
  /** 0: no quota. */
  diskQuotaEffectiveMb: number;
  quotaExceeded: boolean;
}

/** The disk quotas of servers. */
export interface DiskQuota extends Disk {
  view(server: Quoted): DiskView;
  /** 0: no quota. */
  limitBytes(server: Quoted): number;
  /**
   * Returns by how many bytes the known use exceeds the quota; negative if it does not. −∞: no quota, or never
   * measured.
   */
  overBytes(server: Quoted): number;
  /** Reports whether a usage exceeds the server's quota. False for undefined (never measured). */
  isOver(server: Quoted, usage: Usage | undefined): boolean;
  /**
   * Measures if a measurement may change the result. Returns the check, which throws FAILED_PRECONDITION QUOTA_EXCEEDED
   * if the server is over its quota. With `measures` false, it uses earlier measurements only.
   */
  check(server: Quoted, measures?: boolean): Promise<() => void>;
  /** Measures if the size is unknown or from an earlier run. Waits for the result for a limited time. Never rejects. */
  refresh(serverId: string): Promise<void>;
  /**
   * Stores an operator's quota for the server, in MB; 0: none. It applies from the commit on. `also` runs in the same
   * write.
   */
  setOverride(serverId: string, quotaMb: number, also: (tx: Tx) => Promise<void>): Promise<void>;
}

/** How long a wake waits for a measurement. Later results take effect while the server runs. */
const PATIENCE_MS = 10_000;
const NEAR = 0.9;

/**
 * Opens the quotas with the stored overrides. `tiers`: smallest RAM first; the last one applies to all larger servers.
 * `find` returns undefined if there is no such server.
 */
export async function openDiskQuota(
  store: Store,
  clock: Clock,
  usage: DiskUsage,
  tiers: readonly QuotaTier[],
  find: (serverId: string) => Promise<Quoted | undefined>,
): Promise<DiskQuota> {
  const list = async (db: Sql) => (await listServerDisks(db)).filter(({ quotaOverrideMb }) => quotaOverrideMb > 0);
  const overrides = await openRowCache(store, list, ({ serverId, quotaOverrideMb }) => [serverId, quotaOverrideMb]);

  function limitMb({ id, ramMb }: Quoted): number {
    return overrides.of(id) ?? (tiers.find((tier) => ramMb <= tier.ramMb) ?? tiers.at(-1))?.quotaMb ?? 0;
  }

  const limitBytes = (server: Quoted) => limitMb(server) * MIB;

  function beyond(server: Quoted, found: Usage | undefined): number {
    const limit = limitBytes(server);
    return limit === 0 || found === undefined ? -Infinity : found.bytes - limit;
  }

  const overBytes = (server: Quoted) => beyond(server, usage.of(server.id));

  return {
    ...createReservations(clock, usage, find, limitMb),
    limitBytes,
    overBytes,
    isOver: (server, found) => beyond(server, found) > 0,

    view(server) {
      const found = usage.of(server.id);
      return {
        diskUsageMb: mbOf(found?.bytes ?? 0),
        diskUsageKnown: found !== undefined,
        diskQuotaOverrideMb: overrides.of(server.id) ?? 0,
        diskQuotaEffectiveMb: limitMb(server),
        quotaExceeded: overBytes(server) > 0,
      };
    },

    async check(server, measures = true) {
      if (measures && isDoubtful(usage, server.id, limitBytes(server)))
        await withTimeout(measured(usage, server.id), PATIENCE_MS, { late: () => undefined });
      return () => {
        if (overBytes(server) > 0) throw startRefused(server.id, usage.of(server.id)?.bytes ?? 0, limitMb(server));
      };
    },

    async refresh(serverId) {
      if (usage.of(serverId) !== undefined && usage.isFresh(serverId)) return;
      await withTimeout(measured(usage, serverId), PATIENCE_MS).catch(() => {});
    },

    async setOverride(serverId, quotaMb, also) {
      const save = async (tx: Tx) => {
        await saveQuotaOverride(tx, serverId, quotaMb);
        await also(tx);
      };
      await (quotaMb > 0 ? overrides.set(serverId, quotaMb, save) : overrides.delete(serverId, save));
    },
  };
}

/**
 * Reports whether a new measurement is needed. A measurement from an earlier run suffices if it is far below the quota.
 */
function isDoubtful(usage: DiskUsage, serverId: string, limitBytes: number): boolean {
  if (limitBytes === 0) return false;
  const found = usage.of(serverId);
  if (found === undefined || found.bytes > limitBytes) return true;
  return found.bytes > limitBytes * NEAR && !usage.isFresh(serverId);
}

/** The error for a state that the owner must change before the call can succeed. */
function startRefused(serverId: string, usedBytes: number, quotaMb: number): StatusError {
  const advice = 'Delete files, then try again.';
  const { subject, message, metadata } = quotaState(serverId, usedBytes, quotaMb, advice);
  const details = [preconditionFailure('DISK_QUOTA', subject, message)];
  const words = diskFull(STOP_TEXTS.quota, 'Its disk is full', 'member');
  return new StatusError('FAILED_PRECONDITION', 'QUOTA_EXCEEDED', message, { metadata, details, words });
}

/** Minimum interval between measurements caused by refused writes. */
const AGAIN_MS = 5_000;

/**
 * Reserves the bytes of writes within their server's quota. Counts the reservations of all other writes in progress.
 */
function createReservations(
  clock: Clock,
  usage: DiskUsage,
  find: (serverId: string) => Promise<Quoted | undefined>,
  limitMb: (server: Quoted) => number,
): Disk {
  const reserved = new HeldBytes();

  /** Reports whether the bytes fit. A server never measured does not count as empty. */
  function fits(server: Quoted, bytes: number): boolean {
    const limit = limitMb(server) * MIB;
    if (limit === 0) return true;
    const found = usage.of(server.id);
    return found !== undefined && found.bytes + reserved.of(server.id) + bytes <= limit;
  }

  async function take(server: Quoted, bytes: number): Promise<void> {
    const { id } = server;
    if (!fits(server, bytes)) {
      const at = usage.of(id)?.measuredAt ?? -Infinity;
      if (!usage.isFresh(id) || Math.abs(clock.now() - at) >= AGAIN_MS) await measured(usage, id);
      if (!fits(server, bytes)) throw noRoom(id, usage.of(id)?.bytes ?? 0, limitMb(server));
    }
    reserved.add(id, bytes);
  }

  return {
    async reserve(serverId, bytes) {
      const server = await find(serverId);
      if (server === undefined) throw serverNotFound(serverId);
      // An earlier run's measurement may be outdated.
      if (limitMb(server) > 0 && usage.of(serverId) !== undefined && !usage.isFresh(serverId))
        await measured(usage, serverId);
      await take(server, bytes);
      let held = bytes;
      let settled = false;
      return {
        async grow(more) {
          if (settled) throw new Error('a settled reservation cannot grow');
          await take(server, more);
          held += more;
        },
        settle(addedBytes) {
          if (settled) return;
          settled = true;
          reserved.add(serverId, -held);
          usage.add(serverId, addedBytes);
        },
      };
    },

    async room(serverId) {
      const server = await find(serverId);
      const totalBytes = server === undefined ? 0 : limitMb(server) * MIB;
      if (totalBytes === 0) return undefined;
      const usedBytes = (usage.of(serverId)?.bytes ?? 0) + reserved.of(serverId);
      return { totalBytes, freeBytes: Math.max(0, totalBytes - usedBytes) };
    },

    freed(serverId) {
      void usage.measure(serverId).catch(() => {});
    },
  };
}

/** Measures a server's files for a call that depends on the result. Throws UNAVAILABLE DISK_UNREADABLE. */
async function measured(usage: DiskUsage, serverId: string): Promise<void> {
  try {
    await usage.measure(serverId);
  } catch (cause) {
    if (cause instanceof StatusError) throw cause;
    const message = 'The files of the server cannot be read right now. Try again.';
    throw new StatusError('UNAVAILABLE', 'DISK_UNREADABLE', message, { cause });
  }
}

/** The error for a call that needs more space than is left. */
function noRoom(serverId: string, usedBytes: number, quotaMb: number): StatusError {
  const { subject, message, metadata } = quotaState(serverId, usedBytes, quotaMb, 'Delete files first.');
  return quotaExceeded('DISK_QUOTA_EXCEEDED', subject, message, metadata);
}

/** Returns a server's use and quota for an error. */
function quotaState(serverId: string, usedBytes: number, quotaMb: number, advice: string) {
  const usedMb = mbOf(usedBytes);
  const message = `The server uses ${usedMb} MB of disk. Its quota is ${quotaMb} MB. ${advice}`;
  const metadata = { server: serverId, usedMb: String(usedMb), quotaMb: String(quotaMb) };
  return { subject: `server:${serverId}`, message, metadata };
}

/** Returns the words for a start that a full disk refuses. `by`: the role that can delete files. */
export function diskFull(player: string, title: string, by: 'owner' | 'member'): RefusalWords {
  return {
    player,
    list: '§7Asleep: §fits disk is full',
    owner: { title, mend: [by, 'files', 'delete something'], others: 'ask its owner to free some space' },
  };
}

/** Converts to MB, rounded up. */
function mbOf(bytes: number): number {
  return Math.ceil(bytes / MIB);
}

/** Reserved bytes of writes in progress, by holder. In memory only: after a restart, the files show the result. */
export class HeldBytes {
  readonly #held = new Map<string, number>();

  of(holder: string): number {
    return this.#held.get(holder) ?? 0;
  }

  /** Negative: releases bytes. */
  add(holder: string, bytes: number): void {
    const held = this.of(holder) + bytes;
    if (held > 0) this.#held.set(holder, held);
    else this.#held.delete(holder);
  }
}
