import { join } from 'node:path';
import type { FileOwner } from '../../kernel/atomic-file.ts';
import { writePlain } from '../plain-files.ts';
import { type BanTerms, endsByReason, termsOf } from './ban-ends.ts';
import { PLAYER_LISTS, formatList } from './changes.ts';
import { addressOf } from './files.ts';
import { listIn } from './list-in.ts';

/**
 * Brings the bans in a game's files in order before it starts. Bans of `proxies` are lifted: an operator in the game who bans a
 * player's address bans one of these, and so everybody. The others get the ends that the game was told of while it ran, so that
 * it knows them itself from now on. An invalid file is left to the game.
 */
export async function settleBans(dataDir: string, proxies: readonly string[], owner?: FileOwner): Promise<void> {
  const isProxy = (entry: unknown) => isObject(entry) && proxies.includes(addressOf(entry));
  await settle(join(dataDir, PLAYER_LISTS.banned), () => false, owner);
  await settle(join(dataDir, PLAYER_LISTS.bannedIps), isProxy, owner);
}

async function settle(path: string, isLifted: (entry: unknown) => boolean, owner?: FileOwner): Promise<void> {
  const list = await listIn(path);
  const settled = list
    .filter((entry) => !isLifted(entry))
    .map((entry) => (isUnsettled(entry) ? termsOf(entry) : entry));
  const isSame = settled.length === list.length && settled.every((entry, nth) => entry === list[nth]);
  if (!isSame) await writePlain(path, formatList(settled), owner);
}

function isUnsettled(entry: unknown): entry is BanTerms {
  if (!isObject(entry)) return false;
  const { expires, reason } = entry as Partial<Record<keyof BanTerms, unknown>>;
  return typeof expires === 'string' && typeof reason === 'string' && endsByReason({ expires, reason });
}

function isObject(entry: unknown): entry is object {
  return typeof entry === 'object' && entry !== null;
}
