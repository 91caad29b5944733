import minecraftData, { type IndexedData } from 'minecraft-data';
import type { GameVersion } from './versions.ts';

type Schemas = Record<string, unknown>;
type ProtocolData = { types: Schemas; play: { toClient: { types: Schemas } } };

/**
 * The wire format of one Minecraft version. Features are detected by the shape of its packets, not by version numbers,
 * so that unknown versions work too.
 */
export class Protocol {
  readonly version: GameVersion;
  readonly data: IndexedData;
  readonly #types: Schemas;
  readonly #clientbound: Schemas;

  /** Throws if the data set has no such protocol. */
  constructor(version: GameVersion) {
    const data = minecraftData(version.protocol) as IndexedData | null;
    // For an unknown number, the data set may return another version.
    if (data?.version.version !== version.protocol)
      throw new Error(`no protocol data for Minecraft ${version.name} (${version.protocol})`);
    const protocol = data.protocol as ProtocolData;
    this.version = version;
    this.data = data;
    this.#types = protocol.types;
    this.#clientbound = protocol.play.toClient.types;
  }

  supports(feature: string): boolean {
    return Boolean(this.data.supportFeature(feature as Parameters<IndexedData['supportFeature']>[0]));
  }

  /** Reports whether the server can send this packet in the state "play". */
  sends(packet: string): boolean {
    return `packet_${packet}` in this.#clientbound;
  }

  /** Returns the names of a packet's fields, for packets to the client; empty if its shape has its own name. */
  fields(packet: string): string[] {
    const schema = this.#clientbound[`packet_${packet}`];
    if (!Array.isArray(schema) || !Array.isArray(schema[1])) return [];
    return schema[1].map((field: { name?: string }) => field.name ?? '');
  }

  /** Returns the shape of a packet to the client as text, for finding a type or field in it. */
  shape(packet: string): string {
    return JSON.stringify(this.#clientbound[`packet_${packet}`] ?? '');
  }

  /** The shape of an item in a slot. */
  get slotShape(): string {
    return JSON.stringify(this.#types.slot ?? this.#types.Slot ?? '');
  }
}
