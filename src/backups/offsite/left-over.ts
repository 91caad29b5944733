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
  /** Begins removals that were noted. */
  kick: () => void;
}

/** Archives off site that this service's database does not know: after it was lost, or restored as it was earlier. */
export interface LeftOver {
  /**
   * Returns the first 10 000 objects under the prefix of new backups, by `<server>/<backup>`; `at`: epoch ms. Empty if
   * backups stay in the folder. Rejects with UNAVAILABLE BACKUP_STORE_AWAY, after ten seconds at most.
   */
  list(): Promise<{ id: string; at: number }[]>;
  /**
   * Notes, in one write with `also`, that one is to be removed for good; that is tried until it is done. False where a backup
   * has it after all.
   */
  remove(id: string, also: (tx: Tx) => Promise<void>): Promise<boolean>;
}

export function createLeftOver({ store, clock, offSite, kick }: LeftOverOptions): LeftOver {
  return {
    async list() {
      const { location } = offSite;
      if (location === '') return [];
      const objects = await withTimeout(offSite.bucket(location).list(''), LIST_MS);
      // Asked after the objects, because a backup has its row before it has one.
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
