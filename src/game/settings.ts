/** An owner's settings of a server's game, part of its row. */
export interface OwnerSettings {
  /** The server software: one of `CORES`. */
  type: string;
  /** The version of Minecraft; '' only where a pack or the sandbox decides it. */
  version: string;
  ramMb: number;
  /** The description in the server list, in the formats of `parseMotd`; '' for the default. */
  motd: string;
  /** Entries of `server.properties`, by name; never those that Dormouse sets itself. */
  properties: Record<string, string>;
  /** `modrinth`, `curseforge`, `ftb`; '' for a server without a mod pack. */
  modpackPlatform: string;
  /** The pack's slug or id there. */
  modpackRef: string;
  /** The id of one of its versions; '' for the newest. */
  modpackVersion: string;
}

/** Which pack a server has, as in its row. */
export type PackRef = Pick<OwnerSettings, 'modpackRef' | 'modpackVersion' | 'version'>;

/** The server software that an installed pack brings, for the server's row. */
export type PackSoftware = Pick<OwnerSettings, 'type' | 'version' | 'modpackVersion'>;
