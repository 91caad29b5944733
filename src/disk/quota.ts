import type { Disk, Reservation } from '../jail/space.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError, preconditionFailure, quotaExceeded } from '../kernel/status.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { MIB } from '../kernel/units.ts';
import { serverNotFound } from '../people/members/owned-servers.ts';
import type { ServerRow } from '../servers/rows.ts';
import { createRowCache } from '../store/row-cache.ts';
import type { Store, Tx } from '../store/store.ts';
import { listServerDisks, saveQuotaOverride } from './rows.ts';
import type { DiskUsage, Usage } from './usage.ts';

/** The quota of servers with up to so much RAM, in MB; 0: none. */
export interface QuotaTier {
  ramMb: number;
  quotaMb: number;
}

/** As much of a server as its quota depends on. */
export type Quoted = Pick<ServerRow, 'id' | 'accountId' | 'ramMb'>;

/** What a server takes and may take, as its owner sees it. */
export interface DiskView {
  diskUsageMb: number;
  diskUsageKnown: boolean;
  /** 0: none. */
  diskQuotaOverrideMb: number;
  /** 0: no quota. */
  diskQuotaEffectiveMb: number;
  quotaExceeded: boolean;
}

/** How much of the disk servers may take. */
export interface DiskQuota extends Disk {
  view(server: Quoted): DiskView;
  /** 0: none. */
  limitBytes(server: Quoted): number;
  /** By how much what is known now lies above the quota; negative below. −∞: no quota, or never measured. */
  overBytes(server: Quoted): number;
  /** Whether a usage would be more than the server may take; undefined, for never measured, is not. */
  isOver(server: Quoted, usage: Usage | undefined): boolean;
  /**
   * Measures where that may change the answer, and gives the check itself: it throws FAILED_PRECONDITION QUOTA_EXCEEDED
   * for a server that takes more than it may. `measures` false: it goes by what was measured before.
   */
  check(server: Quoted, measures?: boolean): Promise<() => void>;
  /** Has what an earlier run measured, or nobody, measured now; returns after a while where that takes long. Never rejects. */
  refresh(serverId: string): Promise<void>;
  /** Stores an operator's quota for the server, in MB, 0 for none; in force from the commit on. `also`: in the same write. */
  setOverride(serverId: string, quotaMb: number, also: (tx: Tx) => Promise<void>): Promise<void>;
}

export interface DiskQuotaOptions {
  store: Store;
  clock: Clock;
  usage: DiskUsage;
  /** Smallest RAM first; the last one holds for all above. */
  tiers: readonly QuotaTier[];
  /** Undefined: there is no such server. */
  find: (serverId: string) => Promise<Quoted | undefined>;
}

/** A wake does not wait longer for a measurement; what it would have shown is noticed while the server runs. */
const PATIENCE_MS = 10_000;
/** A refused write has the files measured anew, but not more often than this. */
const AGAIN_MS = 5_000;
const NEAR = 0.9;

