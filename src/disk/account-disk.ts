import type { Disk, Reservation } from '../jail/space.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError, preconditionFailure, quotaFailure } from '../kernel/status.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { MIB } from '../kernel/units.ts';
import { isOperatorAccount } from '../accounts/rows.ts';
import type { Store } from '../store/store.ts';
import { HeldBytes, diskFull } from './quota.ts';
import { listAccountDisk, listFullAccounts } from './rows.ts';
import type { DiskUsage } from './usage.ts';

/** An account that has exceeded its disk limit, or is within it again. */
export interface AccountChange {
  accountId: string;
  serverIds: readonly string[];
  over: boolean;
  usedBytes: number;
}

interface AccountHold {
  /** Rejects with the errors of `hold`. */
  grow(bytes: number): Promise<void>;
  release(): void;
}

/** An account's data, except the last measurements of its servers. */
interface Account {
  readAt: number;
  unlimited: boolean;
  serverIds: string[];
  backupBytes: number;
}

/**
 * Minimum interval between two readings of an account's servers and backups. Writes in between are counted as they
 * happen.
 */
const READ_MS = 5_000;
/** How long to wait for the first measurement of servers. After that, they count as empty. */
const PATIENCE_MS = 10_000;
const MOST_REMEMBERED = 10_000;

/** Limits the disk use of an account: all its servers together with their backups, regardless of their number. */
export class AccountDisk {
  /** In bytes; 0: no limit. */
  readonly limitBytes: number;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #usage: DiskUsage;
  readonly #accountOf: (serverId: string) => Promise<string | undefined>;
  readonly #accounts = new Map<string, Account>();
  readonly #held = new HeldBytes();
  readonly #listeners = new Set<(account: AccountChange) => void>();
  /** Accounts over their limit at the last reading. */
  readonly #full = new Set<string>();

  /**
   * `limitMb` 0: no limit. Operators' own accounts are unlimited. `accountOf` returns undefined if there is no such
   * server.
   */
  private constructor(
    store: Store,
    clock: Clock,
    usage: DiskUsage,
    limitMb: number,
    accountOf: (serverId: string) => Promise<string | undefined>,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#usage = usage;
    this.limitBytes = limitMb * MIB;
    this.#accountOf = accountOf;
  }

  /** Finds the accounts over their limit by the stored sizes, so that they are known before the first measurement. */
  static async open(
    store: Store,
    clock: Clock,
    usage: DiskUsage,
    limitMb: number,
    accountOf: (serverId: string) => Promise<string | undefined>,
  ): Promise<AccountDisk> {
    const disk = new AccountDisk(store, clock, usage, limitMb, accountOf);
    for (const accountId of disk.limitBytes === 0 ? [] : await listFullAccounts(store, disk.limitBytes)) {
      disk.#accounts.set(accountId, { ...(await disk.#read(accountId, false)), readAt: -Infinity });
      if (disk.#overBytes(accountId) > 0) disk.#full.add(accountId);
    }
    return disk;
  }

  /**
   * Reserves bytes for the server's account. The caller releases them. Rejects with RESOURCE_EXHAUSTED
   * ACCOUNT_DISK_EXCEEDED.
   */
  async hold(serverId: string, bytes: number): Promise<AccountHold> {
    const accountId = this.limitBytes === 0 ? undefined : await this.#accountOf(serverId);
    return await this.#hold(accountId, bytes, serverId);
  }

  /** Reserves bytes of an account for files that belong to no server yet, like `hold`. */
  async holdFor(accountId: string, bytes: number): Promise<AccountHold> {
    return await this.#hold(this.limitBytes === 0 ? undefined : accountId, bytes);
  }

  async #hold(accountId: string | undefined, bytes: number, serverId?: string): Promise<AccountHold> {
    let holding = 0;
    const grow = async (more: number): Promise<void> => {
      if (accountId === undefined || more <= 0) return;
      await this.#take(accountId, serverId, more);
      holding += more;
    };
    const release = () => {
      if (accountId !== undefined) this.#held.add(accountId, -holding);
      holding = 0;
    };
    await grow(bytes);
    return { grow, release };
  }

