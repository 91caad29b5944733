import type { Disk, Reservation } from '../jail/space.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError, preconditionFailure, quotaFailure } from '../kernel/status.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { MIB } from '../kernel/units.ts';
import { isOperatorAccount } from '../people/rows.ts';
import type { Store } from '../store/store.ts';
import { listAccountDisk, listFullAccounts } from './rows.ts';
import type { DiskUsage } from './usage.ts';

/** What all servers of an account take together, with their backups: however many there are, the account has an end. */
export interface AccountDisk {
  /** Reserves bytes of the server's account. RESOURCE_EXHAUSTED ACCOUNT_DISK_EXCEEDED. Their holder releases them. */
  hold(serverId: string, bytes: number): Promise<AccountHold>;
  /**
   * Gives a check that throws FAILED_PRECONDITION ACCOUNT_DISK_EXCEEDED for an account that takes more than it may. `measures`
   * false: it goes by what was measured before.
   */
  check(accountId: string, measures?: boolean): Promise<() => void>;
  /** By how much it takes more than it may, with what was read of it last; negative: it does not. −∞: no limit, or not read yet. */
  overBytes(accountId: string): number;
  /** Reads it, where that is some time ago, for `overBytes`. */
  look(accountId: string): Promise<void>;
  /** Calls when an account has come to take more than it may, or does so no longer. Returns the cancellation. */
  observe(listener: (account: AccountChange) => void): () => void;
  /** In bytes; 0: no limit. */
  limitBytes: number;
}

/** An account that takes more than it may, or does so no longer. */
export interface AccountChange {
  accountId: string;
  serverIds: readonly string[];
  over: boolean;
  usedBytes: number;
}

export interface AccountHold {
  /** Rejects as `hold` does. */
  grow(bytes: number): Promise<void>;
  release(): void;
}

export interface AccountDiskOptions {
  store: Store;
  clock: Pick<Clock, 'now'>;
  usage: Pick<DiskUsage, 'of' | 'measure'>;
  /** 0: no limit. Operators' own accounts have none. */
  limitMb: number;
  /** Undefined: there is no such server. */
  accountOf: (serverId: string) => Promise<string | undefined>;
}

/** What is known of an account beside what its servers were last measured at. */
interface Account {
  readAt: number;
  unlimited: boolean;
  serverIds: string[];
  backupBytes: number;
}

/** Servers and backups are read so seldom; what is written meanwhile is counted as it comes. */
const READ_MS = 5_000;
/** Nobody waits longer for servers that were never measured; until then they count as empty. */
const PATIENCE_MS = 10_000;
const MOST_REMEMBERED = 10_000;

