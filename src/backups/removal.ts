import { rm } from 'node:fs/promises';
import { removeTree } from '../jail/remove-tree.ts';
import { DAY_MS, HOUR_MS } from '../kernel/units.ts';
import { getMaintenance } from '../servers/machine-rows.ts';
import { getServer } from '../servers/rows.ts';
import type { Tx } from '../store/store.ts';
import { type Orphan, archivePath, discard, siblingsOf, sweepArchives } from './files.ts';
import type { Tools } from './job.ts';
import { passOnAdded } from './offsite/rows.ts';
import * as rows from './rows.ts';

/** Default rules. All zero: every backup is kept. */
export const DEFAULT_RETENTION: rows.Retention = { keepLast: 10, hourly: 0, daily: 7, weekly: 4, monthly: 3 };

/** How long a failed backup stays listed, to show its failure. */
const KEPT_FAILED_MS = 7 * DAY_MS;
/** 1970-01-01 was a Thursday: weeks begin on Monday, as in ISO 8601. */
const MONDAY_MS = 3 * DAY_MS;

/** The rules that keep the newest backup of each period, with the period of an instant, in UTC. */
const PERIODS: readonly [keyof Omit<rows.Retention, 'keepLast'>, (at: number) => string | number][] = [
  ['hourly', (at) => Math.floor(at / HOUR_MS)],
  ['daily', (at) => Math.floor(at / DAY_MS)],
  ['weekly', (at) => Math.floor((at + MONDAY_MS) / (7 * DAY_MS))],
  ['monthly', (at) => new Date(at).toISOString().slice(0, 7)],
];

/** The facts that retention rules use. */
export type Kept = Pick<rows.BackupRow, 'kind' | 'state' | 'createdAt' | 'locked' | 'note' | 'treeBytes'>;

/**
 * Returns the backups of a server that no rule keeps. Never returns a locked one, the newest good one, the newest one
 * with files, or the newest of those without a note; nor one in progress, nor the folder replaced by a restore.
 */
export function expired<Row extends Kept>(all: readonly Row[], retention: rows.Retention, at: number): Row[] {
  const failed = all.filter(({ state, createdAt }) => state === 'failed' && createdAt < at - KEPT_FAILED_MS);
  if (Object.values(retention).every((count) => count === 0)) return failed;
  const good = all
    .filter(({ state, kind }) => state === 'ready' && kind !== 'previous')
    .toSorted((a, b) => b.createdAt - a.createdAt);
  const kept = new Set<Row>(good.slice(0, Math.max(1, retention.keepLast)));
  const full = good.filter(({ treeBytes }) => treeBytes > 0);
  const newestWhole = full.find(({ note }) => note === '');
  for (const newest of [full[0], newestWhole]) if (newest) kept.add(newest);
  for (const [rule, periodOf] of PERIODS) {
    const seen = new Set<string | number>();
    for (const backup of good) {
      if (seen.size >= retention[rule]) break;
      const period = periodOf(backup.createdAt);
      if (!seen.has(period)) kept.add(backup);
      seen.add(period);
    }
  }
  return [...failed, ...good.filter((backup) => !kept.has(backup) && !backup.locked)];
}

export type BackupRemoval = ReturnType<typeof createBackupRemoval>;

/** Removes backups. */
export function createBackupRemoval({ store, archives, uploads, clock, log, dataDir }: Tools) {
  const leftOver: Orphan[] = [];

  async function findOrphans(): Promise<Orphan[]> {
    const known = await store.query<rows.Ref & { location: string; state: rows.BackupState }>(
      'SELECT "serverId", "id", "location", "state" FROM "backups"',
    );
    const inFolder = new Map(known.map((row) => [rows.keyOf(row), row.location === '' && row.state !== 'failed']));
    const found = await sweepArchives(dataDir, (serverId, id) => inFolder.get(rows.keyOf({ serverId, id })));
    if (found.length > 0) log.warn({ orphans: found.slice(0, 20) }, 'archives without a backup were found');
    return found;
  }

  /** Removes the backups that the server's retention rules no longer keep. */
  async function prune(serverId: string): Promise<void> {
    const retention = (await rows.getRetention(store, serverId)) ?? DEFAULT_RETENTION;
    const busy = (await getMaintenance(store, serverId))?.target;
    // The way back from an update whose first start may still fail.
    const needed = (await getServer(store, serverId))?.pendingUpdate?.backupId;
    const all = await rows.listBackups(store, serverId);
    for (const row of expired(all, retention, clock.now())) if (row.id !== busy && row.id !== needed) await drop(row);
  }

  /**
   * Removes a backup: from the list in one write (with `also`), then from the disk, then from the database. Off-site
   * archives are removed in the background.
   */
  async function drop(row: rows.BackupRow, also: (tx: Tx) => Promise<void> = async () => {}): Promise<void> {
    await store.write(async (tx) => {
      if (!(await rows.patchBackup(tx, row, { state: 'dropping' }, ['queued', 'running', 'ready', 'failed']))) return;
      await uploads.forget(tx, row);
      if (row.location !== '') await passOnAdded(tx, row);
      await also(tx);
    });
    await finishDrop(row);
  }

  async function finishDrop(row: rows.BackupRow): Promise<void> {
    const { serverId, id } = row;
    await uploads.cancel({ serverId, id });
    try {
      if (id === rows.PREVIOUS) await archives.withFilesLock(serverId, () => dropPrevious(serverId));
      else await rm(archivePath(dataDir, row), { force: true });
    } catch (error) {
      // The backup leaves the list even if its files cannot be removed. An operator is notified of those.
      log.error({ server: serverId, backup: id, err: error }, 'the files of a removed backup could not be removed');
      leftOver.push({ serverId, backupId: id, sizeBytes: row.sizeBytes });
    }
    await store.write((tx) => rows.deleteBackup(tx, row));
    uploads.kick();
  }

  async function dropPrevious(serverId: string): Promise<void> {
    const { previous, trash } = siblingsOf(dataDir, serverId);
    await discard(previous, trash);
    await removeTree(trash);
  }

  return {
    drop,
    prune,
    /** Finishes removals begun by the previous process, and finds archives without a backup. */
    async recover(): Promise<void> {
      leftOver.push(...(await findOrphans()));
      for (const row of await rows.listBackupsIn(store, 'dropping')) await finishDrop(row);
    },
    orphans: (): readonly Orphan[] => leftOver,
  };
}
