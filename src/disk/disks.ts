/**
 * Disk quotas of servers and accounts, and the free space of the machine's disks. Never deletes a file to make room.
 */
import { join } from 'node:path';
import type { OpenFiles } from '../jail/open-files.ts';
import type { Base } from '../servers/shared.ts';
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

/**
 * Opens the disk quotas. Call it before the rooms that write to servers' folders, because every writer checks them.
 * `accountDiskMb`: the limit of all servers of an account together; 0: no limit.
 */
export async function openDisks(
  { store, servers, clock, log }: Base,
  dataDir: string,
  openFiles: OpenFiles,
  tiers: readonly QuotaTier[],
  accountDiskMb: number,
): Promise<Disks> {
  const find = async (id: string) => (await servers.get(id))?.row;
  const accountOf = async (id: string) => (await find(id))?.accountId;
  const tenantOf = async (id: string) => (await accountOf(id)) ?? id;
  const usage = await DiskUsage.open({ store, clock, log, dataDir }, openFiles, tenantOf);
  const quota = await openDiskQuota(store, clock, usage, tiers, find);
  const free = createFreeDisk(clock);
  const accounts = await AccountDisk.open(store, clock, usage, accountDiskMb, accountOf);
  const bounded = withinFree(withinAccount(quota, accounts), free, join(dataDir, 'servers'));
  const view: DiskQuota['view'] = (server) => {
    const own = quota.view(server);
    return { ...own, quotaExceeded: own.quotaExceeded || accounts.overBytes(server.accountId) > 0 };
  };
  return { usage, quota: { ...bounded, view }, free, accounts };
}
