import { openJail } from '../jail/jail.ts';
import type { ServerRow } from '../servers/rows.ts';
import { levelNameOf } from '../game/worlds.ts';
import { exists } from './files.ts';
import type { ServerSoftware } from './rows.ts';

/**
 * Returns the software and active world that belong to the files in a folder. A restore writes them back into the
 * server's row.
 */
export async function softwareOf(row: ServerRow, root: string): Promise<ServerSoftware> {
  const { type, version, modpackPlatform, modpackRef, modpackVersion } = row;
  if (!(await exists(root))) {
    return { type, version, modpackPlatform, modpackRef, modpackVersion, levelName: await levelNameOf(row, undefined) };
  }
  await using jail = await openJail(root);
  return { type, version, modpackPlatform, modpackRef, modpackVersion, levelName: await levelNameOf(row, jail) };
}
