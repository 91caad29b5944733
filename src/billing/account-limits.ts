import { EntitySchema } from 'typeorm';
import { id, maybeInteger, ofAccount } from '../store/columns.ts';
import { openRowCache } from '../store/row-cache.ts';
import type { Store } from '../store/store.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** The limits of an account. */
export interface Limits {
  /** Most RAM of its servers together, asleep or awake. */
  maxRamMb: number;
  /** Most servers, asleep or awake; 0: unlimited. */
  maxServers: number;
}

/** The limits operators have set for one account; null: the installation's default. */
type OwnLimits = { [Key in keyof Limits]: Limits[Key] | null };

export type AccountLimits = Awaited<ReturnType<typeof openAccountLimits>>;

const NONE: OwnLimits = { maxRamMb: null, maxServers: null };

/** The limits of an account that differ from the installation's. */
type AccountLimitsRow = OwnLimits & { accountId: string };

export const accountLimits = new EntitySchema<AccountLimitsRow>({
  name: 'account_limits',
  columns: { accountId: id, maxServers: maybeInteger, maxRamMb: maybeInteger },
  foreignKeys: [ofAccount],
});

/**
 * Opens the limits of all accounts, in memory for synchronous reads. Only accounts with their own limits use memory.
 */
export async function openAccountLimits(store: Store, defaults: Limits) {
  const own = await openRowCache(store, listAccountLimits, ({ accountId, ...limits }) => [accountId, limits]);
  const ownOf = (accountId: string) => own.of(accountId) ?? NONE;

  return {
    ownOf,
    of(accountId: string): Limits {
      const { maxRamMb, maxServers } = ownOf(accountId);
      return { maxRamMb: maxRamMb ?? defaults.maxRamMb, maxServers: maxServers ?? defaults.maxServers };
    },
    /** Stores an account's own limits, which apply from the commit on. `also` runs in the same write. */
    async set(
      accountId: string,
      { maxRamMb, maxServers }: OwnLimits,
      also: (tx: Tx) => Promise<void> = async () => {},
    ) {
      const isDefault = maxRamMb === null && maxServers === null;
      const change = async (tx: Tx) => {
        await tx.run('DELETE FROM "account_limits" WHERE "accountId" = $1', [accountId]);
        if (!isDefault) await tx.manager.insert(accountLimits, { accountId, maxRamMb, maxServers });
        await also(tx);
      };
      await (isDefault ? own.delete(accountId, change) : own.set(accountId, { maxRamMb, maxServers }, change));
    },
  };
}

async function listAccountLimits(db: Sql): Promise<AccountLimitsRow[]> {
  return db.query<AccountLimitsRow>('SELECT * FROM "account_limits"');
}
