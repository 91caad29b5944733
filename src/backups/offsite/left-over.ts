import type { Clock } from '../../kernel/clock.ts';
import { withTimeout } from '../../kernel/timeout.ts';
import type { Store, Tx } from '../../store/store.ts';
import { type OffSite, archiveOf, isArchiveKey } from './offsite.ts';
import { insertRemoval, listKnown } from './rows.ts';

/** Time limit for listing leftovers in an unresponsive store. */
const LIST_MS = 10_000;

export interface LeftOverOptions {
  store: Store;
  clock: Clock;
  offSite: OffSite;
  /** Starts recorded removals. */
  kick: () => void;
}

/** Archives off site that the database does not know, because it was lost or restored to an earlier state. */
export interface LeftOver {
  /**
   * Returns the first 10 000 objects under the prefix of new backups, as `<server>/<backup>`; `at`: epoch ms. Empty if
   * backups stay in the folder. Rejects with UNAVAILABLE BACKUP_STORE_AWAY, after ten seconds at most.
   */
  list(): Promise<{ id: string; at: number }[]>;
  /**
   * Records, in one write with `also`, that an archive must be removed; that is retried until it succeeds. Returns
   * false if a backup uses the archive after all.
   */
  remove(id: string, also: (tx: Tx) => Promise<void>): Promise<boolean>;
}

export function createLeftOver({ store, clock, offSite, kick }: LeftOverOptions): LeftOver {
  return {
    async list() {
      const { location } = offSite;
      if (location === '') return [];
      const objects = await withTimeout(offSite.bucket(location).list(''), LIST_MS);
      // Queried after the objects, because a backup's row exists before its object.
      const known = await listKnown(store, location);
      const archives = objects.filter(({ key }) => isArchiveKey(key));
      return archives.map(({ key, at }) => ({ id: archiveOf(key), at })).filter(({ id }) => !known.has(id));
    },
    async remove(id, also) {
      const { location } = offSite;
      const [serverId = '', backupId = ''] = id.split('/');
      const isNoted = await store.write(async (tx) => {
        if ((await listKnown(tx, location)).has(id)) return false;
        await insertRemoval(tx, { location, serverId, backupId, at: clock.now() });
        await also(tx);
        return true;
      });
      kick();
      return isNoted;
    },
  };
}
