import { join } from 'node:path';
import { EngineError } from '../../engines/engine.ts';
import type { FileOwner } from '../../kernel/atomic-file.ts';
import { decodeText, isUtf16 } from '../../kernel/decode-text.ts';
import { readPlainBytes, writePlain } from '../plain-files.ts';
import { type BanTerms, endsByReason, termsOf } from './ban-ends.ts';
import { PLAYER_LISTS, formatList } from './changes.ts';
import { MAX_LIST_ENTRIES, addressOf } from './files.ts';

/**
 * Cleans up a game's player lists before it starts. Lifts bans of `proxies`: an operator who bans a player's address in
 * the game bans one of these, and thereby everyone. Stores ends that are only in the reasons of other bans as
 * `expires`, so that the game knows them. Converts lists in UTF-16, which the game cannot read, to UTF-8. Leaves
 * invalid files to the game.
 */
export async function settleLists(dataDir: string, proxies: readonly string[], owner?: FileOwner): Promise<void> {
  const isProxy = (entry: unknown) => isObject(entry) && proxies.includes(addressOf(entry));
  for (const [list, file] of Object.entries(PLAYER_LISTS))
    await settle(join(dataDir, file), list === 'bannedIps' ? isProxy : () => false, owner);
}

async function settle(path: string, isLifted: (entry: unknown) => boolean, owner?: FileOwner): Promise<void> {
  const { list, isReadable } = await listIn(path);
  const settled = list
    .filter((entry) => !isLifted(entry))
    .map((entry) => (isUnsettled(entry) ? termsOf(entry) : entry));
  const isSame = settled.length === list.length && settled.every((entry, nth) => entry === list[nth]);
  if (!isSame || !isReadable) await writePlain(path, formatList(settled), owner);
}

/**
 * Returns the entries of a list, and whether the game can read its encoding. A missing, invalid or too long list has no
 * entries.
 */
async function listIn(path: string): Promise<{ list: unknown[]; isReadable: boolean }> {
  try {
    const bytes = await readPlainBytes(path);
    const list: unknown = JSON.parse(decodeText(bytes));
    if (Array.isArray(list) && list.length <= MAX_LIST_ENTRIES) return { list, isReadable: !isUtf16(bytes) };
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof EngineError)) throw error;
  }
  return { list: [], isReadable: true };
}

function isUnsettled(entry: unknown): entry is BanTerms {
  if (!isObject(entry)) return false;
  const { expires, reason } = entry as Partial<Record<keyof BanTerms, unknown>>;
  return typeof expires === 'string' && typeof reason === 'string' && endsByReason({ expires, reason });
}

function isObject(entry: unknown): entry is object {
  return typeof entry === 'object' && entry !== null;
}
