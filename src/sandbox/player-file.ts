import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Blocks } from './blocks.ts';
import { writeAtomic } from './files.ts';
import type { Log } from './log.ts';
import type { Player } from './player.ts';
import type { Protocol } from './protocol.ts';
import type { View } from './view.ts';

/** A stored player. Items are stored by name, because their numbers differ between versions. */
interface PlayerFile {
  position: { x: number; y: number; z: number };
  inventory: { slot: number; item: string; damage: number; count: number }[];
}

/** The parts of the game that these functions need. */
interface Surroundings {
  protocol: Protocol;
  blocks: Blocks;
  view: View;
  log: Log;
}

/** Restores a player's position and inventory. Logs an invalid file and ignores it. */
export function loadPlayer(directory: string, player: Player, { protocol, view, log }: Surroundings): void {
  const path = fileOf(directory, player);
  if (!existsSync(path)) return;
  try {
    const { position, inventory } = JSON.parse(readFileSync(path, 'utf8')) as PlayerFile;
    if (view.allows(position)) player.position = { x: position.x, y: position.y, z: position.z };
    for (const { slot, item, damage, count } of inventory) {
      const id = protocol.data.itemsByName[item]?.id;
      if (id !== undefined) player.inventory.set(slot, { id, damage, count });
    }
  } catch (error) {
    log.warn(`Failed to load player data for ${player.name}: ${String(error)}`);
  }
}

/** Throws the file system's error. */
export function savePlayer(directory: string, player: Player, { protocol }: Surroundings): void {
  const inventory = player.inventory.all().flatMap((stack, slot) => {
    const item = stack && protocol.data.items[stack.id]?.name;
    return stack && item ? [{ slot, item, damage: stack.damage, count: stack.count }] : [];
  });
  const file: PlayerFile = { position: player.position, inventory };
  writeAtomic(fileOf(directory, player), JSON.stringify(file));
}

function fileOf(directory: string, { uuid }: Player): string {
  return join(directory, 'playerdata', `${uuid}.json`);
}
