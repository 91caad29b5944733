import type { Profile } from '../../engines/console/profile.ts';
import { StatusError } from '../../kernel/status.ts';
import { FOREVER, NO_REASON, gameDate, lasts, reasonOf } from './ban-ends.ts';
import { addressOf, entryOf } from './files.ts';

/** The files of the lists a game keeps of its players. */
export const PLAYER_LISTS = {
  whitelist: 'whitelist.json',
  ops: 'ops.json',
  banned: 'banned-players.json',
  bannedIps: 'banned-ips.json',
} as const;

export type PlayerList = keyof typeof PLAYER_LISTS;

/** A player who is to be on a list: as the game would know them. For one who is to go, `uuid` may be ''. */
interface Listed {
  who: Profile;
  listed: boolean;
}

/** Why somebody is banned, '' for the game's own reason, and until when: epoch ms; null for ever. */
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

/** The game's name for a sender of console commands. */
const CONSOLE = 'Rcon';

/** The console command that makes the change in a running game. */
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

/** The console command that lifts a player's ban. */
export function pardonCommand(name: string): string {
  return `pardon ${name}`;
}

/** The console command that lifts the ban of an address. */
export function pardonIpCommand(ip: string): string {
  return `pardon-ip ${ip}`;
}

/** The console command that kicks a player. */
export function kickCommand(name: string, reason: string): string {
  return withReason(`kick ${name}`, reason);
}

/**
 * Whether a list that the game has written shows the change. The game may know the player by another UUID than we do.
 */
export function isAsWanted(list: readonly unknown[], change: PlayerChange, at: number): boolean {
  return list.some((entry) => isAbout(entry, change) && (!isBan(change) || holds(entry, at))) === change.listed;
}

/** Whether somebody is to be banned. */
export function isNewBan(change: PlayerChange): boolean {
  return change.listed && isBan(change);
}

/** Whether a running game still bans who is to be banned anew, as it does not know that the ban has ended. */
export function isEnded(list: readonly unknown[], change: PlayerChange, at: number): boolean {
  return list.some((entry) => isAbout(entry, change) && entryOf(entry as object).endsByReason && !holds(entry, at));
}

/**
 * The list with the change; undefined where nothing changes. An entry that is there already keeps all its fields; a ban
 * that has ended is replaced by a new one.
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
  // The account has another name by now.
  return entry.name === change.who.name ? undefined : list.with(there, { ...entry, name: change.who.name });
}

/**
 * The entries of a list's file. What the game would read as nothing is empty. FAILED_PRECONDITION LIST_UNREADABLE for
 * what is not a list, as writing over it would lose its content.
 */
export function parseList(file: string, text: string): unknown[] {
  if (text.trim() === '') return [];
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list)) return list;
    throw new Error('not a list');
  } catch (error) {
    throw unreadable(
      file,
      `${file} is not a list in JSON. Mend or delete it in the file manager, then try again.`,
      error,
    );
  }
}

export function formatList(list: readonly unknown[]): string {
  return `${JSON.stringify(list, null, 2)}\n`;
}

/** FAILED_PRECONDITION: a file of the game cannot be used as it is. */
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

/** Whether an entry is about the player, by UUID or by name: either is enough to take a player off a list. */
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
