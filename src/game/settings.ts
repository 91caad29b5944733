import type { JvmPreset } from '../engines/jvm-options.ts';

/** An owner's settings of a server's game, part of its row. */
export interface OwnerSettings {
  /** The server software: one of `CORES`. */
  type: string;
  /** The Minecraft version; '' only if a pack or the sandbox determines it. */
  version: string;
  ramMb: number;
  jvmPreset: JvmPreset;
  /** Further options for Java, separated by spaces; '' without any. */
  jvmOptions: string;
  /** The description in the server list, in the formats of `parseMotd`; '' for the default. */
  motd: string;
  /** Entries of `server.properties`, by name; excludes those that Dormouse sets itself. */
  properties: Record<string, string>;
  /** `modrinth`, `curseforge`, `ftb`; '' without a mod pack. */
  modpackPlatform: string;
  /** The pack's slug or id on its platform. */
  modpackRef: string;
  /** The id of a pack version; '' for the newest. */
  modpackVersion: string;
}

/** A server's pack, as in its row. */
export type PackRef = Pick<OwnerSettings, 'modpackRef' | 'modpackVersion' | 'version'>;

/** The server software of an installed pack, for the server's row. */
export type PackSoftware = Pick<OwnerSettings, 'type' | 'version' | 'modpackVersion'>;
