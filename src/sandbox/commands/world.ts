import type { BlockPosition } from '../world.ts';
import { type Call, type Command, CommandError, word } from './command.ts';

const TIMES_OF_DAY: Record<string, number> = { day: 1_000, noon: 6_000, night: 13_000, midnight: 18_000 };
const DAY_TICKS = 24_000;
const MAX_GIVEN = 6_400;

/** Commands for the world: saving, time, blocks and items. */
export const WORLD_COMMANDS: Command[] = [
  { name: 'save-all', usage: 'save-all [flush]', run: saveAll },
  { name: 'save-off', usage: 'save-off', run: saveOff },
  { name: 'save-on', usage: 'save-on', run: saveOn },
  { name: 'seed', usage: 'seed', silent: true, run: () => 'Seed: [0]' },
  { name: 'time', usage: 'time (add|query|set)', run: time },
  { name: 'setblock', usage: 'setblock <pos> <block>', run: setBlock },
  { name: 'give', usage: 'give <targets> <item> [<count>]', run: give },
];

function saveAll({ game }: Call): string {
  try {
    game.save();
  } catch (error) {
    game.log.error(`Failed to save the game: ${String(error)}`);
    throw new CommandError('Unable to save the game (is there enough disk space?)');
  }
  return 'Saving the game (this may take a moment!)\nSaved the game';
}

function saveOff({ game }: Call): string {
  if (!game.storage.automatic) throw new CommandError('Saving is already turned off');
  game.storage.automatic = false;
  return 'Automatic saving is now disabled';
}

function saveOn({ game }: Call): string {
  if (game.storage.automatic) throw new CommandError('Saving is already turned on');
  game.storage.resume();
  return 'Automatic saving is now enabled';
}

function time(call: Call): string {
  const { storage } = call.game;
  const action = word(call, 0);
  if (action === 'query') {
    const asked = word(call, 1);
    const answers: Record<string, number> = {
      daytime: storage.dayTicks,
      gametime: storage.ageTicks,
      day: Math.floor(storage.ageTicks / DAY_TICKS),
    };
    return `The time is ${answers[asked] ?? incorrect(call, 1)}`;
  }
  const text = word(call, 1);
  const ticks = TIMES_OF_DAY[text] ?? (/^\d{1,9}$/.test(text) ? Number(text) : incorrect(call, 1));
  if (action === 'set') storage.dayTicks = ticks % DAY_TICKS;
  else if (action === 'add') storage.dayTicks = (storage.dayTicks + ticks) % DAY_TICKS;
  else incorrect(call, 0);
  return `Set the time to ${action === 'set' ? ticks : storage.dayTicks}`;
}

function setBlock(call: Call): string {
  const { game } = call;
  const position = parsePosition(call);
  const text = word(call, 3);
  const legacyData = /^\d{1,2}$/.test(call.words[4] ?? '') ? `[data=${call.words[4]}]` : '';
  const state = game.blocks.parse(text + legacyData);
  if (state === undefined) throw new CommandError(`Unknown block type '${text}'`);
  if (!game.world.holds(position)) throw new CommandError('That position is not loaded');
  if (!game.setBlock(position, state)) throw new CommandError('Could not set the block');
  return `Changed the block at ${position.x}, ${position.y}, ${position.z}`;
}

function give(call: Call): string {
  const { game, source } = call;
  const name = word(call, 0);
  const player = name === '@s' && source.kind === 'player' ? source.player : game.online(name);
  if (!player) throw new CommandError('No player was found');
  const text = word(call, 1).replace(/^minecraft:/, '');
  const item = game.protocol.data.itemsByName[text];
  if (!item) throw new CommandError(`Unknown item 'minecraft:${text}'`);
  const count = Number(call.words[2] ?? 1);
  if (!Number.isInteger(count) || count < 1 || count > MAX_GIVEN) incorrect(call, 2);
  player.showSlots(player.inventory.give(item.id, 0, count));
  return `Gave ${count} [${item.displayName}] to ${player.name}`;
}

/** Parses three coordinates. `~` stands for the position of the player who sends the command (0 for the console). */
function parsePosition(call: Call): BlockPosition {
  const { source } = call;
  const here = source.kind === 'player' ? source.player.position : { x: 0, y: 0, z: 0 };
  const coordinate = (index: number, base: number) => {
    const match = /^(~?)(-?\d{1,8})?$/.exec(word(call, index));
    if (!match || (!match[1] && !match[2])) incorrect(call, index);
    return Math.floor(match?.[1] ? base : 0) + Number(match?.[2] ?? 0);
  };
  return { x: coordinate(0, here.x), y: coordinate(1, here.y), z: coordinate(2, here.z) };
}

function incorrect(call: Call, index: number): never {
  throw new CommandError(`Incorrect argument for command\n${word(call, index)}<--[HERE]`);
}
