import { join } from 'node:path';
import { isTagged } from '../../machines/server.ts';
import type { Log } from '../kernel/log.ts';
import { MIB } from '../kernel/units.ts';
import { recordAudit } from '../people/audit/audit.ts';
import type { LastCallOptions } from '../servers/last-call.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { Servers } from '../servers/servers.ts';
import { type Look, WAKES_AND_INSTALLS, type WakeRule } from '../servers/wake-checks.ts';
import type { Store } from '../store/store.ts';
import type { AccountChange } from './account-disk.ts';
import type { Disks } from './disks.ts';
import { createDiskGuard } from './guard.ts';
import type { DiskQuota, DiskView } from './quota.ts';
import type { Usage } from './usage.ts';
import { bytesInUse, watchDisks } from './watch.ts';

export interface DiskEnforcementOptions extends Omit<LastCallOptions, 'servers'> {
  store: Store;
  log: Log;
  dataDir: string;
  disks: Disks;
  servers: Servers;
  /** Where those who watch a server are told that it has come to be over its quota, or is so no longer. */
  events: { publish(serverId: string, type: 'quota', data: object): void };
  /** Bytes in use on the file system of the servers. By default it is asked. */
  usedBytes?: (() => Promise<number>) | undefined;
}

/** What a game may still write where its account has no space left: its log, and what it changes as it runs. */
const GROWN_BYTES = MIB;

/** The disk quotas, in force. */
export interface DiskEnforcement {
  /** A quota that is set through this one holds for a running server at once. */
  quota: DiskQuota;
  /** Refuse what would wake or install beyond the server's quota, then beyond its account's disk. */
  wakeRules: readonly WakeRule[];
  close(): Promise<void>;
}

/**
 * Holds the servers to their disk quotas, and to what their account may take, until closed: what is awake is measured as it
 * grows, and stopped where it grows too far; `wakeRules` refuse wakes and installs.
 */
export function enforceDiskQuotas(options: DiskEnforcementOptions): DiskEnforcement {
  const { store, clock, log, dataDir, disks, servers, events } = options;
  const { usage, quota, accounts } = disks;
  /** What servers took before their accounts took more than they may, for as long as these do. */
  const sizes = new Map<string, number>();
  const guard = createDiskGuard({ ...options, quota, accounts, changed: tellOfQuota });
  const unobserve = usage.observe((id, before) => {
    void looked(id, before).catch((error: unknown) =>
      log.warn({ server: id, err: error }, 'a disk quota could not be enforced yet'),
    );
  });
  const unfollow = accounts.observe((change) => void tellOfAccount(change));
  const awake = () => servers.live().filter(({ state }) => isTagged(state, 'holds-place'));
  const watch = watchDisks({
    clock,
    usage,
    usedBytes: options.usedBytes ?? (() => bytesInUse(join(dataDir, 'servers'))),
    watched: () =>
      awake().map(({ row }) => {
        const [own, account] = [-quota.overBytes(row), -accounts.overBytes(row.accountId)];
        return { serverId: row.id, leftBytes: Math.min(own, account), seldom: own === Infinity };
      }),
  });
  const growing = new Set(awake().map(({ row }) => row.id));
  const unwatch = servers.observe((id, now) => {
    if (now === null || now.state === 'deleting') forget(id);
    else if (isTagged(now.state, 'holds-place')) growing.add(id);
    else if (growing.delete(id)) quota.freed(id);
  });
  const checkAccount = ({ accountId }: ServerRow, look?: Look) =>
    look === undefined
      ? accounts.check(accountId)
      : look.once(accounts, accountId, () => accounts.check(accountId, false));

  function forget(id: string): void {
    usage.forget(id);
    sizes.delete(id);
  }

  async function looked(id: string, before: Usage | undefined): Promise<void> {
    const row = (await servers.get(id))?.row;
    if (row === undefined) return;
    await accounts.look(row.accountId);
    await guard.look(id, { wasOver: quota.isOver(row, before), grew: hasGrown(row, before?.bytes ?? 0) });
  }

  function hasGrown({ id, accountId }: ServerRow, beforeBytes: number): boolean {
    if (accounts.overBytes(accountId) <= 0) {
      sizes.delete(id);
      return false;
    }
    const sizeBytes = sizes.get(id) ?? beforeBytes;
    sizes.set(id, sizeBytes);
    return (usage.of(id)?.bytes ?? 0) - sizeBytes >= GROWN_BYTES;
  }

  async function tellOfQuota({ row }: ServerNow, over: boolean): Promise<void> {
    const { diskUsageMb, diskQuotaEffectiveMb } = publish(row);
    const { id: serverId, accountId } = row;
    const action = over ? 'server.quotaExceeded' : 'server.quotaFreed';
    await record({ action, accountId, serverId, detail: `${diskUsageMb} MB of ${diskQuotaEffectiveMb} MB` });
  }

  /** Each of its servers starts no more, or does so again. */
  async function tellOfAccount({ accountId, serverIds, over, usedBytes }: AccountChange): Promise<void> {
    for (const id of serverIds) {
      const row = (await servers.get(id).catch(() => undefined))?.row;
      if (row !== undefined) publish(row);
    }
    const action = over ? 'account.diskExceeded' : 'account.diskFreed';
    const [usedMb, limitMb] = [usedBytes, accounts.limitBytes].map((bytes) => Math.ceil(bytes / MIB));
    await record({ action, accountId, detail: `${usedMb} MB of ${limitMb} MB` });
  }

  function publish(row: ServerRow): DiskView {
    const view = quota.view(row);
    const { diskUsageMb, diskQuotaEffectiveMb, quotaExceeded } = view;
    events.publish(row.id, 'quota', { diskUsageMb, diskQuotaEffectiveMb, quotaExceeded });
    return view;
  }

  async function record(entry: { action: string; accountId: string; serverId?: string; detail: string }) {
    try {
      const written = { ...entry, at: clock.now() };
      await store.write((tx) => recordAudit(tx, { userId: '', through: 'system quota' }, written));
    } catch (error) {
      // A disk that is full may take no entry; the server must be stopped all the more.
      log.warn({ ...entry, err: error }, 'that a disk quota is exceeded, or no longer, was not recorded');
    }
  }

  async function isOver(id: string): Promise<boolean> {
    const row = (await servers.get(id))?.row;
    return row !== undefined && quota.overBytes(row) > 0;
  }

  return {
    quota: {
      ...quota,
      async setOverride(id, quotaMb, also) {
        // A dormant server may never have been measured; a new quota is held against what is there.
        if (quotaMb > 0) await quota.refresh(id);
        const wasOver = await isOver(id);
        await quota.setOverride(id, quotaMb, also);
        await guard.look(id, { wasOver, grew: false });
      },
    },
    wakeRules: [
      { check: (row, look) => quota.check(row, look === undefined), commands: WAKES_AND_INSTALLS },
      { check: checkAccount, commands: WAKES_AND_INSTALLS },
    ],
    async close() {
      watch.close();
      unobserve();
      unfollow();
      unwatch();
      guard.close();
      await usage.close();
    },
  };
}
