import { join } from 'node:path';
import { EngineError } from '../engines/engine.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { readPlain, replaceFile } from './plain-files.ts';
import { PLAYER_LISTS, formatList } from './players/changes.ts';
import { entryOf } from './players/files.ts';

/**
 * Lifts bans of the proxy's addresses: an operator in the game who bans a player's address bans one of these, and so
 * everybody. Other bans stay. To be called before each boot; an invalid file is left to the game.
 */
export async function liftProxyBans(dataDir: string, proxies: readonly string[], owner?: FileOwner): Promise<void> {
  const path = join(dataDir, PLAYER_LISTS.bannedIps);
  const list = await listIn(path);
  const rest = list.filter((entry) => !(isEntry(entry) && proxies.includes(entryOf(entry).ip)));
  if (rest.length < list.length) await replaceFile(path, formatList(rest), owner);
}

async function listIn(path: string): Promise<unknown[]> {
  try {
    const list: unknown = JSON.parse(await readPlain(path));
    return Array.isArray(list) ? list : [];
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof EngineError) return [];
    throw error;
  }
}

function isEntry(entry: unknown): entry is object {
  return typeof entry === 'object' && entry !== null;
}
