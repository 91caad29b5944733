import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { dataRoot } from '../../jail/data-root.ts';
import { createCache } from '../../kernel/cache.ts';
import { canonical } from '../../kernel/ip.ts';
import { readPlain } from '../plain-files.ts';
import { MAX_PROPERTIES_BYTES, parseProperties } from '../properties/format.ts';
import { endsByReason, instantOf, isInForce, termsOf } from './ban-ends.ts';

/** A player who wants to join, as lists name players. `uuid` has hyphens; null where the client sent none. */
export interface Knocker {
  name: string;
  uuid: string | null;
  /** Without IPv4-mapping. */
  ip: string;
}

/** A ban in force: the reason the game's own file gives, or '', and its end (epoch ms; null: for ever). */
export interface Ban {
  reason: string;
  until: number | null;
}

/**
 * The lists a game keeps of its players, read from its own files: they hold changes made in the game and over the API,
 * and are there while it sleeps. A file is read again only when it has changed; one that is missing, too large or
 * invalid is an empty list.
 */
export interface PlayerFiles {
  banOf(serverId: string, player: Knocker, at: number): Promise<Ban | undefined>;
  ipBanOf(serverId: string, ip: string, at: number): Promise<Ban | undefined>;
  /** The bans in force. */
  ipBans(serverId: string, at: number): Promise<(Ban & { ip: string })[]>;
  /** Who is banned in a running game although the ban has ended, as the game does not know of its end. */
  ended(serverId: string, at: number): Promise<{ names: string[]; ips: string[] }>;
  /** On the whitelist, or an operator, whom no whitelist keeps out. */
  isListed(serverId: string, player: Knocker): Promise<boolean>;
  /** Whether the player has been in the game: it remembers the profile, or has the player's data. */
  hasPlayed(serverId: string, player: Knocker): Promise<boolean>;
  /** What `server.properties` says; '' for nothing. */
  property(serverId: string, name: string): Promise<string>;
}

/** The fields of a list's entry that say who it is about, and for how long. */
export interface Entry {
  name: string;
  uuid: string;
  ip: string;
  expires: string;
  reason: string;
  /** The game knows no end of the ban. */
  endsByReason: boolean;
}

/** Files kept in memory. */
const MOST_FILES = 512;
const REASON_UNITS = 256;
/** A player's UUID as games write it. */
export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function createPlayerFiles(dataDir: string): PlayerFiles {
  const files = createCache<unknown>({ most: MOST_FILES, ttlMs: () => Infinity });

  async function read<T>(
    serverId: string,
    name: string,
    parse: (text: string) => T,
    empty: T,
    maxBytes?: number,
  ): Promise<T> {
    const path = join(dataRoot(dataDir, serverId), name);
    const fingerprint = await fingerprintOf(path);
    if (fingerprint === undefined) {
      files.drop(path);
      return empty;
    }
    return (await files.get(path, 0, () => contentOf(path, parse, empty, maxBytes), fingerprint)) as T;
  }

  const list = (serverId: string, name: string) => read(serverId, name, entriesIn, []);
  const properties = (serverId: string) =>
    read(serverId, 'server.properties', parseProperties, new Map<string, string>(), MAX_PROPERTIES_BYTES);
  const isOn = async (serverId: string, name: string, player: Knocker) =>
    (await list(serverId, name)).some((entry) => isSame(entry, player));

  return {
    async banOf(serverId, player, at) {
      const bans = await list(serverId, 'banned-players.json');
      return banIn(bans.find((ban) => isSame(ban, player) && isInForce(ban, at)));
    },
    async ipBanOf(serverId, ip, at) {
      const bans = await list(serverId, 'banned-ips.json');
      const address = canonical(ip);
      return banIn(bans.find((ban) => ban.ip !== '' && ban.ip === address && isInForce(ban, at)));
    },
    async ipBans(serverId, at) {
      const bans = await list(serverId, 'banned-ips.json');
      return bans
        .filter((ban) => ban.ip !== '' && isInForce(ban, at))
        .map((ban) => ({ ip: ban.ip, reason: ban.reason, until: instantOf(ban.expires) }));
    },
    async ended(serverId, at) {
      const endedIn = async (name: string) =>
        (await list(serverId, name)).filter((ban) => ban.endsByReason && !isInForce(ban, at));
      const [players, addresses] = await Promise.all([endedIn('banned-players.json'), endedIn('banned-ips.json')]);
      return { names: players.map(({ name }) => name), ips: addresses.map(({ ip }) => ip) };
    },
    isListed: async (serverId, player) =>
      (await isOn(serverId, 'whitelist.json', player)) || (await isOn(serverId, 'ops.json', player)),
    async hasPlayed(serverId, player) {
      if (await isOn(serverId, 'usercache.json', player)) return true;
      // The game forgets profiles after a month, but never a player's data.
      if (player.uuid === null || !UUID.test(player.uuid)) return false;
      const level = (await properties(serverId)).get('level-name') || 'world';
      if (level.includes('/') || level.startsWith('.')) return false;
      return (
        (await fingerprintOf(join(dataRoot(dataDir, serverId), level, 'playerdata', `${player.uuid}.dat`))) !==
        undefined
      );
    },
    property: async (serverId, name) => (await properties(serverId)).get(name) ?? '',
  };
}

/** Changes with a file's content; undefined where there is no file. */
async function fingerprintOf(path: string): Promise<string | undefined> {
  try {
    const { ino, mtimeMs, ctimeMs, size } = await lstat(path);
    return [ino, mtimeMs, ctimeMs, size].join(' ');
  } catch {
    return undefined;
  }
}

async function contentOf<T>(
  path: string,
  parse: (text: string) => T,
  empty: T,
  maxBytes: number | undefined,
): Promise<T> {
  try {
    return parse(await readPlain(path, maxBytes));
  } catch {
    return empty;
  }
}

function entriesIn(text: string): Entry[] {
  const json: unknown = JSON.parse(text);
  return Array.isArray(json) ? json.filter((entry) => typeof entry === 'object' && entry !== null).map(entryOf) : [];
}

/**
 * Reads an entry of a list; fields that are missing or of another type are ''. Names and UUIDs are in lower case,
 * addresses in canonical form.
 */
export function entryOf(entry: object): Entry {
  const field = (name: string): string => {
    const value: unknown = (entry as Record<string, unknown>)[name];
    return typeof value === 'string' ? value : '';
  };
  const written = { expires: field('expires'), reason: field('reason') };
  const { expires, reason } = termsOf(written);
  return {
    name: field('name').toLowerCase(),
    uuid: field('uuid').toLowerCase(),
    ip: canonical(field('ip')),
    expires,
    reason: reason.slice(0, REASON_UNITS),
    endsByReason: endsByReason(written),
  };
}

function banIn(entry: Entry | undefined): Ban | undefined {
  return entry && { reason: entry.reason, until: instantOf(entry.expires) };
}

/**
 * A name counts only where one side has no account's UUID (version 4): names change hands, and the new owner of a name
 * is another player.
 */
function isSame(entry: Entry, { name, uuid }: Knocker): boolean {
  if (uuid !== null && entry.uuid === uuid.toLowerCase()) return true;
  return entry.name === name.toLowerCase() && !(isAccount(entry.uuid) && uuid !== null && isAccount(uuid));
}

function isAccount(uuid: string): boolean {
  return uuid[14] === '4';
}
