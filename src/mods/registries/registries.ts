import { createCache } from '../../kernel/cache.ts';
import type { Clock } from '../../kernel/clock.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { createCurseForge } from './curseforge.ts';
import { createModrinth } from './modrinth.ts';
import type { ModProject, ModRegistry } from './registry.ts';

export interface ModRegistrySettings {
  modrinthUrl: string;
  curseforgeUrl: string;
  /** '' = CurseForge is not asked. */
  curseforgeApiKey: string;
}

const SEARCHED_MS = MINUTE_MS;
const MOST_SEARCHES = 128;

/** The registries that this installation may ask. */
export function openModRegistries(settings: ModRegistrySettings, clock: Clock): ModRegistry[] {
  const { modrinthUrl, curseforgeUrl, curseforgeApiKey: apiKey } = settings;
  const modrinth = createModrinth({ baseUrl: modrinthUrl, clock });
  const all = apiKey === '' ? [modrinth] : [modrinth, createCurseForge({ baseUrl: curseforgeUrl, apiKey, clock })];
  return all.map((registry) => rememberingSearches(registry, clock));
}

/** Keeps the answers of searches for a minute. They serve everybody, so no caller's signal ends one. */
function rememberingSearches(registry: ModRegistry, clock: Clock): ModRegistry {
  const searches = createCache<ModProject[]>({ most: MOST_SEARCHES, ttlMs: () => SEARCHED_MS });
  return {
    ...registry,
    search: (query) => searches.get(JSON.stringify(query), clock.now(), () => registry.search(query)),
  };
}
