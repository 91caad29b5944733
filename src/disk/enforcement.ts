import { join } from 'node:path';
import type { Cause } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import type { GameConsoles } from '../engines/console/console.ts';
import { MIB } from '../kernel/units.ts';
import { recordAudit } from '../audit/audit.ts';
import { LastCalls } from '../servers/stopping.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Shared } from '../servers/shared.ts';
import { type BatchRead, WAKES_AND_INSTALLS, type WakeRule } from '../servers/wake-checks.ts';
import type { Tx } from '../store/store.ts';
import type { AccountChange } from './account-disk.ts';
import type { Disks } from './disks.ts';
import type { DiskQuota, DiskView } from './quota.ts';
import type { Usage } from './usage.ts';
import { type Watched, bytesInUse, watchDisks } from './watch.ts';

/** Notifies the viewers of a server that it is over its quota, or under it again. */
interface QuotaEvents {
  publish(serverId: string, type: 'quota', data: object): void;
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
  readonly #shared: Shared;
  readonly #disks: Disks;
  readonly #events: QuotaEvents;
  readonly #guard: DiskGuard;
  /**
   * The size of each server when its account exceeded the limit. Removed once the account is within the limit again.
   */
  readonly #sizes = new Map<string, number>();
  readonly #growing: Set<string>;
  readonly #cancellations: (() => void)[];

  /** `usedBytes` returns the bytes in use on the servers' file system. Default: queries the file system. */
  constructor(
    shared: Shared,
    dataDir: string,
    disks: Disks,
    consoles: GameConsoles,
    events: QuotaEvents,
    usedBytes = () => bytesInUse(join(dataDir, 'servers')),
  ) {
    this.#shared = shared;
    this.#disks = disks;
    this.#events = events;
    const { clock, servers } = shared;
    const { usage, quota, accounts } = disks;
    this.quota = { ...quota, setOverride: (id, quotaMb, also) => this.#setOverride(id, quotaMb, also) };
    this.wakeRules = [
      { check: (row, batchRead) => quota.check(row, batchRead === undefined), commands: WAKES_AND_INSTALLS },
      { check: (row, batchRead) => this.#checkAccount(row, batchRead), commands: WAKES_AND_INSTALLS },
    ];
    this.#guard = createDiskGuard(shared, disks, consoles, (now, over) => this.#tellOfQuota(now, over));
    const watch = watchDisks(
      clock,
      (id) => usage.measure(id),
      () => this.#watched(),
      usedBytes,
    );
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
    await this.#disks.usage.close();
  }

  #awake(): ServerRow[] {
    const awake = this.#shared.servers.live().filter(({ state }) => isTagged(state, 'holds-place'));
    return awake.map(({ row }) => row);
  }

  #watched(): Watched[] {
    const { quota, accounts } = this.#disks;
    return this.#awake().map((row) => {
      const [own, account] = [-quota.overBytes(row), -accounts.overBytes(row.accountId)];
      return { serverId: row.id, leftBytes: Math.min(own, account), seldom: own === Infinity };
    });
  }

  #follow(id: string, now: ServerNow | null): void {
    const { usage, quota } = this.#disks;
    if (now === null || now.state === 'deleting') {
      usage.forget(id);
      this.#sizes.delete(id);
    } else if (isTagged(now.state, 'holds-place')) this.#growing.add(id);
    else if (this.#growing.delete(id)) quota.freed(id);
  }

  #checkAccount({ accountId }: ServerRow, batchRead?: BatchRead): Promise<() => void> {
    const { accounts } = this.#disks;
    if (batchRead === undefined) return accounts.check(accountId);
    return batchRead.once(accounts, accountId, () => accounts.check(accountId, false));
  }

  async #measured(id: string, before: Usage | undefined): Promise<void> {
    const { servers, log } = this.#shared;
    const { accounts, quota } = this.#disks;
    try {
      const row = (await servers.get(id))?.row;
      if (row === undefined) return;
      await accounts.measure(row.accountId);
      const grew = this.#hasGrown(row, before?.bytes ?? 0);
      await this.#guard.check(id, { wasOver: quota.isOver(row, before), grew });
    } catch (error) {
      log.warn({ server: id, err: error }, 'could not enforce a disk quota yet');
    }
  }

  #hasGrown({ id, accountId }: ServerRow, beforeBytes: number): boolean {
    const { usage, accounts } = this.#disks;
    if (accounts.overBytes(accountId) <= 0) {
      this.#sizes.delete(id);
      return false;
    }
    const sizeBytes = this.#sizes.get(id) ?? beforeBytes;
    this.#sizes.set(id, sizeBytes);
    return (usage.of(id)?.bytes ?? 0) - sizeBytes >= GROWN_BYTES;
  }

  async #setOverride(id: string, quotaMb: number, also: (tx: Tx) => Promise<void>): Promise<void> {
    const { servers } = this.#shared;
    const { quota } = this.#disks;
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
      const row = (await this.#shared.servers.get(id).catch(() => undefined))?.row;
      if (row !== undefined) this.#publish(row);
    }
    const action = over ? 'account.diskExceeded' : 'account.diskFreed';
    const [usedMb, limitMb] = [usedBytes, this.#disks.accounts.limitBytes].map((bytes) => Math.ceil(bytes / MIB));
    await this.#record({ action, accountId, detail: `${usedMb} MB of ${limitMb} MB` });
  }

  #publish(row: ServerRow): DiskView {
    const view = this.#disks.quota.view(row);
    const { diskUsageMb, diskQuotaEffectiveMb, quotaExceeded } = view;
    this.#events.publish(row.id, 'quota', { diskUsageMb, diskQuotaEffectiveMb, quotaExceeded });
    return view;
  }

  async #record(entry: { action: string; accountId: string; serverId?: string; detail: string }) {
    const { store, clock, log } = this.#shared;
    try {
      const written = { ...entry, at: clock.now() };
      await store.write((tx) => recordAudit(tx, { userId: '', through: 'system quota' }, written));
    } catch (error) {
      // A full disk may prevent the entry, but the server must be stopped nevertheless.
      log.warn({ ...entry, err: error }, 'could not record a change of disk quota state in the audit log');
    }
  }
}

