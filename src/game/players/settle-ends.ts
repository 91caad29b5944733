import { join } from 'node:path';
import type { FileOwner } from '../../kernel/atomic-file.ts';
import { writePlain } from '../plain-files.ts';
import { type BanTerms, endsByReason, termsOf } from './ban-ends.ts';
import { PLAYER_LISTS, formatList } from './changes.ts';
import { listIn } from './list-in.ts';

/**
 * Gives a game that is about to start the ends of bans that it was told of while it ran, so that it knows them itself from now on.
 * To be called before each boot; an invalid file is left to the game.
 */
export async function settleBanEnds(dataDir: string, owner?: FileOwner): Promise<void> {
  for (const file of [PLAYER_LISTS.banned, PLAYER_LISTS.bannedIps]) {
    const path = join(dataDir, file);
    const list = await listIn(path);
    if (list.some(isUnsettled)) {
      await writePlain(path, formatList(list.map((entry) => (isUnsettled(entry) ? termsOf(entry) : entry))), owner);
    }
  }
}

function isUnsettled(entry: unknown): entry is BanTerms {
  if (typeof entry !== 'object' || entry === null) return false;
  const { expires, reason } = entry as Partial<Record<keyof BanTerms, unknown>>;
  return typeof expires === 'string' && typeof reason === 'string' && endsByReason({ expires, reason });
}
