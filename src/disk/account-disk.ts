import type { Disk, Reservation } from '../jail/space.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError, preconditionFailure, quotaFailure } from '../kernel/status.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { MIB } from '../kernel/units.ts';
import { isOperatorAccount } from '../people/rows.ts';
import type { Store } from '../store/store.ts';
import { HeldBytes } from './held-bytes.ts';
import { listAccountDisk, listFullAccounts } from './rows.ts';
import type { DiskUsage } from './usage.ts';

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

/** The data of an account beside its servers' last measurements. */
interface Account {
  readAt: number;
  unlimited: boolean;
  serverIds: string[];
  backupBytes: number;
}

/** Servers and backups are read so seldom; what is written meanwhile is counted as it comes. */
const READ_MS = 5_000;
/** Time limit of waiting for servers never measured; afterwards they count as empty. */
const PATIENCE_MS = 10_000;
const MOST_REMEMBERED = 10_000;

/** The disk use of all servers of an account together with their backups, limited however many they are. */
export class AccountDisk {
  /** In bytes; 0: no limit. */
  readonly limitBytes: number;
  readonly #options: AccountDiskOptions;
  readonly #accounts = new Map<string, Account>();
  readonly #held = new HeldBytes();
  readonly #listeners = new Set<(account: AccountChange) => void>();
  /** Those that were over their limit when that was last looked at. */
  readonly #full = new Set<string>();

  private constructor(options: AccountDiskOptions) {
    this.#options = options;
    this.limitBytes = options.limitMb * MIB;
  }

  /** Finds those that take more than they may by what is stored of them: they do so before anything is measured. */
  static async open(options: AccountDiskOptions): Promise<AccountDisk> {
    const disk = new AccountDisk(options);
    for (const accountId of disk.limitBytes === 0 ? [] : await listFullAccounts(options.store, disk.limitBytes)) {
      disk.#accounts.set(accountId, { ...(await disk.#read(accountId, false)), readAt: -Infinity });
      if (disk.#overBytes(accountId) > 0) disk.#full.add(accountId);
    }
    return disk;
  }

  /** Reserves bytes of the server's account. RESOURCE_EXHAUSTED ACCOUNT_DISK_EXCEEDED. Their holder releases them. */
  async hold(serverId: string, bytes: number): Promise<AccountHold> {
    const accountId = this.limitBytes === 0 ? undefined : await this.#options.accountOf(serverId);
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
   * Gives a check that throws FAILED_PRECONDITION ACCOUNT_DISK_EXCEEDED for an account that takes more than it may. `measures`
   * false: it goes by what was measured before.
   */
  async check(accountId: string, measures = true): Promise<() => void> {
    if (this.limitBytes === 0) return () => {};
    const isOver = (account: Account) => !account.unlimited && this.#usedBytes(accountId, account) > this.limitBytes;
    let account = await (measures ? this.#known(accountId) : this.#read(accountId, measures));
    if (measures && isOver(account)) account = await this.#read(accountId);
    return () => {
      if (isOver(account))
        throw this.#refused('FAILED_PRECONDITION', accountId, account, 'Delete something, then start it.');
    };
  }

  /**
   * Returns by how much the account exceeds its limit, by the last reading; negative if it does not. −∞: no limit, or
   * not read yet.
   */
  overBytes(accountId: string): number {
    const { clock } = this.#options;
    const account = this.#accounts.get(accountId);
    // Backups that were deleted since show when somebody looks again.
    if (account !== undefined && this.#full.has(accountId) && Math.abs(clock.now() - account.readAt) > READ_MS) {
      account.readAt = clock.now();
      void this.#read(accountId).catch(() => {});
    }
    return this.#overBytes(accountId);
  }

  /** Reads it, where that is some time ago, for `overBytes`. */
  async look(accountId: string): Promise<void> {
    if (this.limitBytes > 0) this.#note(accountId, await this.#known(accountId));
  }

  /** Calls when an account has come to take more than it may, or does so no longer. Returns the cancellation. */
  observe(listener: (account: AccountChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #read(accountId: string, measures = true): Promise<Account> {
    const { store, clock, usage } = this.#options;
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
    // Unmeasured values must not count as measured.
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
    const isRecent = account !== undefined && Math.abs(this.#options.clock.now() - account.readAt) <= READ_MS;
    return isRecent ? account : await this.#read(accountId);
  }

  #usedBytes(accountId: string, { serverIds, backupBytes }: Account): number {
    const files = serverIds.reduce((sum, id) => sum + (this.#options.usage.of(id)?.bytes ?? 0), 0);
    return files + backupBytes + this.#held.of(accountId);
  }

  /** Reserves bytes synchronously once they are found to fit; what seems too much is looked at anew first. */
  async #take(accountId: string, serverId: string, bytes: number): Promise<void> {
    const taken = (account: Account): boolean => {
      if (!account.unlimited && this.#usedBytes(accountId, account) + bytes > this.limitBytes) return false;
      this.#held.add(accountId, bytes);
      return true;
    };
    if (taken(await this.#known(accountId))) return;
    await this.#options.usage.measure(serverId).catch(() => {});
    const account = await this.#read(accountId);
    if (!taken(account))
      throw this.#refused('RESOURCE_EXHAUSTED', accountId, account, 'Delete files or backups first.');
  }

  #refused(code: 'RESOURCE_EXHAUSTED' | 'FAILED_PRECONDITION', id: string, account: Account, advice: string) {
    const { limitMb } = this.#options;
    const usedMb = Math.ceil(this.#usedBytes(id, account) / MIB);
    const message = `The servers of this account may take ${limitMb} MB of the disk together with their backups, and take ${usedMb} MB. ${advice}`;
    const metadata = { account: id, usedMb: String(usedMb), limitMb: String(limitMb) };
    const subject = `account:${id}`;
    const details =
      code === 'RESOURCE_EXHAUSTED'
        ? quotaFailure(subject, message)
        : preconditionFailure('ACCOUNT_DISK', subject, message);
    return new StatusError(code, 'ACCOUNT_DISK_EXCEEDED', message, { metadata, details: [details] });
  }
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
