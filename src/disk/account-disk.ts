import type { Disk, Reservation } from '../jail/space.ts';
import { createCache } from '../kernel/cache.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError, preconditionFailure, quotaFailure } from '../kernel/status.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { MIB } from '../kernel/units.ts';
import { isOperatorAccount } from '../people/rows.ts';
import type { Store } from '../store/store.ts';
import { listAccountDisk } from './rows.ts';
import type { DiskUsage } from './usage.ts';

/** What all servers of an account take together, with their backups: however many there are, the account has an end. */
export interface AccountDisk {
  /** Sets bytes of the server's account aside. RESOURCE_EXHAUSTED ACCOUNT_DISK_EXCEEDED. Their holder releases them. */
  hold(serverId: string, bytes: number): Promise<AccountHold>;
  /**
   * Gives a check that throws FAILED_PRECONDITION ACCOUNT_DISK_EXCEEDED for an account that takes more than it may. `measures`
   * false: it goes by what was measured before.
   */
  check(accountId: string, measures?: boolean): Promise<() => void>;
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
  unlimited: boolean;
  serverIds: string[];
  backupBytes: number;
}

/** Servers and backups are read so seldom; what is written meanwhile is counted as it comes. */
const READ_MS = 5_000;
/** Nobody waits longer for servers that were never measured; until then they count as empty. */
const PATIENCE_MS = 10_000;
const MOST_REMEMBERED = 10_000;

export function createAccountDisk({ store, clock, usage, limitMb, accountOf }: AccountDiskOptions): AccountDisk {
  const accounts = createCache<Account>({ most: MOST_REMEMBERED, ttlMs: () => READ_MS });
  const held = new Map<string, number>();
  const limit = limitMb * MIB;

  async function read(accountId: string, measures: boolean): Promise<Account> {
    const [servers, unlimited] = await Promise.all([
      listAccountDisk(store, accountId),
      isOperatorAccount(store, accountId),
    ]);
    const serverIds = servers.map(({ serverId }) => serverId);
    const backupBytes = servers.reduce((sum, each) => sum + each.backupBytes, 0);
    const unknown = unlimited || !measures ? [] : serverIds.filter((id) => usage.of(id) === undefined);
    if (unknown.length > 0) {
      const measured = Promise.allSettled(unknown.map((id) => usage.measure(id)));
      await withTimeout(measured, PATIENCE_MS, { late: () => undefined });
    }
    return { unlimited, serverIds, backupBytes };
  }

  function known(accountId: string): Promise<Account> {
    return accounts.get(accountId, clock.now(), () => read(accountId, true));
  }

  function readAnew(accountId: string): Promise<Account> {
    accounts.drop(accountId);
    return known(accountId);
  }

  function usedBytes(accountId: string, { serverIds, backupBytes }: Account): number {
    const files = serverIds.reduce((sum, id) => sum + (usage.of(id)?.bytes ?? 0), 0);
    return files + backupBytes + (held.get(accountId) ?? 0);
  }

  /** Sets bytes aside in the very turn in which they fit; what seems too much is looked at anew first. */
  async function take(accountId: string, serverId: string, bytes: number): Promise<void> {
    const taken = (account: Account): boolean => {
      if (!account.unlimited && usedBytes(accountId, account) + bytes > limit) return false;
      add(accountId, bytes);
      return true;
    };
    if (taken(await known(accountId))) return;
    await usage.measure(serverId).catch(() => {});
    const account = await readAnew(accountId);
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
      let account = await (measures ? known(accountId) : read(accountId, false));
      if (measures && isOver(account)) account = await readAnew(accountId);
      return () => {
        if (isOver(account))
          throw refused('FAILED_PRECONDITION', accountId, account, 'Delete something, then start it.');
      };
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
