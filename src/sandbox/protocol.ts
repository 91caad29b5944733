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

  /** Throws where the data set has no such protocol. */
  constructor(version: GameVersion) {
    const data = minecraftData(version.protocol) as IndexedData | null;
    // For a number it does not have, the data set may answer with another version's.
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

  /** Whether the server can send such a packet in play. */
  sends(packet: string): boolean {
    return `packet_${packet}` in this.#clientbound;
  }

  /** Names of the fields of a packet to the client; empty for a packet whose shape has a name of its own. */
  fields(packet: string): string[] {
    const schema = this.#clientbound[`packet_${packet}`];
    if (!Array.isArray(schema) || !Array.isArray(schema[1])) return [];
    return schema[1].map((field: { name?: string }) => field.name ?? '');
  }

  /** The shape of a packet to the client as text, to look for a type or a field somewhere in it. */
  shape(packet: string): string {
    return JSON.stringify(this.#clientbound[`packet_${packet}`] ?? '');
  }

  /** The shape of an item in a slot. */
  get slotShape(): string {
    return JSON.stringify(this.#types.slot ?? this.#types.Slot ?? '');
  }
}
