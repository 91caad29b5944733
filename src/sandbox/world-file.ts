import { gunzipSync, gzipSync } from 'node:zlib';
import type { Blocks } from './blocks.ts';
import type { World } from './world.ts';

/**
 * The file of a world's changed blocks: gzipped JSON. `blocks` repeats x, y, z and an index into `palette`. The palette
 * holds block texts, because state ids differ between versions.
 */
interface WorldFile {
  format: 1;
  palette: string[];
  blocks: number[];
}

/** Size limit against malicious files, far above the size of any real one. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;

/** A block that the running version does not know. It is kept, so that the next save does not lose it. */
export interface UnknownBlock {
  x: number;
  y: number;
  z: number;
  text: string;
}

export function encodeWorld(world: World, blocks: Blocks, unknown: readonly UnknownBlock[]): Buffer {
  const palette = new Map<string, number>();
  const place = (text: string) => {
    const known = palette.get(text) ?? palette.size;
    palette.set(text, known);
    return known;
  };
  const texts = new Map<number, string>();
  const flat: number[] = [];
  for (const { x, y, z, state } of world.changes()) {
    const text = texts.get(state) ?? blocks.format(state);
    texts.set(state, text);
    flat.push(x, y, z, place(text));
  }
  for (const { x, y, z, text } of unknown) flat.push(x, y, z, place(text));
  const file: WorldFile = { format: 1, palette: [...palette.keys()], blocks: flat };
  return gzipSync(JSON.stringify(file), { level: 4 });
}

/**
 * Sets the blocks of a file in the world. Returns those that this version cannot use. Throws if the file is invalid.
 */
export function decodeWorld(content: Buffer, world: World, blocks: Blocks): UnknownBlock[] {
  const file = JSON.parse(gunzipSync(content, { maxOutputLength: MAX_JSON_BYTES }).toString()) as Partial<WorldFile>;
  if (
    file.format !== 1 ||
    !Array.isArray(file.palette) ||
    !Array.isArray(file.blocks) ||
    file.blocks.length % 4 !== 0
  ) {
    throw new Error('not a list of changed blocks');
  }
  const states = file.palette.map((text) => blocks.parse(text));
  const unknown: UnknownBlock[] = [];
  for (let i = 0; i < file.blocks.length; i += 4) {
    const [x, y, z, entry] = file.blocks.slice(i, i + 4) as [number, number, number, number];
    const state = states[entry];
    const text = file.palette[entry];
    if (![x, y, z].every(Number.isSafeInteger) || text === undefined) throw new Error(`no block at entry ${i / 4}`);
    if (state === undefined || !world.holds({ x, y, z })) unknown.push({ x, y, z, text });
    else world.setBlock({ x, y, z }, state);
  }
  return unknown;
}
