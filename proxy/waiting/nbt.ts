/**
 * The values that the proxy writes as NBT: text, 32-bit integers, booleans, lists of one type, and compounds. Undefined
 * fields of compounds are omitted.
 */
export type Nbt = string | number | boolean | readonly Nbt[] | NbtCompound;

export interface NbtCompound {
  readonly [name: string]: Nbt | undefined;
}

const TAG = { end: 0, byte: 1, int: 3, string: 8, list: 9, compound: 10 } as const;
const STRING_BYTES = 0xffff;

/**
 * Encodes `root` as in packets since 1.20.2: type and content, without a name. Throws RangeError if a string or number
 * is too large, and TypeError if a list mixes types.
 */
export function encodeNbt(root: NbtCompound): Buffer {
  const parts: Buffer[] = [Buffer.from([TAG.compound])];
  writeContent(root, parts);
  return Buffer.concat(parts);
}

function tagOf(value: Nbt): number {
  if (typeof value === 'string') return TAG.string;
  if (typeof value === 'boolean') return TAG.byte;
  if (typeof value === 'number') return TAG.int;
  return Array.isArray(value) ? TAG.list : TAG.compound;
}

function writeContent(value: Nbt, parts: Buffer[]): void {
  if (typeof value === 'string') writeString(value, parts);
  else if (typeof value === 'boolean') parts.push(Buffer.from([value ? 1 : 0]));
  else if (typeof value === 'number') parts.push(int(value));
  else if (isList(value)) writeList(value, parts);
  else writeFields(value, parts);
}

function isList(value: readonly Nbt[] | NbtCompound): value is readonly Nbt[] {
  return Array.isArray(value);
}

function writeList(items: readonly Nbt[], parts: Buffer[]): void {
  const [first] = items;
  const tag = first === undefined ? TAG.end : tagOf(first);
  parts.push(Buffer.from([tag]), int(items.length));
  for (const item of items) {
    if (tagOf(item) !== tag) throw new TypeError('a list with items of different types');
    writeContent(item, parts);
  }
}

function writeFields(fields: NbtCompound, parts: Buffer[]): void {
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    parts.push(Buffer.from([tagOf(value)]));
    writeString(name, parts);
    writeContent(value, parts);
  }
  parts.push(Buffer.from([TAG.end]));
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function writeString(text: string, parts: Buffer[]): void {
  const bytes = modifiedUtf8(text);
  if (bytes.length > STRING_BYTES) throw new RangeError(`a string of ${bytes.length} bytes`);
  parts.push(Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes);
}

/** Encodes Java's modified UTF-8: each UTF-16 unit separately, without zero bytes. */
function modifiedUtf8(text: string): Buffer {
  const bytes: number[] = [];
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit > 0 && unit < 0x80) bytes.push(unit);
    else if (unit < 0x800) bytes.push(0xc0 | (unit >> 6), 0x80 | (unit & 0x3f));
    else bytes.push(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f));
  }
  return Buffer.from(bytes);
}
