import type { Game } from '../game.ts';
import { sameName } from '../player-lists.ts';
import { profileOf } from './access.ts';
import { type Call, type Command, CommandError, playerName, word } from './command.ts';

const actions: Record<string, (call: Call) => string> = {
  on: (call) => turn(call, 'on'),
  off: (call) => turn(call, 'off'),
  add,
  remove,
  list,
  reload,
};

/** `whitelist on|off|add|remove|list|reload`; `reload` also reloads operators and bans. */
export const whitelistCommand: Command = {
  name: 'whitelist',
  usage: 'whitelist (add|list|off|on|reload|remove)',
  run: (call) => {
    const action = actions[word(call, 0)];
    if (!action) throw new CommandError(`Incorrect argument for command\nwhitelist ${word(call, 0)}<--[HERE]`);
    return action(call);
  },
};

function turn({ game }: Call, to: 'on' | 'off'): string {
  const wanted = to === 'on';
  if (game.properties.is('white-list') === wanted) throw new CommandError(`Whitelist is already turned ${to}`);
  game.properties.set('white-list', String(wanted));
  enforce(game);
  return `Whitelist is now turned ${to}`;
}

function add(call: Call): string {
  const { game } = call;
  const profile = profileOf(game, playerName(call, 1));
  if (game.lists.whitelist.entries.some(({ name }) => sameName(name, profile.name))) {
    throw new CommandError('Player is already whitelisted');
  }
  game.lists.whitelist.add(profile);
  return `Added ${profile.name} to the whitelist`;
}

function remove(call: Call): string {
  const name = playerName(call, 1);
  const removed = call.game.lists.whitelist.remove((entry) => sameName(entry.name, name));
  if (!removed) throw new CommandError('Player is not whitelisted');
  enforce(call.game);
  return `Removed ${removed.name} from the whitelist`;
}

function list({ game }: Call): string {
  const names = game.lists.whitelist.entries.map(({ name }) => name);
  if (names.length === 0) return 'There are no whitelisted players';
  return `There are ${names.length} whitelisted player(s): ${names.join(', ')}`;
}

function reload({ game }: Call): string {
  game.lists.reload();
  enforce(game);
  return 'Reloaded the whitelist';
}

/** Kicks players who are not on the whitelist, if `enforce-whitelist` is on. */
function enforce(game: Game): void {
  if (!game.properties.is('white-list') || !game.properties.is('enforce-whitelist')) return;
  for (const player of game.players.values()) {
    if (!game.lists.isWhitelisted(player)) player.kick('You are not white-listed on this server!');
  }
}
