import { join } from 'node:path';
import { isTagged } from '../../machines/server.ts';
import type { Log } from '../kernel/log.ts';
import { recordAudit } from '../people/audit/audit.ts';
import type { LastCallOptions } from '../servers/last-call.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { Servers } from '../servers/servers.ts';
import { type Look, WAKES_AND_INSTALLS, type WakeRule } from '../servers/wake-checks.ts';
import type { Store } from '../store/store.ts';
import type { Disks } from './disks.ts';
import { createDiskGuard } from './guard.ts';
import type { DiskQuota } from './quota.ts';
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

/** The disk quotas, in force. */
export interface DiskEnforcement {
  /** A quota that is set through this one holds for a running server at once. */
  quota: DiskQuota;
  /** Refuse what would wake or install beyond the server's quota, then beyond its account's disk. */
  wakeRules: readonly WakeRule[];
  close(): Promise<void>;
}

/**
 * Holds the servers to their disk quotas until closed: what is awake is measured as it grows, and stopped where it grows too
 * far; `wakeRules` refuse wakes and installs.
 */
export function enforceDiskQuotas(options: DiskEnforcementOptions): DiskEnforcement {
  const { store, clock, log, dataDir, disks, servers, events } = options;
  const { usage, quota } = disks;
  const guard = createDiskGuard({ ...options, quota, changed: tellOfQuota });
  const unobserve = usage.observe((id, before) => {
    void servers
      .get(id)
      .then((now) => now && guard.look(id, quota.isOver(now.row, before)))
      .catch((error: unknown) => log.warn({ server: id, err: error }, 'a disk quota could not be enforced yet'));
  });
  const awake = () => servers.live().filter(({ state }) => isTagged(state, 'holds-place'));
  const watch = watchDisks({
    clock,
    usage,
    usedBytes: options.usedBytes ?? (() => bytesInUse(join(dataDir, 'servers'))),
    watched: () => awake().map(({ row }) => ({ serverId: row.id, leftBytes: -quota.overBytes(row) })),
  });
  const growing = new Set(awake().map(({ row }) => row.id));
  const unwatch = servers.observe((id, now) => {
    if (now === null || now.state === 'deleting') usage.forget(id);
    else if (isTagged(now.state, 'holds-place')) growing.add(id);
    else if (growing.delete(id)) quota.freed(id);
  });
  const { accounts } = disks;
  const checkAccount = ({ accountId }: ServerRow, look?: Look) =>
    look === undefined
      ? accounts.check(accountId)
      : look.once(accounts, accountId, () => accounts.check(accountId, false));

  async function tellOfQuota({ row }: ServerNow, over: boolean): Promise<void> {
    const { diskUsageMb, diskQuotaEffectiveMb, quotaExceeded } = quota.view(row);
    events.publish(row.id, 'quota', { diskUsageMb, diskQuotaEffectiveMb, quotaExceeded });
    const { id: serverId, accountId } = row;
    const action = over ? 'server.quotaExceeded' : 'server.quotaFreed';
    const detail = `${diskUsageMb} MB of ${diskQuotaEffectiveMb} MB`;
    const entry = { action, accountId, serverId, detail, at: clock.now() };
    try {
      await store.write((tx) => recordAudit(tx, { userId: '', through: 'system quota' }, entry));
    } catch (error) {
      // A disk that is full may take no entry; the server must be stopped all the more.
      log.warn({ server: serverId, err: error }, 'that a disk quota is exceeded, or no longer, was not recorded');
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
        await guard.look(id, wasOver);
      },
    },
    wakeRules: [
      { check: (row, look) => quota.check(row, look === undefined), commands: WAKES_AND_INSTALLS },
      { check: checkAccount, commands: WAKES_AND_INSTALLS },
    ],
    async close() {
      watch.close();
      unobserve();
      unwatch();
      guard.close();
      await usage.close();
    },
  };
}
