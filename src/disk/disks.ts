/**
 * Disk quotas of servers and accounts, and the free space of the machine's disks. Never deletes a file to make room.
 */
import { join } from 'node:path';
import type { OpenFiles } from '../jail/open-files.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { Servers } from '../servers/servers.ts';
import type { Store } from '../store/store.ts';
import { AccountDisk, withinAccount } from './account-disk.ts';
import { type FreeDisk, createFreeDisk, withinFree } from './free.ts';
import { type DiskQuota, type QuotaTier, openDiskQuota } from './quota.ts';
import { DiskUsage } from './usage.ts';

/** The disk use of servers and its limits. */
export interface Disks {
  usage: DiskUsage;
  quota: DiskQuota;
  /** The free space of the machine's disks, minus reservations. */
  free: FreeDisk;
  /** The disk use of whole accounts. */
  accounts: AccountDisk;
}

export interface DisksOptions {
  store: Store;
  clock: Clock;
  log: Log;
  dataDir: string;
  openFiles?: OpenFiles;
  tiers: readonly QuotaTier[];
  /** Limit of all servers of an account together; 0: no limit. */
  accountDiskMb?: number;
  servers: Servers;
}

/** Opens the disk quotas. Call it before the rooms that write to servers' folders, because every writer checks them. */
export async function openDisks(options: DisksOptions): Promise<Disks> {
  const find = async (id: string) => (await options.servers.get(id))?.row;
  const tenantOf = async (id: string) => (await find(id))?.accountId ?? id;
  const usage = await DiskUsage.open({ ...options, tenantOf });
  const quota = await openDiskQuota({ ...options, usage, find });
  const free = createFreeDisk(options);
  const accountOf = async (id: string) => (await find(id))?.accountId;
  const accounts = await AccountDisk.open({ ...options, usage, limitMb: options.accountDiskMb ?? 0, accountOf });
  const bounded = withinFree(withinAccount(quota, accounts), free, join(options.dataDir, 'servers'));
  const view: DiskQuota['view'] = (server) => {
    const own = quota.view(server);
    return { ...own, quotaExceeded: own.quotaExceeded || accounts.overBytes(server.accountId) > 0 };
  };
  return { usage, quota: { ...bounded, view }, free, accounts };
}
