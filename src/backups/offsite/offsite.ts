import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import { withTimeout } from '../../kernel/timeout.ts';
import type { Secret } from '../../store/secret.ts';
import type { Sql } from '../../store/writer.ts';
import { isRefused } from '../errors.ts';
import type { BackupFormat } from '../rows.ts';
import type { ArchiveStore } from './archive-store.ts';
import { createRestics } from './restic.ts';
import { type ResticAccess, withoutCredentials } from './restic-process.ts';
import { hasArchives } from './rows.ts';

/** The place of backups outside the folder. */
export interface OffSite {
  /** The place of new backups: `restic:<repository>`, without credentials; '': the folder. */
  location: string;
  /** The format of new archives. */
  format: BackupFormat;
  /** Returns the store of a location, also of one from earlier settings. Uses the current credentials. */
  store(location: string): ArchiveStore;
  /**
   * Resolves once the place of new backups has been opened, and created if it is new; later calls resolve at once.
   * Rejects with FAILED_PRECONDITION BACKUP_STORE_REFUSED and a remedy if the settings are wrong, and with
   * BACKUP_STORE_AWAY if the store is unusable now; the next call tries again.
   */
  passed(): Promise<void>;
}

/** Opens each store on first use. `check` is tried until it has succeeded once. */
export function createOffSite(
  location: string,
  open: (location: string) => ArchiveStore,
  check: () => Promise<void> = async () => {},
): OffSite {
  const stores = new Map<string, ArchiveStore>();
  let trying: Promise<void> | undefined;
  return {
    location,
    format: location === '' ? 'tar.zst' : 'tar',
    passed: () =>
      (trying ??= check().catch((error: unknown) => {
        trying = undefined;
        throw error;
      })),
    store(of) {
      const found = stores.get(of) ?? open(of);
      stores.set(of, found);
      return found;
    },
  };
}

/**
 * Opens the off-site stores of the settings and starts checking the place for new backups. Without BACKUP_STORE, only
 * existing off-site backups are accessed.
 */
export function openOffSite(settings: ResticAccess, secret: Secret, db: Sql, clock: Clock, log: Log) {
  const location = withoutCredentials(settings.backupStore ?? '');
  const restics = createRestics(settings, secret, clock, log);
  const check = () => restics.check(location, () => hasArchives(db, location));
  const offSite = createOffSite(location, restics.open, location === '' ? undefined : check);
  const first = offSite.passed();
  // Callers that do not wait for it check again before they use the store.
  first.catch(() => {});
  return {
    ...offSite,
    /**
     * Returns the outcome of the first attempt, for the start of the service. Waits at most `patienceMs` and rejects
     * only if the settings are wrong. An unreachable store is logged, because players do not need it and backups stay in
     * the folder.
     */
    async settled(patienceMs: number): Promise<void> {
      try {
        await withTimeout(first, patienceMs);
      } catch (error) {
        if (isRefused(error)) throw error;
        log.warn(
          { store: location, err: error },
          'BACKUP_STORE does not respond correctly: backups stay in the folder until it does',
        );
      }
    },
  };
}
