import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../kernel/log.ts';
import { dataRoot } from './data-root.ts';
import { openJail } from './jail.ts';
import { TEMPS } from './temps.ts';

/**
 * Removes unfinished files that the previous process left in servers' folders, one server after the other, because they
 * count against quotas. Never rejects; ends early when `signal` fires.
 */
export async function sweepUnfinished(dataDir: string, log: Log, signal: AbortSignal): Promise<void> {
  const ids = await readdir(join(dataDir, 'servers')).catch(() => []);
  for (const id of ids) {
    if (signal.aborted) return;
    const root = dataRoot(dataDir, id);
    const temps = await lstat(join(root, TEMPS)).catch(() => undefined);
    if (!temps?.isDirectory()) continue;
    try {
      // Opening the jail removes them.
      await using _ = await openJail(root, { log });
    } catch (error) {
      log.warn({ server: id, err: error }, 'could not remove unfinished files of a server');
    }
  }
}
