import type { Chunks } from './chunks.ts';
import type { Player } from './player.ts';
import { type World, WORLD_RADIUS } from './world.ts';

/** The radius of the chunks sent at once to a joining player, and the number of chunks sent with each tick. */
const FIRST_RADIUS = 2;
const CHUNKS_PER_TICK = 6;
/** The largest radius, regardless of the properties, because the world is flat. */
const MAX_RADIUS = 8;

/** Shows players the part of the world around them, nearest first, a few chunks a tick. */
export class View {
  readonly #chunks: Chunks;
  readonly #world: World;
  readonly radius: number;

  constructor(chunks: Chunks, world: World, viewDistance: number) {
    this.#chunks = chunks;
    this.#world = world;
    this.radius = Math.min(MAX_RADIUS, Math.max(FIRST_RADIUS, viewDistance));
  }

  /** Sends the chunks that a client needs before its player can enter. */
  begin(player: Player): void {
    const { x, z } = chunkOf(player);
    this.#moveCentre(player, x, z);
    this.#send(player, missing(player, x, z, FIRST_RADIUS));
  }

  /** Sends the next few chunks, if any are missing. */
  tick(player: Player): void {
    const { x, z } = chunkOf(player);
    const next = missing(player, x, z, this.radius).slice(0, CHUNKS_PER_TICK);
    if (next.length > 0) this.#send(player, next);
  }

  /** Updates the view after a step over a chunk's border. */
  moved(player: Player, from: { x: number; z: number }): void {
    const { x, z } = chunkOf(player);
    if (from.x >> 4 === x && from.z >> 4 === z) return;
    this.#moveCentre(player, x, z);
    for (const key of player.seen) {
      const [seenX, seenZ] = key.split(',').map(Number) as [number, number];
      if (Math.max(Math.abs(seenX - x), Math.abs(seenZ - z)) <= this.radius + 1) continue;
      player.seen.delete(key);
      this.#forget(player, seenX, seenZ);
    }
  }

  #send(player: Player, keys: string[]): void {
    const { client, protocol } = player;
    const batches = protocol.sends('chunk_batch_start');
    if (batches) client.write('chunk_batch_start', {});
    for (const key of keys) {
      const [x, z] = key.split(',').map(Number) as [number, number];
      player.seen.add(key);
      for (const [name, fields] of this.#chunks.packets(x, z)) client.write(name, fields);
    }
    if (batches) client.write('chunk_batch_finished', { batchSize: keys.length });
  }

  #forget({ client, protocol }: Player, chunkX: number, chunkZ: number): void {
    if (protocol.sends('unload_chunk')) client.write('unload_chunk', { chunkX, chunkZ });
    else client.write('map_chunk', { x: chunkX, z: chunkZ, groundUp: true, bitMap: 0, chunkData: Buffer.alloc(0) });
  }

  #moveCentre({ client, protocol }: Player, chunkX: number, chunkZ: number): void {
    if (protocol.sends('update_view_position')) client.write('update_view_position', { chunkX, chunkZ });
  }

  /** Reports whether a player may be at a position: within the world's bounds, with space above and below. */
  allows({ x, y, z }: { x: number; y: number; z: number }): boolean {
    const inside = [x, y, z].every(Number.isFinite) && Math.abs(x) <= WORLD_RADIUS && Math.abs(z) <= WORLD_RADIUS;
    return inside && y > this.#world.minY - 64 && y < 10_000;
  }
}

function chunkOf({ position }: Player): { x: number; z: number } {
  return { x: Math.floor(position.x) >> 4, z: Math.floor(position.z) >> 4 };
}

function missing(player: Player, x: number, z: number, radius: number): string[] {
  const found: { key: string; distance: number }[] = [];
  for (let dx = -radius; dx <= radius; dx++) {
    for (let dz = -radius; dz <= radius; dz++) {
      const key = `${x + dx},${z + dz}`;
      if (!player.seen.has(key)) found.push({ key, distance: dx * dx + dz * dz });
    }
  }
  return found.sort((a, b) => a.distance - b.distance).map(({ key }) => key);
}
