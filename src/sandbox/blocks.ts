import type { IndexedBlock, IndexedData } from 'minecraft-data';

/** One property of a block's states, as in `oak_log[axis=x]`. */
interface StateProperty {
  name: string;
  values: string[];
}

/**
 * The blocks of one version: their state ids, used in packets, and their texts, used in files and commands. Before
 * 1.13, a state is a block id and four bits of data, as in `wool[data=14]`.
 */
export class Blocks {
  readonly #data: IndexedData;

  constructor(data: IndexedData) {
    this.#data = data;
  }

  /**
   * Parses a text such as `minecraft:oak_log[axis=x]` and returns the state; undefined if it is unknown. Omitted
   * properties have their defaults.
   */
  parse(text: string): number | undefined {
    const match = /^(?:minecraft:)?([a-z0-9_]+)(?:\[([a-z0-9_=,]*)\])?$/.exec(text);
    const block = match && this.#data.blocksByName[match[1]!];
    if (!block) return undefined;
    const wanted = new Map(
      (match[2] ?? '').split(',').flatMap((pair) => (pair ? [pair.split('=') as [string, string]] : [])),
    );
    return this.#withProperties(block, wanted);
  }

  /** Returns the text of a state, which `parse` converts back. Omits properties with default values. */
  format(state: number): string {
    const block = this.#block(state);
    if (!block) return 'air';
    const defaults = indexes(block, block.defaultState);
    const values = indexes(block, state);
    const named = propertiesOf(block).flatMap(({ name, values: texts }, i) =>
      values[i] === defaults[i] ? [] : [`${name}=${texts[values[i]!]}`],
    );
    return named.length > 0 ? `${block.name}[${named.join(',')}]` : block.name;
  }

  /** Returns the default state of the first of these blocks that this version has. Throws if it has none. */
  first(...names: string[]): number {
    for (const name of names) {
      const block = this.#data.blocksByName[name];
      if (block) return block.defaultState;
    }
    throw new Error(`this version has none of the blocks ${names.join(', ')}`);
  }

  isAir(state: number): boolean {
    return /^(cave_|void_)?air$/.test(this.#block(state)?.name ?? 'air');
  }

  /** Reports whether a player can dig the block by hand (not bedrock, for example). */
  isDiggable(state: number): boolean {
    return this.#block(state)?.diggable ?? false;
  }

  /** Reports whether the first hit breaks the block. */
  isInstant(state: number): boolean {
    return this.#block(state)?.hardness === 0;
  }

  /**
   * Returns the block that an item (by id and, before 1.13, damage) becomes when placed against `face` (0–5); undefined
   * if it is not a block.
   */
  placedBy(itemId: number, damage: number, face: number): number | undefined {
    const name = this.#data.items[itemId]?.name ?? this.#data.blocks[itemId]?.name;
    const block = name === undefined ? undefined : this.#data.blocksByName[name];
    if (!block) return undefined;
    const axis = ['y', 'y', 'z', 'z', 'x', 'x'][face] ?? 'y';
    return this.#withProperties(
      block,
      new Map([
        ['axis', axis],
        ['data', String(damage)],
      ]),
      true,
    );
  }

  /** Returns the item of a block for a player's inventory; undefined if it has none. */
  itemOf(state: number): { id: number; damage: number } | undefined {
    const block = this.#block(state);
    const item = block && this.#data.itemsByName[block.name];
    if (!item) return undefined;
    return { id: item.id, damage: block.states ? 0 : state - block.minStateId };
  }

  #block(state: number): IndexedBlock | undefined {
    return this.#data.blocksByStateId[state];
  }

  #withProperties(block: IndexedBlock, wanted: Map<string, string>, lenient = false): number | undefined {
    const properties = propertiesOf(block);
    const known = new Set(properties.map(({ name }) => name));
    if (!lenient && [...wanted.keys()].some((name) => !known.has(name))) return undefined;
    const values = indexes(block, block.defaultState);
    let offset = 0;
    for (const [i, { name, values: texts }] of properties.entries()) {
      const text = wanted.get(name);
      const value = text === undefined ? values[i]! : texts.indexOf(text);
      if (value < 0 && !lenient) return undefined;
      offset = offset * texts.length + (value < 0 ? values[i]! : value);
    }
    return block.minStateId + offset;
  }
}

/**
 * Returns the index of each property's value. State ids count through the properties like digits, the last one fastest.
 */
function indexes(block: IndexedBlock, state: number): number[] {
  let rest = state - block.minStateId;
  const digits: number[] = [];
  for (const { values } of propertiesOf(block).toReversed()) {
    digits.unshift(rest % values.length);
    rest = Math.floor(rest / values.length);
  }
  return digits;
}

function propertiesOf(block: IndexedBlock): StateProperty[] {
  if (!block.states) return [{ name: 'data', values: Array.from({ length: 16 }, (_, i) => String(i)) }];
  return block.states.map(({ name, type, num_values: count, values }) => ({
    name,
    values:
      values?.map(String) ?? (type === 'bool' ? ['true', 'false'] : Array.from({ length: count }, (_, i) => String(i))),
  }));
}