type DiskGuard = ReturnType<typeof createDiskGuard>;

/**
 * Time between the warning in chat and the stop: enough to find a safe place, and no more, because the game keeps
 * writing.
 */
const DISK_GRACE_MS = 10_000;
/** Excess at which a server is stopped at once, without the rest of the grace period. */
const HURRY = { share: 0.05, bytes: MIB };
/** Excess at which a server that still writes while it stops is killed. */
const KILL = { share: 0.2, bytes: 8 * MIB };
const CAUSE: Cause = { kind: 'system', id: 'quota', note: 'its disk quota is exceeded' };
const ACCOUNT_CAUSE: Cause = { ...CAUSE, note: 'the disk space of its account is used up' };
const WARNING = "This server's disk is full. It saves and goes to sleep in 10 seconds.";

/** The exceeded limit. */
interface Excess {
  overBytes: number;
  limitBytes: number;
  cause: Cause;
}

/**
 * Acts on a server that is over its quota, or that grows while its account is over the limit: warns the players, then
 * saves and stops the server. A fast-growing server is stopped at once, and killed if it still grows much while
 * stopping. Even a game that keeps writing ends within 25 % above its quota (at least 8 MB), unless it writes that much
 * between two measurements. Calls `changed` when a server is over its quota, or under it again.
 */
function createDiskGuard(
  { servers, clock, log }: Shared,
  { quota, accounts }: Disks,
  consoles: GameConsoles,
  changed: (server: ServerNow, over: boolean) => Promise<void>,
) {
  const lastCalls = new LastCalls({ clock, servers, consoles, log });

  /**
   * Call it after a measurement or a change of the quota. `wasOver`: the server was over its quota before. `grew`: the
   * server has grown since its account exceeded the limit.
   */
  async function check(serverId: string, { wasOver, grew }: { wasOver: boolean; grew: boolean }): Promise<void> {
    const now = await servers.get(serverId);
    if (now === undefined) return lastCalls.cancel(serverId);
    const over = quota.overBytes(now.row) > 0;
    if (over !== wasOver) await changed(now, over);
    const excess = excessOf(now.row);
    if (excess === undefined) lastCalls.cancel(serverId);
    // Servers of a full account keep running if they hardly write.
    else if (over || grew) await enforce(now, excess);
  }

  function excessOf(row: ServerNow['row']): Excess | undefined {
    const own = { overBytes: quota.overBytes(row), limitBytes: quota.limitBytes(row), cause: CAUSE };
    const { limitBytes } = accounts;
    const account = { overBytes: accounts.overBytes(row.accountId), limitBytes, cause: ACCOUNT_CAUSE };
    return [own, account].find(({ overBytes }) => overBytes > 0);
  }

  async function enforce({ row, state, context }: ServerNow, excess: Excess): Promise<void> {
    const { id } = row;
    const { overBytes, cause } = excess;
    if (state === 'stopping' && !context.kill && beyond(excess, KILL)) return give(id, 'KILL', cause);
    if (isTagged(state, 'preparing')) return give(id, 'STOP', cause);
    if (state !== 'running') return;
    if (!lastCalls.has(id)) {
      log.info({ server: id, overBytes }, `a server stops: ${cause.note}`);
      lastCalls.begin(id, {
        graceMs: DISK_GRACE_MS,
        warning: WARNING,
        servers: () => servers.live().filter((each) => each.row.id === id && each.state === 'running'),
        cause: async () => excessOf(row)?.cause,
      });
    }
    if (beyond(excess, HURRY)) lastCalls.cutShort(id);
  }

  function beyond({ overBytes, limitBytes }: Excess, { share, bytes }: typeof HURRY): boolean {
    return overBytes > Math.max(bytes, limitBytes * share);
  }

  /** Sends a command. If that fails because the server has moved on, the next measurement acts again. */
  async function give(id: string, type: 'STOP' | 'KILL', cause: Cause): Promise<void> {
    try {
      await servers.send(id, { type, at: clock.now(), cause });
    } catch (error) {
      log.warn({ server: id, err: error }, 'could not stop a server over its disk quota yet');
    }
  }

  return { check, close: () => lastCalls.close() };
}
