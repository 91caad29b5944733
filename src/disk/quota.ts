import type { Disk } from '../jail/space.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError, preconditionFailure } from '../kernel/status.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { MIB } from '../kernel/units.ts';
import { STOP_TEXTS } from '../servers/stopping.ts';
import { openRowCache } from '../store/row-cache.ts';
import type { Sql, Store, Tx } from '../store/store.ts';
import { type Quoted, createReservations, diskFull, mbOf, measured, quotaState } from './reservations.ts';
import { listServerDisks, saveQuotaOverride } from './rows.ts';
import type { DiskUsage, Usage } from './usage.ts';

/** The quota in MB of servers with at most this RAM; 0: none. */
export interface QuotaTier {
  ramMb: number;
  quotaMb: number;
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

export interface DiskQuotaOptions {
  store: Store;
  clock: Clock;
  usage: DiskUsage;
  /** Smallest RAM first. The last one applies to all larger servers. */
  tiers: readonly QuotaTier[];
  /** Undefined if there is no such server. */
  find: (serverId: string) => Promise<Quoted | undefined>;
}

/** How long a wake waits for a measurement. Later results take effect while the server runs. */
const PATIENCE_MS = 10_000;
const NEAR = 0.9;

/** Opens the quotas with the stored overrides. */
export async function openDiskQuota(options: DiskQuotaOptions): Promise<DiskQuota> {
  const { store, usage, tiers } = options;
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
    ...createReservations({ ...options, limitMb }),
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
