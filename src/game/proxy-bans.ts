import { join } from 'node:path';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { writePlain } from './plain-files.ts';
import { PLAYER_LISTS, formatList } from './players/changes.ts';
import { addressOf } from './players/files.ts';
import { listIn } from './players/list-in.ts';

/**
 * Lifts bans of the proxy's addresses: an operator in the game who bans a player's address bans one of these, and so
 * everybody. Other bans stay. To be called before each boot; an invalid file is left to the game.
 */
export async function liftProxyBans(dataDir: string, proxies: readonly string[], owner?: FileOwner): Promise<void> {
  const path = join(dataDir, PLAYER_LISTS.bannedIps);
  const list = await listIn(path);
  const rest = list.filter((entry) => !(isEntry(entry) && proxies.includes(addressOf(entry))));
  if (rest.length < list.length) await writePlain(path, formatList(rest), owner);
}

function isEntry(entry: unknown): entry is object {
  return typeof entry === 'object' && entry !== null;
}
