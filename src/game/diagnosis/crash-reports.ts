/** Crash reports that games write to `crash-reports`. */
import { type Entry, type Jail, openJail } from '../../jail/jail.ts';
import { KIB } from '../../kernel/units.ts';

const FOLDER = 'crash-reports';
const MAX_BYTES = 256 * KIB;
/** Limit of entries read, because a game may fill the folder. */
const MAX_ENTRIES = 10_000;
/** The lines after this describe the machine, not the failure. */
const DETAILS = /^-- System Details --/;

/** Returns the lines of the newest report in a data root since `since` (epoch ms); empty without one. */
export async function newestCrashReport(root: string, since: number): Promise<string[]> {
  try {
    await using jail = await openJail(root);
    const newest = await newestOf(jail, since);
    if (newest === undefined) return [];
    await using file = await jail.open(`${FOLDER}/${newest.name}`);
    const lines = (await file.read(0, MAX_BYTES)).toString().split(/\r?\n/);
    const end = lines.findIndex((line) => DETAILS.test(line));
    return end < 0 ? lines : lines.slice(0, end);
  } catch {
    // No folder, or a file that is gone or unreadable: the log must suffice.
    return [];
  }
}

async function newestOf(jail: Jail, since: number): Promise<Entry | undefined> {
  let newest: Entry | undefined;
  let seen = 0;
  for await (const batch of jail.entries(FOLDER)) {
    for (const entry of batch) {
      const counts = entry.kind === 'file' && entry.name.endsWith('.txt') && entry.modifiedAt >= since;
      if (counts && entry.modifiedAt >= (newest?.modifiedAt ?? 0)) newest = entry;
    }
    if ((seen += batch.length) >= MAX_ENTRIES) break;
  }
  return newest;
}
