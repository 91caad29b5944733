import nbt from 'prismarine-nbt';
import prismarineChunk from 'prismarine-chunk';
import { Vec3 } from 'vec3';
import type { Protocol } from './protocol.ts';
import type { World } from './world.ts';

/** A packet: its name and its fields. */
export type Packet = [name: string, fields: object];

/** The part of a chunk used here, in any version. */
interface Chunk {
  setBlockStateId(position: Vec3, state: number): unknown;
  setSkyLight(position: Vec3, light: number): unknown;
  getMask(): number | undefined;
  dump(mask?: number): Buffer;
  dumpBiomes?(): unknown;
  dumpLight?(): Record<string, unknown>;
  skyLightMask?: unknown;
  blockLightMask?: unknown;
}
type ChunkClass = new (bounds?: { minY: number; worldHeight: number }) => Chunk;

/** The module itself is the function. Its typings, written for another module system, declare an object with it. */
const chunkClass = prismarineChunk as unknown as (version: string) => ChunkClass;

/**
 * Encodes a world's chunks as packets. Creates the packets of an untouched chunk once, because nearly all chunks are
 * untouched.
 */
export class Chunks {
  readonly #world: World;
  readonly #protocol: Protocol;
  readonly #Chunk: ChunkClass;
  readonly #untouched: Packet[];

  constructor(world: World, protocol: Protocol) {
    this.#world = world;
    this.#protocol = protocol;
    this.#Chunk = chunkClass(protocol.data.version.minecraftVersion!);
    this.#untouched = this.#build(0, 0, false);
  }

  /** Returns the packets that show a client the current state of a chunk. */
  packets(x: number, z: number): Packet[] {
    if (this.#world.isChanged(x, z)) return this.#build(x, z, true);
    return this.#untouched.map(([name, fields]) => [name, { ...fields, ...coordinates(name, x, z) }]);
  }

  #build(x: number, z: number, changed: boolean): Packet[] {
    const { minY, height, layers } = this.#world;
    const chunk = new this.#Chunk({ minY, worldHeight: height });
    const sections = new Set([0]);
    eachColumn((dx, dz) => {
      for (const [y, state] of layers.entries()) chunk.setBlockStateId(new Vec3(dx, y, dz), state);
    });
    if (changed) {
      for (const block of this.#world.changesOf(x, z)) {
        chunk.setBlockStateId(new Vec3(block.x & 15, block.y, block.z & 15), block.state);
        sections.add(block.y >> 4);
      }
    }
    // No shadows: every section with blocks lies in full daylight.
    for (const section of sections) {
      eachColumn((dx, dz) => {
        for (let y = section * 16; y < section * 16 + 16; y++) chunk.setSkyLight(new Vec3(dx, y, dz), 15);
      });
    }
    return this.#encode(chunk, sections, x, z);
  }

  #encode(chunk: Chunk, sections: Set<number>, x: number, z: number): Packet[] {
    const mask = chunk.getMask();
    // Chunks of 1.8 always list all 16 sections, although most are empty.
    const bitMap = mask === 0xffff ? [...sections].reduce((bits, section) => bits | (1 << section), 0) : mask;
    const lightWithin = this.#protocol.supports('tallWorld');
    const fields = {
      ...coordinates('map_chunk', x, z),
      groundUp: true,
      ignoreOldData: true,
      heightmaps: this.#heightmaps(),
      bitMap,
      biomes: chunk.dumpBiomes?.(),
      chunkData: chunk.dump(bitMap),
      blockEntities: [],
      trustEdges: true,
      ...(lightWithin ? chunk.dumpLight?.() : {}),
    };
    const packets: Packet[] = [['map_chunk', fields]];
    if (!lightWithin && this.#protocol.sends('update_light')) packets.push(['update_light', this.#light(chunk, x, z)]);
    return packets;
  }

  #light(chunk: Chunk, x: number, z: number): object {
    const where = { ...coordinates('update_light', x, z), trustEdges: true };
    if (this.#protocol.supports('newLightingDataFormat')) return { ...where, ...chunk.dumpLight?.() };
    const { skyLightMask, blockLightMask } = chunk;
    return {
      ...where,
      skyLightMask,
      blockLightMask,
      emptySkyLightMask: 0,
      emptyBlockLightMask: 0,
      data: chunk.dumpLight?.(),
    };
  }

  /** Returns 256 heights, all 0, with 9 bits each. Since 1.16, no value spans two longs. */
  #heightmaps(): unknown {
    if (this.#protocol.shape('map_chunk').includes('world_surface_wg')) return [];
    const longs = this.#protocol.supports('usesLoginPacket') ? 37 : 36;
    return nbt.comp({ MOTION_BLOCKING: { type: 'longArray', value: Array.from({ length: longs }, () => [0, 0]) } });
  }
}

function coordinates(packet: string, x: number, z: number): object {
  return packet === 'map_chunk' ? { x, z } : { chunkX: x, chunkZ: z };
}

function eachColumn(visit: (x: number, z: number) => void): void {
  for (let x = 0; x < 16; x++) for (let z = 0; z < 16; z++) visit(x, z);
}
