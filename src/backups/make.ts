import { openJail } from '../jail/jail.ts';
import type { ServerRow } from '../servers/rows.ts';
import { levelNameOf } from '../game/worlds.ts';
import { exists } from './files.ts';
import type { ServerMake } from './rows.ts';

/** What a server is with the files in a folder, to be told again once a backup of it is restored. */
export async function makeOf(row: ServerRow, root: string): Promise<ServerMake> {
  const { type, version, modpackPlatform, modpackRef, modpackVersion } = row;
  if (!(await exists(root))) {
    return { type, version, modpackPlatform, modpackRef, modpackVersion, levelName: await levelNameOf(row, undefined) };
  }
  await using jail = await openJail(root);
  return { type, version, modpackPlatform, modpackRef, modpackVersion, levelName: await levelNameOf(row, jail) };
}
