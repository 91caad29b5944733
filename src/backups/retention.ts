import { DAY_MS, HOUR_MS } from '../kernel/units.ts';
import type { BackupRow, Retention } from './rows.ts';

/** Default rules. All zero: every backup is kept. */
export const DEFAULT_RETENTION: Retention = { keepLast: 10, hourly: 0, daily: 7, weekly: 4, monthly: 3 };

/** How long a failed backup stays listed, to show its failure. */
const KEPT_FAILED_MS = 7 * DAY_MS;
/** 1970-01-01 was a Thursday: weeks begin on Monday, as in ISO 8601. */
const MONDAY_MS = 3 * DAY_MS;

/** The rules that keep the newest backup of each period, with the period of an instant, in UTC. */
const PERIODS: readonly [keyof Omit<Retention, 'keepLast'>, (at: number) => string | number][] = [
  ['hourly', (at) => Math.floor(at / HOUR_MS)],
  ['daily', (at) => Math.floor(at / DAY_MS)],
  ['weekly', (at) => Math.floor((at + MONDAY_MS) / (7 * DAY_MS))],
  ['monthly', (at) => new Date(at).toISOString().slice(0, 7)],
];

type Kept = Pick<BackupRow, 'id' | 'kind' | 'state' | 'createdAt' | 'locked' | 'note' | 'treeBytes'>;

/**
 * Returns the backups of a server that no rule keeps. Never returns a locked one, the newest good one, the newest one
 * with files, or the newest of those without a note; nor one in progress, nor the folder replaced by a restore.
 */
export function expired<Row extends Kept>(all: readonly Row[], retention: Retention, at: number): Row[] {
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
