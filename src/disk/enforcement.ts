import { join } from 'node:path';
import { isTagged } from '../../machines/server.ts';
import type { Log } from '../kernel/log.ts';
import { MIB } from '../kernel/units.ts';
import { recordAudit } from '../audit/audit.ts';
import type { LastCallOptions } from '../servers/last-call.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { Servers } from '../servers/servers.ts';
import { type BatchRead, WAKES_AND_INSTALLS, type WakeRule } from '../servers/wake-checks.ts';
import type { Store, Tx } from '../store/store.ts';
import type { AccountChange } from './account-disk.ts';
import type { Disks } from './disks.ts';
import { type DiskGuard, createDiskGuard } from './guard.ts';
import type { DiskQuota, DiskView } from './quota.ts';
import type { Usage } from './usage.ts';
import { type Watched, bytesInUse, watchDisks } from './watch.ts';

export interface DiskEnforcementOptions extends Omit<LastCallOptions, 'servers'> {
  store: Store;
  log: Log;
  dataDir: string;
  disks: Disks;
  servers: Servers;
  /** Notifies the viewers of a server that it is over its quota, or under it again. */
  events: { publish(serverId: string, type: 'quota', data: object): void };
  /** Bytes in use on the servers' file system. Default: queries the file system. */
  usedBytes?: (() => Promise<number>) | undefined;
}

/** How much a game may still write when its account has no space left: its log and state. */
const GROWN_BYTES = MIB;

/**
 * Enforces the disk quotas of servers and accounts until closed. Measures awake servers as they grow and stops those
 * that exceed a limit; `wakeRules` refuse wakes and installs.
 */
export class DiskEnforcement {
  /** The quotas. An override set here applies to a running server at once. */
  readonly quota: DiskQuota;
  /** Refuse wakes and installs beyond the server's quota, then beyond its account's disk limit. */
  readonly wakeRules: readonly WakeRule[];
  readonly #options: DiskEnforcementOptions;
  readonly #guard: DiskGuard;
  /**
   * The size of each server when its account exceeded the limit. Removed once the account is within the limit again.
   */
  readonly #sizes = new Map<string, number>();
  readonly #growing: Set<string>;
  readonly #cancellations: (() => void)[];

  constructor(options: DiskEnforcementOptions) {
    this.#options = options;
    const { clock, dataDir, disks, servers } = options;
    const { usage, quota, accounts } = disks;
    this.quota = { ...quota, setOverride: (id, quotaMb, also) => this.#setOverride(id, quotaMb, also) };
    this.wakeRules = [
      { check: (row, batchRead) => quota.check(row, batchRead === undefined), commands: WAKES_AND_INSTALLS },
      { check: (row, batchRead) => this.#checkAccount(row, batchRead), commands: WAKES_AND_INSTALLS },
    ];
    this.#guard = createDiskGuard({
      ...options,
      quota,
      accounts,
      changed: (now, over) => this.#tellOfQuota(now, over),
    });
    const { usedBytes = () => bytesInUse(join(dataDir, 'servers')) } = options;
    const watch = watchDisks({ clock, usage, usedBytes, watched: () => this.#watched() });
    this.#growing = new Set(this.#awake().map(({ id }) => id));
    this.#cancellations = [
      () => watch.close(),
      usage.observe((id, before) => void this.#measured(id, before)),
      accounts.observe((change) => void this.#tellOfAccount(change)),
      servers.observe((id, now) => this.#follow(id, now)),
    ];
  }

  async close(): Promise<void> {
    for (const cancel of this.#cancellations) cancel();
    this.#guard.close();
    await this.#options.disks.usage.close();
  }

  #awake(): ServerRow[] {
    const awake = this.#options.servers.live().filter(({ state }) => isTagged(state, 'holds-place'));
    return awake.map(({ row }) => row);
  }

  #watched(): Watched[] {
    const { quota, accounts } = this.#options.disks;
    return this.#awake().map((row) => {
      const [own, account] = [-quota.overBytes(row), -accounts.overBytes(row.accountId)];
      return { serverId: row.id, leftBytes: Math.min(own, account), seldom: own === Infinity };
    });
  }

  #follow(id: string, now: ServerNow | null): void {
    const { usage, quota } = this.#options.disks;
    if (now === null || now.state === 'deleting') {
      usage.forget(id);
      this.#sizes.delete(id);
    } else if (isTagged(now.state, 'holds-place')) this.#growing.add(id);
    else if (this.#growing.delete(id)) quota.freed(id);
  }

  #checkAccount({ accountId }: ServerRow, batchRead?: BatchRead): Promise<() => void> {
    const { accounts } = this.#options.disks;
    if (batchRead === undefined) return accounts.check(accountId);
    return batchRead.once(accounts, accountId, () => accounts.check(accountId, false));
  }

