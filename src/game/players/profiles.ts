import { createHash } from 'node:crypto';
import type { Profile } from '../../engines/console/profile.ts';
import { StatusError } from '../../kernel/status.ts';
import { isInForce } from './ban-ends.ts';
import { UUID, entryOf } from './files.ts';
import type { Profiles } from './minecraft-accounts.ts';

/**
 * A valid player name: up to 16 letters, digits and underscores; with a prefix, a player of the Bedrock edition
 * (Floodgate's default prefix is a dot). A valid name cannot end a command or begin another.
 */
export const PLAYER_NAME = /^[.*+~!]?[A-Za-z0-9_]{1,16}$/;
const PREFIXED = /^\W/;

/** Settings that determine a name's profile on a server. */
export interface Names {
  /** Players have the UUIDs of their accounts: the game verifies them (`online-mode`), or a proxy in front does. */
  onlineMode: boolean;
  /** `usercache.json`, the game's record of players who have joined. */
  remembered: readonly unknown[];
  at: number;
}

/**
 * Returns the profile of a name as the server's game would see it. NOT_FOUND PLAYER_NOT_FOUND; UNAVAILABLE
 * ACCOUNTS_UNAVAILABLE if it cannot be looked up now.
 */
export async function profileOf(name: string, names: Names, profiles: Profiles): Promise<Profile> {
  const remembered = rememberedAs(name, names);
  if (remembered) return remembered;
  // A plugin derives their UUIDs from ids known only to Bedrock's network.
  if (PREFIXED.test(name))
    throw unknown(name, `${name} has not played here yet. Players of the Bedrock edition must join once first.`);
  if (!names.onlineMode) return { name, uuid: offlineUuid(name) };
  const account = await profiles.find(name);
  if (!account) throw unknown(name, `There is no Minecraft account named ${name}.`);
  return account;
}

/** Returns the player of this name who has joined recently, with the kind of UUID that this server uses. */
export function rememberedAs(name: string, { onlineMode, remembered, at }: Names): Profile | undefined {
  for (const entry of remembered) {
    if (typeof entry !== 'object' || entry === null) continue;
    const { name: named, uuid } = entryOf(entry);
    const { name: spelled, expiresOn } = entry as { name?: unknown; expiresOn?: unknown };
    if (named !== name.toLowerCase() || typeof spelled !== 'string' || !PLAYER_NAME.test(spelled)) continue;
    const counts = UUID.test(uuid) && (PREFIXED.test(name) || (uuid[14] === '4') === onlineMode);
    const expires = typeof expiresOn === 'string' ? expiresOn : '';
    if (counts && isInForce({ expires }, at)) return { name: spelled, uuid };
  }
  return undefined;
}

/**
 * Returns the UUID of a player without an account: version 3 (RFC 9562 §5.3) of `OfflinePlayer:<name>`, without
 * namespace.
 */
export function offlineUuid(name: string): string {
  const hash = createHash('md5').update(`OfflinePlayer:${name}`).digest();
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x30, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  return hash.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function unknown(name: string, sentence: string): StatusError {
  return new StatusError('NOT_FOUND', 'PLAYER_NOT_FOUND', sentence, { metadata: { name } });
}
