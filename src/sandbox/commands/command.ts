import type { Game } from '../game.ts';
import type { Player } from '../player.ts';

/** The sender of a command. */
export type Source =
  | { kind: 'console'; name: 'Server' }
  | { kind: 'rcon'; name: 'Rcon' }
  | { kind: 'player'; name: string; player: Player };

/** One command: what it is called, and what it does. */
export interface Command {
  name: string;
  /** As `help` shows it. */
  usage: string;
  /** May be given by any player, not operators only. */
  forAll?: boolean;
  /** Others in charge are not told of it: it changes nothing, or says itself what it did. */
  silent?: boolean;
  /** The reply, lines separated by newlines; may be empty. Throws `CommandError` where the command failed. */
  run(call: Call): string;
}

/** One use of a command. */
export interface Call {
  game: Game;
  source: Source;
  /** The words after the command's name. */
  words: string[];
}

/** A command that did nothing; the message is the reply, in vanilla's words. */
export class CommandError extends Error {}

/** The word at an index; without one the reply is vanilla's for a command that is not complete. */
export function word({ words }: Call, index: number): string {
  const found = words[index];
  if (found === undefined) throw new CommandError('Unknown or incomplete command, see below for error');
  return found;
}

/** The words from an index on as one text. */
export function rest({ words }: Call, index: number, otherwise: string): string {
  return words.slice(index).join(' ') || otherwise;
}

/** The name at an index, fit for a list of players. */
export function playerName(call: Call, index: number): string {
  const name = word(call, index);
  if (!/^[\x21-\x7e]{1,16}$/.test(name)) throw new CommandError('That player does not exist');
  return name;
}
