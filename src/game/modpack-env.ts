import { EngineError } from '../engines/engine.ts';
import type { OwnerSettings } from './settings.ts';

/** Names of the mod packs' sources. */
const PLATFORM_NAMES: Readonly<Record<string, string>> = { modrinth: 'Modrinth', curseforge: 'CurseForge', ftb: 'FTB' };

/** Returns the name of a source of mods and packs, such as `Modrinth`. */
export function platformName(platform: string): string {
  return PLATFORM_NAMES[platform] ?? platform;
}

type Pack = Pick<OwnerSettings, 'modpackPlatform' | 'modpackRef' | 'modpackVersion' | 'version'>;

/** Pattern of pack names that may be passed to the image. */
export const SLUG = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;
const NUMBER = /^[0-9]{1,12}$/;

/**
 * Returns the game image's variables for a server's mod pack; empty without one. Accepts only ids from the platform's
 * registry, because the image would also download URLs, paths and lists given in these variables. Throws EngineError
 * `install_failed` for anything else.
 */
export function modpackEnv(row: Pack): Record<string, string> {
  if (row.modpackPlatform === '') return {};
  // A pinned pack version determines the Minecraft version; otherwise the server's version narrows the choice.
  const VERSION = row.modpackVersion === '' && row.version !== '' ? row.version : 'LATEST';
  switch (row.modpackPlatform.toLowerCase()) {
    case 'modrinth':
      return {
        VERSION,
        MODPACK_PLATFORM: 'MODRINTH',
        MODRINTH_MODPACK: valid(row.modpackRef, SLUG),
        ...optional('MODRINTH_VERSION', row.modpackVersion, SLUG),
      };
    case 'curseforge':
      return {
        VERSION,
        MODPACK_PLATFORM: 'AUTO_CURSEFORGE',
        CF_SLUG: valid(row.modpackRef, SLUG),
        ...optional('CF_FILE_ID', row.modpackVersion, NUMBER),
      };
    case 'ftb':
      return {
        VERSION,
        MODPACK_PLATFORM: 'FTBA',
        FTB_MODPACK_ID: valid(row.modpackRef, NUMBER),
        ...optional('FTB_MODPACK_VERSION_ID', row.modpackVersion, NUMBER),
      };
    default:
      throw new EngineError('install_failed', `There is no mod pack platform called "${row.modpackPlatform}".`);
  }
}

function optional(name: string, id: string, pattern: RegExp): Record<string, string> {
  return id === '' ? {} : { [name]: valid(id, pattern) };
}

function valid(id: string, pattern: RegExp): string {
  if (pattern.test(id)) return id;
  throw new EngineError('install_failed', `"${id}" does not name a mod pack.`, {
    suggestion: 'Choose the mod pack again from the catalogue.',
  });
}
