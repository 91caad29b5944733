import { join } from 'node:path';
import { EngineError } from '../../engines/engine.ts';
import type { FileOwner } from '../../kernel/atomic-file.ts';
import { decodeText, isUtf16 } from '../../kernel/decode-text.ts';
import { readPlainBytes, writePlain } from '../plain-files.ts';
import { type BanTerms, endsByReason, termsOf } from './ban-ends.ts';
import { PLAYER_LISTS, formatList } from './changes.ts';
import { MAX_LIST_ENTRIES, addressOf } from './files.ts';

/**
 * Brings a game's lists of players in order before it starts. Bans of `proxies` are lifted: an operator in the game who bans a
 * player's address bans one of these, and so everybody. Other bans get the ends that the game learned while it ran, so that
 * it knows them itself from now on. A list in UTF-16, which the game cannot read, becomes UTF-8. An invalid file is left to the game.
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

/** The entries of a list, and whether the game can read its encoding. A missing, invalid or too long list has no entries. */
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