/** Finds those that take more than they may by what is stored of them: they do so before anything is measured. */
export async function openAccountDisk(options: AccountDiskOptions): Promise<AccountDisk> {
  const { store, clock, usage, limitMb, accountOf } = options;
  const accounts = new Map<string, Account>();
  const held = new Map<string, number>();
  const listeners = new Set<(account: AccountChange) => void>();
  /** Those that were over their limit when that was last looked at. */
  const full = new Set<string>();
  const limit = limitMb * MIB;
  for (const accountId of limit === 0 ? [] : await listFullAccounts(store, limit)) {
    accounts.set(accountId, { ...(await read(accountId, false)), readAt: -Infinity });
    if (overBytes(accountId) > 0) full.add(accountId);
  }

  async function read(accountId: string, measures = true): Promise<Account> {
    const [servers, unlimited] = await Promise.all([
      listAccountDisk(store, accountId),
      isOperatorAccount(store, accountId),
    ]);
    const serverIds = servers.map(({ serverId }) => serverId);
    const backupBytes = servers.reduce((sum, each) => sum + each.backupBytes, 0);
    const account = { readAt: clock.now(), unlimited, serverIds, backupBytes };
    const unknown = unlimited || !measures ? [] : serverIds.filter((id) => usage.of(id) === undefined);
    if (unknown.length > 0) {
      const measured = Promise.allSettled(unknown.map((id) => usage.measure(id)));
      await withTimeout(measured, PATIENCE_MS, { late: () => undefined });
    }
    // Nobody may take for measured what was not.
    if (!measures) return account;
    if (accounts.size >= MOST_REMEMBERED) accounts.clear();
    accounts.set(accountId, account);
    note(accountId, account);
    return account;
  }

  function note(accountId: string, account: Account): void {
    const over = overBytes(accountId) > 0;
    if (over === full.has(accountId)) return;
    if (over) full.add(accountId);
    else full.delete(accountId);
    const { serverIds } = account;
    for (const listener of listeners)
      listener({ accountId, serverIds, over, usedBytes: usedBytes(accountId, account) });
  }

  function overBytes(accountId: string): number {
    const account = accounts.get(accountId);
    return limit === 0 || !account || account.unlimited ? -Infinity : usedBytes(accountId, account) - limit;
  }

  async function known(accountId: string): Promise<Account> {
    const account = accounts.get(accountId);
    return account && clock.now() - account.readAt <= READ_MS ? account : await read(accountId);
  }

  function usedBytes(accountId: string, { serverIds, backupBytes }: Account): number {
    const files = serverIds.reduce((sum, id) => sum + (usage.of(id)?.bytes ?? 0), 0);
    return files + backupBytes + (held.get(accountId) ?? 0);
  }

  /** Reserves bytes synchronously once they are found to fit; what seems too much is looked at anew first. */
  async function take(accountId: string, serverId: string, bytes: number): Promise<void> {
    const taken = (account: Account): boolean => {
      if (!account.unlimited && usedBytes(accountId, account) + bytes > limit) return false;
      add(accountId, bytes);
      return true;
    };
    if (taken(await known(accountId))) return;
    await usage.measure(serverId).catch(() => {});
    const account = await read(accountId);
    if (!taken(account)) throw refused('RESOURCE_EXHAUSTED', accountId, account, 'Delete files or backups first.');
  }

  function refused(code: 'RESOURCE_EXHAUSTED' | 'FAILED_PRECONDITION', id: string, account: Account, advice: string) {
    const usedMb = Math.ceil(usedBytes(id, account) / MIB);
    const message = `The servers of this account may take ${limitMb} MB of the disk together with their backups, and take ${usedMb} MB. ${advice}`;
    const metadata = { account: id, usedMb: String(usedMb), limitMb: String(limitMb) };
    const subject = `account:${id}`;
    const details =
      code === 'RESOURCE_EXHAUSTED'
        ? quotaFailure(subject, message)
        : preconditionFailure('ACCOUNT_DISK', subject, message);
    return new StatusError(code, 'ACCOUNT_DISK_EXCEEDED', message, { metadata, details: [details] });
  }

  function add(accountId: string, bytes: number): void {
    const sum = (held.get(accountId) ?? 0) + bytes;
    if (sum > 0) held.set(accountId, sum);
    else held.delete(accountId);
  }

  return {
    async hold(serverId, bytes) {
      const accountId = limit === 0 ? undefined : await accountOf(serverId);
      let holding = 0;
      const grow = async (more: number): Promise<void> => {
        if (accountId === undefined || more <= 0) return;
        await take(accountId, serverId, more);
        holding += more;
      };
      await grow(bytes);
      return {
        grow,
        release() {
          if (accountId !== undefined) add(accountId, -holding);
          holding = 0;
        },
      };
    },
    async check(accountId, measures = true) {
      if (limit === 0) return () => {};
      const isOver = (account: Account) => !account.unlimited && usedBytes(accountId, account) > limit;
      let account = await (measures ? known(accountId) : read(accountId, measures));
      if (measures && isOver(account)) account = await read(accountId);
      return () => {
        if (isOver(account))
          throw refused('FAILED_PRECONDITION', accountId, account, 'Delete something, then start it.');
      };
    },
    limitBytes: limit,
    overBytes(accountId) {
      const account = accounts.get(accountId);
      // Backups that were deleted since show when somebody looks again.
      if (account !== undefined && full.has(accountId) && clock.now() - account.readAt > READ_MS) {
        account.readAt = clock.now();
        void read(accountId).catch(() => {});
      }
      return overBytes(accountId);
    },
    async look(accountId) {
      if (limit > 0) note(accountId, await known(accountId));
    },
    observe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** A disk on which nothing is set aside beyond what the server's account may take. */
export function withinAccount<Kind extends Disk>(disk: Kind, accounts: AccountDisk): Kind {
  return {
    ...disk,
    async reserve(serverId, bytes) {
      const reservation = await disk.reserve(serverId, bytes);
      const hold = await accounts.hold(serverId, bytes).catch((error: unknown) => {
        reservation.settle(0);
        throw error;
      });
      return {
        ...reservation,
        async grow(more) {
          await reservation.grow(more);
          await hold.grow(more);
        },
        settle(addedBytes) {
          reservation.settle(addedBytes);
          hold.release();
        },
      } satisfies Reservation;
    },
  };
}
