import { chown, mkdir } from 'node:fs/promises';
import { dataRoot } from '../jail/data-root.ts';
import { handOver } from '../jail/hand-over.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { liftConnectionThrottle } from './connection-throttle.ts';
import type { GameRow, GameSettings } from './container.ts';
import { acceptEula, writeProperties } from './properties/properties.ts';

/** Prepares the data root for a boot: the folder, the EULA if it is accepted, the properties. Idempotent. */
export async function prepareDataRoot(
  dataDir: string,
  row: GameRow,
  { rconPassword, eulaAccepted }: Pick<GameSettings, 'rconPassword' | 'eulaAccepted'>,
  owner?: FileOwner,
): Promise<void> {
  const root = dataRoot(dataDir, row.id);
  await mkdir(root, { recursive: true, mode: 0o750 });
  const isRoot = process.getuid?.() === 0;
  if (owner !== undefined) await handOver(root, owner);
  // Lets `handOver` notice the change of owner.
  else if (isRoot) await chown(root, 0, 0);
  if (eulaAccepted) await acceptEula(root, owner);
  await writeProperties(root, row, rconPassword, owner);
  await liftConnectionThrottle(root, row.type, owner);
}
