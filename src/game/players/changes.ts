import type { Profile } from '../../engines/console/profile.ts';
import { StatusError } from '../../kernel/status.ts';
import { FOREVER, NO_REASON, gameDate, lasts, reasonOf } from './ban-ends.ts';
import { addressOf, entryOf } from './files.ts';

/** Files of a game's player lists. */
export const PLAYER_LISTS = {
  whitelist: 'whitelist.json',
  ops: 'ops.json',
  banned: 'banned-players.json',
  bannedIps: 'banned-ips.json',
} as const;

export type PlayerList = keyof typeof PLAYER_LISTS;

/** A player to be listed, as the game would know them. For removals, `uuid` may be ''. */
interface Listed {
  who: Profile;
  listed: boolean;
}

/** The reason of a ban, '' for the game's default, and its end: epoch ms; null for a permanent one. */
interface Terms {
  reason: string;
  until: number | null;
}

/** A change to a list. `ip` is in canonical form. */
export type PlayerChange =
  | (Listed & { list: 'whitelist' })
  | (Listed & { list: 'ops'; level: number })
  | (Listed & { list: 'banned' } & Terms)
  | ({ list: 'bannedIps'; ip: string; listed: boolean } & Terms);

/** The game's name for the sender of console commands. */
const CONSOLE = 'Rcon';

/** Returns the console command that makes the change in a running game. */
export function commandOf(change: PlayerChange): string {
  switch (change.list) {
    case 'whitelist':
      return `whitelist ${change.listed ? 'add' : 'remove'} ${change.who.name}`;
    case 'ops':
      return `${change.listed ? 'op' : 'deop'} ${change.who.name}`;
    case 'banned':
      return change.listed ? withReason(`ban ${change.who.name}`, reasonOf(change)) : pardonCommand(change.who.name);
    case 'bannedIps':
      return change.listed ? withReason(`ban-ip ${change.ip}`, reasonOf(change)) : pardonIpCommand(change.ip);
    default:
      return change satisfies never;
  }
}

/** Returns the console command that lifts a player's ban. */
export function pardonCommand(name: string): string {
  return `pardon ${name}`;
}

/** Returns the console command that lifts an address ban. */
export function pardonIpCommand(ip: string): string {
  return `pardon-ip ${ip}`;
}

/** Returns the console command that kicks a player. */
export function kickCommand(name: string, reason: string): string {
  // The game reads this name as a selector, where other prefixes than these need quotes.
  const player = /^[\w.+]+$/.test(name) ? name : `"${name}"`;
  return withReason(`kick ${player}`, reason);
}

/** Whether a list written by the game shows the change. The game may know the player by another UUID. */
export function isAsWanted(list: readonly unknown[], change: PlayerChange, at: number): boolean {
  return list.some((entry) => isAbout(entry, change) && (!isBan(change) || holds(entry, at))) === change.listed;
}

/** Whether the change adds a ban. */
export function isNewBan(change: PlayerChange): boolean {
  return change.listed && isBan(change);
}

/**
 * Whether a running game still applies an expired ban of the player or address that the change bans again, because the
 * game does not know the ban's end.
 */
export function isEnded(list: readonly unknown[], change: PlayerChange, at: number): boolean {
  return list.some((entry) => isAbout(entry, change) && entryOf(entry as object).endsByReason && !holds(entry, at));
}

/**
 * Returns the list with the change; undefined if it is unchanged. An existing entry keeps all its fields; an expired
 * ban is replaced.
 */
export function withChange(list: readonly unknown[], change: PlayerChange, at: number): unknown[] | undefined {
  if (!change.listed) {
    const rest = list.filter((entry) => !isAbout(entry, change));
    return rest.length === list.length ? undefined : rest;
  }
  const there = list.findIndex((entry) => isExactly(entry, change));
  if (there < 0) return [...list, entryFor(change, at)];
  if (isBan(change) && !holds(list[there], at)) return list.with(there, entryFor(change, at));
  if (change.list === 'bannedIps') return undefined;
  const entry = list[there] as { name?: unknown };
  // The account has been renamed.
  return entry.name === change.who.name ? undefined : list.with(there, { ...entry, name: change.who.name });
}

/**
 * Returns the entries of a list's file; empty for an empty file. Throws FAILED_PRECONDITION LIST_UNREADABLE if it is
 * not a list, because overwriting it would lose its content.
 */
export function parseList(file: string, text: string): unknown[] {
  if (text.trim() === '') return [];
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list)) return list;
    throw new Error('not a list');
  } catch (error) {
    throw unreadable(file, `${file} is not a JSON list. Fix or delete it in the file manager, then try again.`, error);
  }
}

export function formatList(list: readonly unknown[]): string {
  return `${JSON.stringify(list, null, 2)}\n`;
}

/** Returns the error for a file that cannot be used as it is: FAILED_PRECONDITION. */
export function unreadable(file: string, sentence: string, cause?: unknown): StatusError {
  return new StatusError('FAILED_PRECONDITION', 'LIST_UNREADABLE', sentence, { metadata: { file }, cause });
}

function withReason(command: string, reason: string): string {
  return reason === '' ? command : `${command} ${reason}`;
}

function isBan({ list }: PlayerChange): boolean {
  return list === 'banned' || list === 'bannedIps';
}

function holds(entry: unknown, at: number): boolean {
  return lasts(entryOf(entry as object).until, at);
}

/** Whether an entry concerns the player, by UUID or by name. Either is enough to remove a player. */
function isAbout(entry: unknown, change: PlayerChange): boolean {
  if (typeof entry !== 'object' || entry === null) return false;
  if (change.list === 'bannedIps') return addressOf(entry) === change.ip;
  const { uuid, name } = entryOf(entry);
  return name === change.who.name.toLowerCase() || (uuid !== '' && uuid === change.who.uuid);
}

/** Whether an entry is the player's, by the key that the game uses. */
function isExactly(entry: unknown, change: PlayerChange): boolean {
  if (change.list === 'bannedIps' || typeof entry !== 'object' || entry === null) return isAbout(entry, change);
  return entryOf(entry).uuid === change.who.uuid;
}

function entryFor(change: PlayerChange, at: number): object {
  if (change.list === 'bannedIps') return { ip: change.ip, ...banOf(change, at) };
  const { uuid, name } = change.who;
  if (change.list === 'banned') return { uuid, name, ...banOf(change, at) };
  return change.list === 'ops' ? { uuid, name, level: change.level, bypassesPlayerLimit: false } : { uuid, name };
}

function banOf({ reason, until }: Terms, at: number) {
  const expires = until === null ? FOREVER : gameDate(until);
  return { created: gameDate(at), source: CONSOLE, expires, reason: reason === '' ? NO_REASON : reason };
}
