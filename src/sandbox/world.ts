import type { Blocks } from './blocks.ts';

/** A block's position, in whole numbers. */
export interface BlockPosition {
  x: number;
  y: number;
  z: number;
}

/** The y above the topmost layer of the flat world, where players stand. */
export const SURFACE_Y = 4;

/**
 * Limits for memory and file size: how far from the centre blocks can be changed, and the number of changes in a world.
 */
export const WORLD_RADIUS = 30_000;
const MAX_CHANGES = 500_000;

/**
 * A flat world (bedrock, two layers of dirt, grass) and the blocks that players changed in it. Stores only the changes,
 * and drops those that restore the original block.
 */
export class World {
  readonly minY: number;
  readonly height: number;
  readonly #layers: number[];
  readonly #air: number;
  readonly #chunks = new Map<string, Map<number, number>>();
  #size = 0;

  /** `tall`: the world reaches from y = -64 to 319 (since Minecraft 1.18), otherwise from 0 to 255. */
  constructor(blocks: Blocks, tall: boolean) {
    this.minY = tall ? -64 : 0;
    this.height = tall ? 384 : 256;
    this.#air = blocks.first('air');
    this.#layers = [
      blocks.first('bedrock'),
      blocks.first('dirt'),
      blocks.first('dirt'),
      blocks.first('grass_block', 'grass'),
    ];
  }

  /** The states of the untouched world's layers, from y = 0 up. Above them is air. */
  get layers(): readonly number[] {
    return this.#layers;
  }

  get air(): number {
    return this.#air;
  }

  /** Number of changed blocks. */
  get size(): number {
    return this.#size;
  }

  holds({ x, y, z }: BlockPosition): boolean {
    const inside = Math.abs(x) <= WORLD_RADIUS && Math.abs(z) <= WORLD_RADIUS;
    return inside && y >= this.minY && y < this.minY + this.height;
  }

  blockAt(position: BlockPosition): number {
    return (
      this.#chunks.get(chunkKey(position.x >> 4, position.z >> 4))?.get(this.#index(position)) ?? this.#flat(position.y)
    );
  }

  /**
   * Sets a block. Returns false if it has this state already, is outside the world, or if the world has too many
   * changes.
   */
  setBlock(position: BlockPosition, state: number): boolean {
    if (!this.holds(position) || this.blockAt(position) === state) return false;
    const key = chunkKey(position.x >> 4, position.z >> 4);
    const changes = this.#chunks.get(key) ?? new Map<number, number>();
    if (state === this.#flat(position.y)) {
      changes.delete(this.#index(position));
      this.#size--;
      if (changes.size === 0) this.#chunks.delete(key);
      return true;
    }
    if (!changes.has(this.#index(position))) {
      if (this.#size >= MAX_CHANGES) return false;
      this.#size++;
    }
    changes.set(this.#index(position), state);
    this.#chunks.set(key, changes);
    return true;
  }

  isChanged(chunkX: number, chunkZ: number): boolean {
    return this.#chunks.has(chunkKey(chunkX, chunkZ));
  }

  /** Yields the changed blocks of one chunk. */
  *changesOf(chunkX: number, chunkZ: number): Generator<BlockPosition & { state: number }> {
    for (const [index, state] of this.#chunks.get(chunkKey(chunkX, chunkZ)) ?? []) {
      yield { x: chunkX * 16 + (index & 15), y: (index >> 8) + this.minY, z: chunkZ * 16 + ((index >> 4) & 15), state };
    }
  }

  /** Yields all changed blocks. */
  *changes(): Generator<BlockPosition & { state: number }> {
    for (const key of this.#chunks.keys()) {
      const [chunkX, chunkZ] = key.split(',').map(Number) as [number, number];
      yield* this.changesOf(chunkX, chunkZ);
    }
  }

  #flat(y: number): number {
    return this.#layers[y] ?? this.#air;
  }

  #index({ x, y, z }: BlockPosition): number {
    return ((y - this.minY) << 8) | ((z & 15) << 4) | (x & 15);
  }
}

function chunkKey(chunkX: number, chunkZ: number): string {
  return `${chunkX},${chunkZ}`;
}
