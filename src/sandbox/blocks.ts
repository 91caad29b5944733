import type { IndexedBlock, IndexedData } from 'minecraft-data';

/** One property of a block's states, as in `oak_log[axis=x]`. */
interface StateProperty {
  name: string;
  values: string[];
}

/**
 * Blocks of one version: state ids (what packets carry) and their texts (what files and commands carry). Before 1.13
 * a state is a block id and four bits of data: the text is `wool[data=14]`.
 */
export class Blocks {
  readonly #data: IndexedData;

  constructor(data: IndexedData) {
    this.#data = data;
  }

  /** The state of a text such as `minecraft:oak_log[axis=x]`; unnamed properties as in the block's default state. */
  parse(text: string): number | undefined {
    const match = /^(?:minecraft:)?([a-z0-9_]+)(?:\[([a-z0-9_=,]*)\])?$/.exec(text);
    const block = match && this.#data.blocksByName[match[1]!];
    if (!block) return undefined;
    const wanted = new Map(
      (match[2] ?? '').split(',').flatMap((pair) => (pair ? [pair.split('=') as [string, string]] : [])),
    );
    return this.#withProperties(block, wanted);
  }

  /** The text of a state; `parse` of it gives the state back. Properties at their defaults are left out. */
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

  /** The state of the first of these blocks this version has. */
  first(...names: string[]): number {
    for (const name of names) {
      const block = this.#data.blocksByName[name];
      if (block) return block.defaultState;
    }
    throw new Error(`none of the blocks ${names.join(', ')}`);
  }

  isAir(state: number): boolean {
    return /^(cave_|void_)?air$/.test(this.#block(state)?.name ?? 'air');
  }

  /** Whether a tool-less hand can dig it at all (bedrock: no). */
  isDiggable(state: number): boolean {
    return this.#block(state)?.diggable ?? false;
  }

  /** Whether a player's first blow breaks it. */
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

  /** The item that is this block, as a player's inventory holds it. */
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

/** State ids count through the properties like digits, the last property fastest. */
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