  async #measured(id: string, before: Usage | undefined): Promise<void> {
    const { servers, disks, log } = this.#options;
    try {
      const row = (await servers.get(id))?.row;
      if (row === undefined) return;
      await disks.accounts.measure(row.accountId);
      const grew = this.#hasGrown(row, before?.bytes ?? 0);
      await this.#guard.check(id, { wasOver: disks.quota.isOver(row, before), grew });
    } catch (error) {
      log.warn({ server: id, err: error }, 'could not enforce a disk quota yet');
    }
  }

  #hasGrown({ id, accountId }: ServerRow, beforeBytes: number): boolean {
    const { usage, accounts } = this.#options.disks;
    if (accounts.overBytes(accountId) <= 0) {
      this.#sizes.delete(id);
      return false;
    }
    const sizeBytes = this.#sizes.get(id) ?? beforeBytes;
    this.#sizes.set(id, sizeBytes);
    return (usage.of(id)?.bytes ?? 0) - sizeBytes >= GROWN_BYTES;
  }

  async #setOverride(id: string, quotaMb: number, also: (tx: Tx) => Promise<void>): Promise<void> {
    const { servers, disks } = this.#options;
    const { quota } = disks;
    // A dormant server may never have been measured, and the new quota must be compared with its current size.
    if (quotaMb > 0) await quota.refresh(id);
    const row = (await servers.get(id))?.row;
    const wasOver = row !== undefined && quota.overBytes(row) > 0;
    await quota.setOverride(id, quotaMb, also);
    await this.#guard.check(id, { wasOver, grew: false });
  }

  async #tellOfQuota({ row }: ServerNow, over: boolean): Promise<void> {
    const { diskUsageMb, diskQuotaEffectiveMb } = this.#publish(row);
    const { id: serverId, accountId } = row;
    const action = over ? 'server.quotaExceeded' : 'server.quotaFreed';
    await this.#record({ action, accountId, serverId, detail: `${diskUsageMb} MB of ${diskQuotaEffectiveMb} MB` });
  }

  /** Notifies viewers, because the account's servers can no longer start, or can again. */
  async #tellOfAccount({ accountId, serverIds, over, usedBytes }: AccountChange): Promise<void> {
    for (const id of serverIds) {
      const row = (await this.#options.servers.get(id).catch(() => undefined))?.row;
      if (row !== undefined) this.#publish(row);
    }
    const action = over ? 'account.diskExceeded' : 'account.diskFreed';
    const [usedMb, limitMb] = [usedBytes, this.#options.disks.accounts.limitBytes].map((bytes) =>
      Math.ceil(bytes / MIB),
    );
    await this.#record({ action, accountId, detail: `${usedMb} MB of ${limitMb} MB` });
  }

  #publish(row: ServerRow): DiskView {
    const { disks, events } = this.#options;
    const view = disks.quota.view(row);
    const { diskUsageMb, diskQuotaEffectiveMb, quotaExceeded } = view;
    events.publish(row.id, 'quota', { diskUsageMb, diskQuotaEffectiveMb, quotaExceeded });
    return view;
  }

  async #record(entry: { action: string; accountId: string; serverId?: string; detail: string }) {
    const { store, clock, log } = this.#options;
    try {
      const written = { ...entry, at: clock.now() };
      await store.write((tx) => recordAudit(tx, { userId: '', through: 'system quota' }, written));
    } catch (error) {
      // A full disk may prevent the entry, but the server must be stopped nevertheless.
      log.warn({ ...entry, err: error }, 'could not record a change of disk quota state in the audit log');
    }
  }
}
