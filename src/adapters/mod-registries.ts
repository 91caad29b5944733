import type { Clock, ModRegistry } from '../ports.ts';
import { createCurseForge } from './curseforge.ts';
import { createModrinth } from './modrinth.ts';

export interface ModRegistrySettings {
  modrinthUrl: string;
  curseforgeUrl: string;
  /** '' = CurseForge is not asked. */
  curseforgeApiKey: string;
}

/** The registries that this installation may ask. */
export function openModRegistries(settings: ModRegistrySettings, clock: Clock): ModRegistry[] {
  const { modrinthUrl, curseforgeUrl, curseforgeApiKey: apiKey } = settings;
  const modrinth = createModrinth({ baseUrl: modrinthUrl, clock });
  return apiKey === '' ? [modrinth] : [modrinth, createCurseForge({ baseUrl: curseforgeUrl, apiKey, clock })];
}
