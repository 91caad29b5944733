import type { Game } from '../game.ts';
import type { Player } from '../player.ts';

/** The sender of a command. */
export type Source =
  | { kind: 'console'; name: 'Server' }
  | { kind: 'rcon'; name: 'Rcon' }
  | { kind: 'player'; name: string; player: Player };

/** A command of the game. */
export interface Command {
  name: string;
  /** The text for `help`. */
  usage: string;
  /** Whether every player may use it, not only operators. */
  forAll?: boolean;
  /**
   * Whether its use is not reported to the log and other operators, because it changes nothing or reports its effect
   * itself.
   */
  silent?: boolean;
  /** Returns the reply, which may be empty or have several lines. Throws `CommandError` if the command fails. */
  run(call: Call): string;
}

/** One use of a command. */
export interface Call {
  game: Game;
  source: Source;
  /** The words after the command's name. */
  words: string[];
}

/** The command did nothing. The message is the reply, in vanilla's words. */
export class CommandError extends Error {}

/** Returns the word at an index. If it is missing, throws vanilla's reply to an incomplete command. */
export function word({ words }: Call, index: number): string {
  const found = words[index];
  if (found === undefined) throw new CommandError('Unknown or incomplete command, see below for error');
  return found;
}

/** Returns the words from an index on as one text; `otherwise` without any. */
export function rest({ words }: Call, index: number, otherwise: string): string {
  return words.slice(index).join(' ') || otherwise;
}

/** Returns the player name at an index. Throws if it is invalid. */
export function playerName(call: Call, index: number): string {
  const name = word(call, index);
  if (!/^[\x21-\x7e]{1,16}$/.test(name)) throw new CommandError('That player does not exist');
  return name;
}