  /**
   * Returns a check that throws FAILED_PRECONDITION ACCOUNT_DISK_EXCEEDED if the account is over its limit. With
   * `measures` false, it uses earlier measurements only.
   */
  async check(accountId: string, measures = true): Promise<() => void> {
    if (this.limitBytes === 0) return () => {};
    const isOver = (account: Account) => !account.unlimited && this.#usedBytes(accountId, account) > this.limitBytes;
    let account = await (measures ? this.#known(accountId) : this.#read(accountId, measures));
    if (measures && isOver(account)) account = await this.#read(accountId);
    return () => {
      if (isOver(account))
        throw this.#refused('FAILED_PRECONDITION', accountId, account, 'Delete files or backups, then try again.');
    };
  }

  /**
   * Returns by how many bytes the account exceeds its limit, by the last reading; negative if it does not. −∞: no
   * limit, or not read yet.
   */
  overBytes(accountId: string): number {
    const account = this.#accounts.get(accountId);
    // Reads the account again, because backups may have been deleted.
    if (account !== undefined && this.#full.has(accountId) && Math.abs(this.#clock.now() - account.readAt) > READ_MS) {
      account.readAt = this.#clock.now();
      void this.#read(accountId).catch(() => {});
    }
    return this.#overBytes(accountId);
  }

  /** Reads the account for `overBytes`, unless it was read recently. */
  async measure(accountId: string): Promise<void> {
    if (this.limitBytes > 0) this.#note(accountId, await this.#known(accountId));
  }

  /** Calls `listener` when an account exceeds its limit or is within it again. Returns a function that removes it. */
  observe(listener: (account: AccountChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #read(accountId: string, measures = true): Promise<Account> {
    const [servers, unlimited] = await Promise.all([
      listAccountDisk(this.#store, accountId),
      isOperatorAccount(this.#store, accountId),
    ]);
    const serverIds = servers.map(({ serverId }) => serverId);
    const backupBytes = servers.reduce((sum, each) => sum + each.backupBytes, 0);
    const account = { readAt: this.#clock.now(), unlimited, serverIds, backupBytes };
    const unknown = unlimited || !measures ? [] : serverIds.filter((id) => this.#usage.of(id) === undefined);
    if (unknown.length > 0) {
      const measured = Promise.allSettled(unknown.map((id) => this.#usage.measure(id)));
      await withTimeout(measured, PATIENCE_MS, { late: () => undefined });
    }
    // An account read without measuring must not be cached: later calls would use it as if it were measured.
    if (!measures) return account;
    if (this.#accounts.size >= MOST_REMEMBERED) this.#accounts.clear();
    this.#accounts.set(accountId, account);
    this.#note(accountId, account);
    return account;
  }

  #note(accountId: string, account: Account): void {
    const over = this.#overBytes(accountId) > 0;
    if (over === this.#full.has(accountId)) return;
    if (over) this.#full.add(accountId);
    else this.#full.delete(accountId);
    const { serverIds } = account;
    for (const listener of this.#listeners)
      listener({ accountId, serverIds, over, usedBytes: this.#usedBytes(accountId, account) });
  }

  #overBytes(accountId: string): number {
    const account = this.#accounts.get(accountId);
    if (this.limitBytes === 0 || account === undefined || account.unlimited) return -Infinity;
    return this.#usedBytes(accountId, account) - this.limitBytes;
  }

  async #known(accountId: string): Promise<Account> {
    const account = this.#accounts.get(accountId);
    const isRecent = account !== undefined && Math.abs(this.#clock.now() - account.readAt) <= READ_MS;
    return isRecent ? account : await this.#read(accountId);
  }

  #usedBytes(accountId: string, { serverIds, backupBytes }: Account): number {
    const files = serverIds.reduce((sum, id) => sum + (this.#usage.of(id)?.bytes ?? 0), 0);
    return files + backupBytes + this.#held.of(accountId);
  }

  /** Reserves bytes, synchronously with the check. Measures again before it refuses. */
  async #take(accountId: string, serverId: string | undefined, bytes: number): Promise<void> {
    const taken = (account: Account): boolean => {
      if (!account.unlimited && this.#usedBytes(accountId, account) + bytes > this.limitBytes) return false;
      this.#held.add(accountId, bytes);
      return true;
    };
    if (taken(await this.#known(accountId))) return;
    if (serverId !== undefined) await this.#usage.measure(serverId).catch(() => {});
    const account = await this.#read(accountId);
    if (!taken(account))
      throw this.#refused('RESOURCE_EXHAUSTED', accountId, account, 'Delete files or backups first.');
  }

  #refused(code: 'RESOURCE_EXHAUSTED' | 'FAILED_PRECONDITION', id: string, account: Account, advice: string) {
    const limitMb = this.limitBytes / MIB;
    const usedMb = Math.ceil(this.#usedBytes(id, account) / MIB);
    const message = `The servers and backups of this account use ${usedMb} MB of disk. The limit is ${limitMb} MB. ${advice}`;
    const metadata = { account: id, usedMb: String(usedMb), limitMb: String(limitMb) };
    const subject = `account:${id}`;
    const details =
      code === 'RESOURCE_EXHAUSTED'
        ? quotaFailure(subject, message)
        : preconditionFailure('ACCOUNT_DISK', subject, message);
    return new StatusError(code, 'ACCOUNT_DISK_EXCEEDED', message, { metadata, details: [details], words: WORDS });
  }
}

const WORDS = diskFull(
  "The owner's disk space is used up. Ask the owner to free some.",
  'The account’s disk space is used up',
  'owner',
);

/** Limits the reservations of a disk to the remaining space of the server's account. */
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
