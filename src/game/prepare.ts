import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { dataRoot } from '../jail/data-root.ts';
import { handOver } from '../jail/hand-over.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { GameRow, GameSettings } from './container.ts';
import { isBukkit, isProxy } from './cores.ts';
import { type Network, writeNetworkFiles } from './network-files.ts';
import { readPlain, writePlain } from './plain-files.ts';
import { acceptEula, writeProperties } from './properties/properties.ts';

/** Prepares the data root for a boot: the folder, the accepted EULA, the properties, a network's files. Idempotent. */
export async function prepareDataRoot(
  dataDir: string,
  row: GameRow,
  {
    rconPassword,
    eulaAccepted,
    network,
  }: Pick<GameSettings, 'rconPassword' | 'eulaAccepted'> & { network?: Network | undefined },
  owner?: FileOwner,
): Promise<void> {
  const root = dataRoot(dataDir, row.id);
  await mkdir(root, { recursive: true, mode: 0o750 });
  const isRoot = process.getuid?.() === 0;
  if (owner !== undefined) await handOver(root, owner);
  // Lets `handOver` notice the change of owner.
  else if (isRoot) await chown(root, 0, 0);
  if (eulaAccepted) await acceptEula(root, owner);
  await writeNetworkFiles(root, row, network, owner);
  if (isProxy(row.type)) return;
  // The front checks accounts. As a property of the owner, it returns to the default once the server is public.
  const properties = network ? { ...row.properties, 'online-mode': 'false' } : row.properties;
  await writeProperties(root, { ...row, properties }, rconPassword, owner);
  await liftConnectionThrottle(root, row.type, owner);
}

const SETTING = /^([ \t]+connection-throttle:)[^\n]*$/m;

/**
 * Turns off the connection throttle of Bukkit servers (`settings.connection-throttle` of `bukkit.yml`): all players
 * come from the proxy's address, and by default a second connection within four seconds is refused. The proxy limits
 * connections by address instead. Call it before each boot. The rest of the file is unchanged, and the core adds
 * missing entries.
 */
export async function liftConnectionThrottle(dataDir: string, type: string, owner?: FileOwner): Promise<void> {
  if (!isBukkit(type)) return;
  const path = join(dataDir, 'bukkit.yml');
  const was = await readPlain(path);
  const text = withoutThrottle(was);
  if (text !== was) await writePlain(path, text, owner);
}

function withoutThrottle(text: string): string {
  if (SETTING.test(text)) return text.replace(SETTING, '$1 -1');
  if (/^settings:[ \t]*$/m.test(text)) return text.replace(/^settings:[ \t]*$/m, '$&\n  connection-throttle: -1');
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  return `${before}settings:\n  connection-throttle: -1\n`;
}
