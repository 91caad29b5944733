import { lstat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { dataRoot } from '../../jail/data-root.ts';
import { createCache } from '../../kernel/cache.ts';
import { canonical } from '../../kernel/ip.ts';
import { MIB } from '../../kernel/units.ts';
import { readPlain } from '../plain-files.ts';
import { MAX_PROPERTIES_BYTES, parseProperties } from '../properties/format.ts';
import { endsByReason, instantOf, lasts, termsOf } from './ban-ends.ts';

/** A joining player, as lists name players. `uuid` has hyphens; null if the client sent none. */
export interface Knocker {
  name: string;
  uuid: string | null;
  /** Without IPv4 mapping. */
  ip: string;
}

/** A ban in force: the reason in the game's file, or '', and its end (epoch ms; null: permanent). */
export interface Ban {
  reason: string;
  until: number | null;
}

export interface IpBan extends Ban {
  /** In canonical form. */
  ip: string;
}

/**
 * A game's player lists, read from its own files. They include changes made in the game and over the API, and are
 * available while the game sleeps. A file is read again only when it has changed. A missing, too large or invalid file
 * counts as an empty list.
 */
export interface PlayerFiles {
  banOf(serverId: string, player: Knocker, at: number): Promise<Ban | undefined>;
  ipBanOf(serverId: string, ip: string, at: number): Promise<Ban | undefined>;
  /** Returns the bans in force. The same array is returned until they change. */
  ipBans(serverId: string, at: number): Promise<readonly IpBan[]>;
  /** Returns expired bans that a running game still applies, because it does not know their end. */
  ended(serverId: string, at: number): Promise<{ names: string[]; ips: string[] }>;
  /** Whether the player is whitelisted or an operator: operators pass any whitelist. */
  isListed(serverId: string, player: Knocker): Promise<boolean>;
  /** Whether the player has joined the game before: it has the profile or the player's data. */
  hasPlayed(serverId: string, player: Knocker): Promise<boolean>;
  /** Whether Floodgate, as a plugin or a mod, lets Bedrock players in: it has a folder of its own. */
  hasFloodgate(serverId: string): Promise<boolean>;
  /** Returns a value of `server.properties`; '' if missing. */
  property(serverId: string, name: string): Promise<string>;
}

/** Fields of a list's entry that identify its subject, and the entry's end. */
export interface Entry {
  name: string;
  uuid: string;
  /** Epoch ms; null: permanent. */
  until: number | null;
  reason: string;
  /** The game treats the ban as permanent, because only the reason has its end. */
  endsByReason: boolean;
}

interface IpEntry extends Entry {
  ip: string;
}

/**
 * Limit of a list for every reader and writer; an entry takes about a hundred bytes. Only the first entries of a longer
 * list count. Parsing yields between batches of entries.
 */
export const MAX_LIST_BYTES = MIB;
export const MAX_LIST_ENTRIES = 10_000;
const PIECE = 500;
/** Most files cached. */
const MOST_FILES = 512;
const REASON_UNITS = 256;
/** Folders of a world's player data, since 26.1 and before. */
const PLAYER_FOLDERS = ['players/data', 'playerdata'];
const FLOODGATE_FOLDERS = ['plugins/floodgate', 'config/floodgate'];
const NO_ADDRESSES: readonly IpEntry[] = [];
/** A player's UUID in the games' format. */
export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function createPlayerFiles(dataDir: string): PlayerFiles {
  const files = createCache<unknown>({ most: MOST_FILES, ttlMs: () => Infinity });

  async function read<T>(
    serverId: string,
    name: string,
    parse: (text: string) => T | Promise<T>,
    empty: T,
    maxBytes: number,
  ): Promise<T> {
    const path = join(dataRoot(dataDir, serverId), name);
    const fingerprint = await fileFingerprintOf(path);
    if (fingerprint === undefined) {
      files.drop(path);
      return empty;
    }
    return (await files.get(path, 0, () => contentOf(path, parse, empty, maxBytes), fingerprint)) as T;
  }

  /** Bans in force of an address list, valid until the first of them ends. */
  const inForce = new WeakMap<readonly IpEntry[], { bans: readonly IpBan[]; until: number }>();
  const list = (serverId: string, name: string): Promise<readonly Entry[]> =>
    read(serverId, name, (text) => entriesIn(text, entryOf), [], MAX_LIST_BYTES);
  const addresses = (serverId: string): Promise<readonly IpEntry[]> =>
    read(serverId, 'banned-ips.json', (text) => entriesIn(text, ipEntryOf), NO_ADDRESSES, MAX_LIST_BYTES);
  const properties = (serverId: string) =>
    read(serverId, 'server.properties', parseProperties, new Map<string, string>(), MAX_PROPERTIES_BYTES);
  const isOn = async (serverId: string, name: string, player: Knocker) =>
    (await list(serverId, name)).some((entry) => isSame(entry, player));

  return {
    async banOf(serverId, player, at) {
      const bans = await list(serverId, 'banned-players.json');
      return banIn(bans.find((ban) => isSame(ban, player) && lasts(ban.until, at)));
    },
    async ipBanOf(serverId, ip, at) {
      const bans = await addresses(serverId);
      const address = canonical(ip);
      return banIn(bans.find((ban) => ban.ip !== '' && ban.ip === address && lasts(ban.until, at)));
    },
    async ipBans(serverId, at) {
      const entries = await addresses(serverId);
      const known = inForce.get(entries);
      if (known !== undefined && at < known.until) return known.bans;
      const bans = entries
        .filter(({ ip, until }) => ip !== '' && lasts(until, at))
        .map(({ ip, reason, until }) => ({ ip, reason, until }));
      const until = bans.reduce((first, ban) => Math.min(first, ban.until ?? Infinity), Infinity);
      inForce.set(entries, { bans, until });
      return bans;
    },
    async ended(serverId, at) {
      const hasEnded = (ban: Entry) => ban.endsByReason && !lasts(ban.until, at);
      const [players, ips] = await Promise.all([list(serverId, 'banned-players.json'), addresses(serverId)]);
      return { names: players.filter(hasEnded).map(({ name }) => name), ips: ips.filter(hasEnded).map(({ ip }) => ip) };
    },
    isListed: async (serverId, player) =>
      (await isOn(serverId, 'whitelist.json', player)) || (await isOn(serverId, 'ops.json', player)),
    async hasPlayed(serverId, player) {
      if (await isOn(serverId, 'usercache.json', player)) return true;
      // The game forgets profiles after a month, but keeps a player's data.
      if (player.uuid === null || !UUID.test(player.uuid)) return false;
      const level = posix.normalize((await properties(serverId)).get('level-name')?.trim() || 'world');
      if (posix.isAbsolute(level) || level.split('/')[0] === '..') return false;
      for (const folder of PLAYER_FOLDERS) {
        const path = join(dataRoot(dataDir, serverId), level, folder, `${player.uuid}.dat`);
        if ((await fileFingerprintOf(path)) !== undefined) return true;
      }
      return false;
    },
    async hasFloodgate(serverId) {
      const folders = FLOODGATE_FOLDERS.map((folder) => fileFingerprintOf(join(dataRoot(dataDir, serverId), folder)));
      return (await Promise.all(folders)).some((fingerprint) => fingerprint !== undefined);
    },
    property: async (serverId, name) => (await properties(serverId)).get(name) ?? '',
  };
}

/** Returns a fingerprint that changes with the file's content; undefined if the file is missing. */
async function fileFingerprintOf(path: string): Promise<string | undefined> {
  try {
    const { ino, mtimeMs, ctimeMs, size } = await lstat(path);
    return [ino, mtimeMs, ctimeMs, size].join(' ');
  } catch {
    return undefined;
  }
}

async function contentOf<T>(
  path: string,
  parse: (text: string) => T | Promise<T>,
  empty: T,
  maxBytes: number,
): Promise<T> {
  try {
    return await parse(await readPlain(path, maxBytes));
  } catch {
    return empty;
  }
}

async function entriesIn<T extends Entry>(text: string, entryOf: (entry: object) => T): Promise<readonly T[]> {
  const json: unknown = JSON.parse(text);
  const entries: T[] = [];
  for (const [nth, entry] of (Array.isArray(json) ? json.slice(0, MAX_LIST_ENTRIES) : []).entries()) {
    if (typeof entry === 'object' && entry !== null) entries.push(entryOf(entry as object));
    if (nth % PIECE === PIECE - 1) await nextTurn();
  }
  return entries;
}

/** Parses an entry of a list. Missing or mistyped fields become ''. Names and UUIDs are in lower case. */
export function entryOf(entry: object): Entry {
  const written = { expires: field(entry, 'expires'), reason: field(entry, 'reason') };
  const { expires, reason } = termsOf(written);
  return {
    name: field(entry, 'name').toLowerCase(),
    uuid: field(entry, 'uuid').toLowerCase(),
    until: instantOf(expires),
    reason: reason.slice(0, REASON_UNITS),
    endsByReason: endsByReason(written),
  };
}

/** Returns the address of a list's entry in canonical form; '' without one. */
export function addressOf(entry: object): string {
  return canonical(field(entry, 'ip'));
}

function ipEntryOf(entry: object): IpEntry {
  return { ...entryOf(entry), ip: addressOf(entry) };
}

function field(entry: object, name: string): string {
  const value: unknown = (entry as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : '';
}

function banIn(entry: Entry | undefined): Ban | undefined {
  return entry && { reason: entry.reason, until: entry.until };
}

/**
 * Whether an entry is the player's. Names only count if one side has no account UUID (version 4): after a rename, the
 * name's new owner is another player.
 */
function isSame(entry: Entry, { name, uuid }: Knocker): boolean {
  if (uuid !== null && entry.uuid === uuid.toLowerCase()) return true;
  return entry.name === name.toLowerCase() && !(isAccount(entry.uuid) && uuid !== null && isAccount(uuid));
}

function isAccount(uuid: string): boolean {
  return uuid[14] === '4';
}
