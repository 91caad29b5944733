import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerRow } from '../store/rows.ts';
import { liftConnectionThrottle } from './connection-throttle.ts';
import { handOver } from './hand-over.ts';
import { acceptEula, type FileOwner, writeProperties } from './properties.ts';
import { removeTree } from './remove-tree.ts';

/** Where a server's files lie: `DATA_DIR/servers/<id>`. Ids are slugs, so this never leaves the folder. */
export function dataRoot(dataDir: string, serverId: string): string {
  return join(dataDir, 'servers', serverId);
}

/** Makes the data root ready for a boot: the folder, the accepted licence, the properties. Idempotent. */
export async function prepareDataRoot(
  dataDir: string,
  row: ServerRow,
  rconPassword: string,
  owner?: FileOwner,
): Promise<void> {
  const root = dataRoot(dataDir, row.id);
  await mkdir(root, { recursive: true, mode: 0o750 });
  const isRoot = process.getuid?.() === 0;
  if (owner !== undefined) await handOver(root, owner);
  // So that a later owner is seen to be another one.
  else if (isRoot) await chown(root, 0, 0);
  await acceptEula(root, owner);
  await writeProperties(root, row, rconPassword, owner);
  await liftConnectionThrottle(root, row.type, owner);
}

/** Removes the data root with all that is in it; links are removed, never followed. */
export async function eraseDataRoot(dataDir: string, serverId: string): Promise<void> {
  await removeTree(dataRoot(dataDir, serverId));
}