/** Reads the overrides. Reservations are of this process: after its end the files tell what came of them. */
export async function openDiskQuota(options: DiskQuotaOptions): Promise<DiskQuota> {
  const { store, clock, usage, tiers, find } = options;
  const reserved = new Map<string, number>();
  const rows = (await listServerDisks(store)).filter(({ quotaOverrideMb }) => quotaOverrideMb > 0);
  const overrides = createRowCache(store, rows, ({ serverId, quotaOverrideMb }) => [serverId, quotaOverrideMb]);

  function limitMb({ id, ramMb }: Quoted): number {
    return overrides.of(id) ?? (tiers.find((tier) => ramMb <= tier.ramMb) ?? tiers.at(-1))?.quotaMb ?? 0;
  }

  function limitBytes(server: Quoted): number {
    return limitMb(server) * MIB;
  }

  function beyond(server: Quoted, found: Usage | undefined): number {
    const limit = limitBytes(server);
    return limit === 0 || found === undefined ? -Infinity : found.bytes - limit;
  }

  function overBytes(server: Quoted): number {
    return beyond(server, usage.of(server.id));
  }

  /** Never measured is not empty. */
  function fits(server: Quoted, bytes: number): boolean {
    const limit = limitBytes(server);
    if (limit === 0) return true;
    const found = usage.of(server.id);
    return found !== undefined && found.bytes + (reserved.get(server.id) ?? 0) + bytes <= limit;
  }

  /** What an earlier run has measured will do for a server that was far from its quota. */
  function isDoubtful(server: Quoted): boolean {
    const limit = limitBytes(server);
    if (limit === 0) return false;
    const found = usage.of(server.id);
    if (found === undefined || found.bytes > limit) return true;
    return found.bytes > limit * NEAR && !usage.isFresh(server.id);
  }

  async function take(server: Quoted, bytes: number): Promise<void> {
    const { id } = server;
    if (!fits(server, bytes)) {
      const at = usage.of(id)?.measuredAt ?? -Infinity;
      if (!usage.isFresh(id) || clock.now() - at >= AGAIN_MS) await measured(id);
      if (!fits(server, bytes)) throw noRoom(server);
    }
    hold(id, bytes);
  }

  async function measured(id: string): Promise<void> {
    try {
      await usage.measure(id);
    } catch (cause) {
      if (cause instanceof StatusError) throw cause;
      const message = 'The files of the server cannot be read now. Try again.';
      throw new StatusError('UNAVAILABLE', 'DISK_UNREADABLE', message, { cause });
    }
  }

  function hold(id: string, bytes: number): void {
    const held = (reserved.get(id) ?? 0) + bytes;
    if (held > 0) reserved.set(id, held);
    else reserved.delete(id);
  }

  /** A state that its owner has to change before the call can succeed. */
  function startRefused(server: Quoted): StatusError {
    const { subject, message, metadata } = standing(server, 'Delete something, then start it.');
    const details = [preconditionFailure('DISK_QUOTA', subject, message)];
    return new StatusError('FAILED_PRECONDITION', 'QUOTA_EXCEEDED', message, { metadata, details });
  }

  /** What the call asks for is more than is left. */
  function noRoom(server: Quoted): StatusError {
    const { subject, message, metadata } = standing(server, 'Delete something first.');
    return quotaExceeded('DISK_QUOTA_EXCEEDED', subject, message, metadata);
  }

  function standing(server: Quoted, advice: string) {
    const [usedMb, quotaMb] = [mbOf(usage.of(server.id)?.bytes ?? 0), limitMb(server)];
    const message = `The server may take ${quotaMb} MB of the disk, and takes ${usedMb} MB. ${advice}`;
    const metadata = { server: server.id, usedMb: String(usedMb), quotaMb: String(quotaMb) };
    return { subject: `server:${server.id}`, message, metadata };
  }

  return {
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
      if (measures && isDoubtful(server))
        await withTimeout(measured(server.id), PATIENCE_MS, { late: () => undefined });
      return () => {
        if (overBytes(server) > 0) throw startRefused(server);
      };
    },

    async refresh(serverId) {
      if (usage.of(serverId) !== undefined && usage.isFresh(serverId)) return;
      await withTimeout(measured(serverId), PATIENCE_MS).catch(() => {});
    },

    async setOverride(serverId, quotaMb, also) {
      const save = async (tx: Tx) => {
        await saveQuotaOverride(tx, serverId, quotaMb);
        await also(tx);
      };
      await (quotaMb > 0 ? overrides.set(serverId, quotaMb, save) : overrides.delete(serverId, save));
    },

    async reserve(serverId, bytes) {
      const server = await find(serverId);
      if (server === undefined) throw serverNotFound(serverId);
      // What an earlier run has measured may have changed since.
      if (limitBytes(server) > 0 && usage.of(serverId) !== undefined && !usage.isFresh(serverId))
        await measured(serverId);
      await take(server, bytes);
      return reservation(server, bytes);
    },

    async room(serverId) {
      const server = await find(serverId);
      const totalBytes = server === undefined ? 0 : limitBytes(server);
      if (totalBytes === 0) return undefined;
      const usedBytes = (usage.of(serverId)?.bytes ?? 0) + (reserved.get(serverId) ?? 0);
      return { totalBytes, freeBytes: Math.max(0, totalBytes - usedBytes) };
    },

    freed(serverId) {
      void usage.measure(serverId).catch(() => {});
    },
  };

  function reservation(server: Quoted, bytes: number): Reservation {
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
        hold(server.id, -held);
        usage.add(server.id, addedBytes);
      },
    };
  }
}

/** Begun MB count. */
function mbOf(bytes: number): number {
  return Math.ceil(bytes / MIB);
}
