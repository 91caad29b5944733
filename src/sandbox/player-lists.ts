import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readText, writeAtomic } from './files.ts';
import type { Log } from './log.ts';

/**
 * A player on a list. Lists match by UUID, or by name, because the UUID of a name typed by an operator is uncertain.
 */
export interface Profile {
  uuid: string;
  name: string;
}
export interface Operator extends Profile {
  level: number;
  bypassesPlayerLimit: boolean;
}
interface Ban {
  created: string;
  source: string;
  /** `forever` or a date as in `created`. */
  expires: string;
  reason: string;
}
export type PlayerBan = Profile & Ban;
export type IpBan = { ip: string } & Ban;
type CachedProfile = Profile & { expiresOn: string };

const CACHE_LIFE_MS = 30 * 24 * 3_600_000;
const MAX_CACHED = 1_000;

/** A list file in the vanilla format. If the file cannot be read, the list stays unchanged. */
class ListFile<Entry extends object> {
  readonly #path: string;
  readonly #log: Log;
  readonly #key: keyof Entry;
  entries: Entry[] = [];

  constructor(path: string, key: keyof Entry, log: Log) {
    this.#path = path;
    this.#key = key;
    this.#log = log;
  }

  load(): void {
    if (!existsSync(this.#path)) return this.save();
    try {
      const content: unknown = JSON.parse(readText(this.#path));
      if (!Array.isArray(content)) throw new TypeError('not a list');
      this.entries = content.filter((entry): entry is Entry => typeof entry?.[this.#key] === 'string');
    } catch (error) {
      this.#log.warn(`Failed to load ${this.#path}: ${String(error)}`);
    }
  }

  save(): void {
    writeAtomic(this.#path, `${JSON.stringify(this.entries, null, 2)}\n`);
  }

  add(entry: Entry): void {
    this.entries.push(entry);
    this.save();
  }

  /** Removes all matching entries. Returns the first one; undefined if no entry matches. */
  remove(matches: (entry: Entry) => boolean): Entry | undefined {
    const found = this.entries.find((entry) => matches(entry));
    if (found) {
      this.entries = this.entries.filter((entry) => !matches(entry));
      this.save();
    }
    return found;
  }
}

/** Whitelist, operators, bans and known profiles, each in its vanilla file in `directory`. */
export class PlayerLists {
  readonly whitelist: ListFile<Profile>;
  readonly ops: ListFile<Operator>;
  readonly bans: ListFile<PlayerBan>;
  readonly ipBans: ListFile<IpBan>;
  readonly cache: ListFile<CachedProfile>;

  constructor(directory: string, log: Log) {
    this.whitelist = new ListFile(join(directory, 'whitelist.json'), 'name', log);
    this.ops = new ListFile(join(directory, 'ops.json'), 'name', log);
    this.bans = new ListFile(join(directory, 'banned-players.json'), 'name', log);
    this.ipBans = new ListFile(join(directory, 'banned-ips.json'), 'ip', log);
    this.cache = new ListFile(join(directory, 'usercache.json'), 'name', log);
    this.reload();
    this.cache.load();
  }

  /** Reloads the files, which other programs may have changed. */
  reload(): void {
    for (const list of [this.whitelist, this.ops, this.bans, this.ipBans]) list.load();
  }

  isWhitelisted(player: Profile): boolean {
    return this.whitelist.entries.some((entry) => same(entry, player)) || this.operator(player) !== undefined;
  }

  operator(player: Profile): Operator | undefined {
    return this.ops.entries.find((entry) => same(entry, player));
  }

  /** Returns the ban of a player that is in force now. */
  banOf(player: Profile): PlayerBan | undefined {
    return this.bans.entries.find((entry) => same(entry, player) && !isOver(entry));
  }

  ipBanOf(ip: string): IpBan | undefined {
    return this.ipBans.entries.find((entry) => entry.ip === ip && !isOver(entry));
  }

  /** Removes expired bans from their files. */
  dropExpired(): void {
    this.bans.remove(isOver);
    this.ipBans.remove(isOver);
  }

  remember(player: Profile): void {
    const expiresOn = vanillaDate(Date.now() + CACHE_LIFE_MS);
    const others = this.cache.entries.filter((entry) => entry.uuid !== player.uuid);
    this.cache.entries = [{ name: player.name, uuid: player.uuid, expiresOn }, ...others].slice(0, MAX_CACHED);
    this.cache.save();
  }

  /** Returns the profile of a typed name: as last seen here, otherwise that of an offline player with this name. */
  profile(name: string): Profile {
    const known = this.cache.entries.find((entry) => sameName(entry.name, name));
    return known ? { uuid: known.uuid, name: known.name } : { uuid: offlineUuid(name), name };
  }
}

/** Returns the UUID of a player without an account server: version 3, of `OfflinePlayer:<name>`. */
export function offlineUuid(name: string): string {
  const hash = createHash('md5').update(`OfflinePlayer:${name}`).digest();
  hash[6] = (hash[6]! & 0x0f) | 0x30;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  return hash.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Formats a date as in vanilla list files: `2026-01-31 18:05:09 +0000`. */
export function vanillaDate(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} +0000`;
}

/** Returns the epoch ms of a vanilla date; undefined for `forever` and invalid dates. */
function parseVanillaDate(text: string): number | undefined {
  // Other programs write these files, too. `exec` converts values of other types to text.
  const match = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) ([+-]\d\d):?(\d\d)$/.exec(text);
  const at = match ? Date.parse(`${match[1]}T${match[2]}${match[3]}:${match[4]}`) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** Compares names, ignoring case. */
export function sameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/**
 * Compares by UUID, and by name only if one side has no account's UUID. Names change hands, and the new owner of an
 * operator's old name is not that operator.
 */
function same(entry: Profile, player: Profile): boolean {
  if (entry.uuid === player.uuid) return true;
  return sameName(entry.name, player.name) && (!isAccount(entry.uuid) || !isAccount(player.uuid));
}

function isAccount(uuid: unknown): boolean {
  return typeof uuid === 'string' && /^.{8}-.{4}-4/.test(uuid);
}

function isOver(ban: Ban): boolean {
  const end = parseVanillaDate(ban.expires);
  return end !== undefined && end <= Date.now();
}
