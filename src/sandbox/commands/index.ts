import type { Game } from '../game.ts';
import { ACCESS_COMMANDS } from './access.ts';
import { type Command, CommandError, type Source } from './command.ts';
import { SERVER_COMMANDS } from './server.ts';
import { whitelistCommand } from './whitelist.ts';
import { WORLD_COMMANDS } from './world.ts';

const help: Command = {
  name: 'help',
  usage: 'help',
  forAll: true,
  silent: true,
  run: ({ game, source }) => {
    const allowed = COMMANDS.filter((command) => mayUse(game, source, command));
    return allowed.map(({ usage }) => `/${usage}`).join('\n');
  },
};

const COMMANDS: Command[] = [...SERVER_COMMANDS, ...ACCESS_COMMANDS, whitelistCommand, ...WORLD_COMMANDS, help];
const BY_NAME = new Map(COMMANDS.map((command) => [command.name, command]));

/** Runs one command line, with or without a slash. Returns the reply for its sender. Never throws. */
export function runCommand(game: Game, line: string, source: Source): string {
  const text = line.trim().replace(/^\//, '');
  const [name = '', ...words] = text.split(/\s+/);
  const command = BY_NAME.get(name.replace(/^minecraft:/, ''));
  if (!command || !mayUse(game, source, command)) {
    return `Unknown or incomplete command, see below for error\n${printable(text)}<--[HERE]`;
  }
  try {
    const reply = command.run({ game, source, words });
    if (!command.silent && source.kind !== 'console') announce(game, source, reply);
    return reply;
  } catch (error) {
    if (error instanceof CommandError) return error.message;
    game.log.error(`Command exception: /${printable(text)}\n${error instanceof Error ? error.stack : String(error)}`);
    return 'An unexpected error occurred trying to execute that command';
  }
}

/** Reports an operator's command to the log and the other operators. */
function announce(game: Game, source: Source, reply: string): void {
  for (const line of reply.split('\n')) {
    game.log.info(`[${source.name}: ${line}]`);
    if (source.kind === 'rcon' && !game.properties.is('broadcast-rcon-to-ops')) continue;
    for (const player of game.players.values()) {
      const isSource = source.kind === 'player' && source.player === player;
      if (!isSource && game.isOperator(player)) player.tell(`[${source.name}: ${line}]`);
    }
  }
}

function mayUse(game: Game, source: Source, command: Command): boolean {
  return source.kind !== 'player' || command.forAll === true || game.isOperator(source.player);
}

function printable(text: string): string {
  return text.slice(0, 256).replaceAll(/\p{Cc}/gu, '?');
}
