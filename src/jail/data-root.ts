import { join } from 'node:path';
import { removeTree } from './remove-tree.ts';

/**
 * Returns the folder of a server's files: `DATA_DIR/servers/<id>`. Ids are slugs, so the path never leaves the folder.
 */
export function dataRoot(dataDir: string, serverId: string): string {
  return join(dataDir, 'servers', serverId);
}

/** Removes the data root with its contents. Removes links without following them. */
export async function eraseDataRoot(dataDir: string, serverId: string): Promise<void> {
  await removeTree(dataRoot(dataDir, serverId));
}
