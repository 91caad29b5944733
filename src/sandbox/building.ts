import type { Game } from './game.ts';
import type { Player } from './player.ts';
import type { BlockPosition } from './world.ts';

/** A player's reach, in blocks. Generous, because client and server never agree exactly on the player's position. */
const REACH = 8;
const DIG_STARTED = 0;
const DIG_FINISHED = 2;

/** Offsets of the faces 0 (down) to 5 (east). */
const FACES = [
  { x: 0, y: -1, z: 0 },
  { x: 0, y: 1, z: 0 },
  { x: 0, y: 0, z: -1 },
  { x: 0, y: 0, z: 1 },
  { x: -1, y: 0, z: 0 },
  { x: 1, y: 0, z: 0 },
];

/** The packet "block dig" of any version. */
export interface DigPacket {
  status: number;
  location: BlockPosition;
  sequence?: number;
}

/** The packet "block place" of any version. A direction outside 0 to 5 means that an item was used without a target. */
export interface PlacePacket {
  location: BlockPosition;
  direction: number;
  hand?: number | string;
  sequence?: number;
}

/**
 * Handles a dig. In creative mode, the first hit breaks the block. In survival mode, the last one does, and the player
 * gets the block.
 */
export function dig(game: Game, player: Player, { status, location, sequence }: DigPacket): void {
  const { blocks, world } = game;
  if (status === DIG_STARTED || status === DIG_FINISHED) {
    const state = world.blockAt(location);
    const breaks = status === DIG_FINISHED || player.isCreative || blocks.isInstant(state);
    const allowed =
      mayBuild(game, player, location) && !blocks.isAir(state) && (player.isCreative || blocks.isDiggable(state));
    const broken = breaks && allowed && game.setBlock(location, world.air);
    if (broken && !player.isCreative) collect(game, player, state);
    if (!broken && (breaks || !allowed)) game.showBlock(player, location);
  }
  acknowledge(game, player, location, status, sequence);
}

/** Places the block in a player's hand against another one. Always sends the real result to the client. */
export function place(game: Game, player: Player, { location, direction, hand, sequence }: PlacePacket): void {
  const face = FACES[direction];
  if (face) {
    const target = { x: location.x + face.x, y: location.y + face.y, z: location.z + face.z };
    const slot = player.inventory.slotOfHand(hand === 1 || hand === 'off_hand' ? 1 : 0);
    const stack = player.inventory.get(slot);
    const state = stack && game.blocks.placedBy(stack.id, stack.damage, direction);
    const free = mayBuild(game, player, target) && game.blocks.isAir(game.world.blockAt(target));
    const against = !game.blocks.isAir(game.world.blockAt(location));
    game.showBlock(player, location);
    if (state !== undefined && free && against && game.setBlock(target, state)) {
      if (!player.isCreative) player.inventory.set(slot, { ...stack!, count: stack!.count - 1 });
    } else {
      game.showBlock(player, target);
    }
    player.showSlots([slot]);
  }
  if (sequence !== undefined) player.client.write('acknowledge_player_digging', { sequenceId: sequence });
}

function mayBuild(game: Game, player: Player, { x, y, z }: BlockPosition): boolean {
  if (player.mode === 'adventure' || player.mode === 'spectator') return false;
  const eye = player.position.y + 1.6;
  const distance = Math.hypot(x + 0.5 - player.position.x, y + 0.5 - eye, z + 0.5 - player.position.z);
  return game.world.holds({ x, y, z }) && distance <= REACH;
}

function collect(game: Game, player: Player, state: number): void {
  const item = game.blocks.itemOf(state);
  if (item) player.showSlots(player.inventory.give(item.id, item.damage, 1));
}

function acknowledge(
  game: Game,
  player: Player,
  location: BlockPosition,
  status: number,
  sequence: number | undefined,
): void {
  const { protocol } = player;
  if (!protocol.sends('acknowledge_player_digging')) return;
  if (protocol.fields('acknowledge_player_digging').includes('sequenceId')) {
    player.client.write('acknowledge_player_digging', { sequenceId: sequence ?? 0 });
  } else if (game.world.holds(location)) {
    const block = game.world.blockAt(location);
    player.client.write('acknowledge_player_digging', { location, block, status, successful: true });
  }
}
