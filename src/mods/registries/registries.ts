import { createCache } from '../../kernel/cache.ts';
import type { Clock } from '../../kernel/clock.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { createCurseForge } from './curseforge.ts';
import { createModrinth } from './modrinth.ts';
import type { ModProject, ModRegistry } from './registry.ts';

export interface ModRegistrySettings {
  modrinthUrl: string;
  curseforgeUrl: string;
  /** '' disables CurseForge. */
  curseforgeApiKey: string;
}

const SEARCHED_MS = MINUTE_MS;
const MOST_SEARCHES = 128;

/** Opens the registries enabled in this installation. */
export function openModRegistries(settings: ModRegistrySettings, clock: Clock): ModRegistry[] {
  const { modrinthUrl, curseforgeUrl, curseforgeApiKey: apiKey } = settings;
  const modrinth = createModrinth({ baseUrl: modrinthUrl, clock });
  const all = apiKey === '' ? [modrinth] : [modrinth, createCurseForge({ baseUrl: curseforgeUrl, apiKey, clock })];
  return all.map((registry) => rememberingSearches(registry, clock));
}

/** Caches search results for a minute. They are shared, so a caller's signal does not abort a search. */
function rememberingSearches(registry: ModRegistry, clock: Clock): ModRegistry {
  const searches = createCache<ModProject[]>({ most: MOST_SEARCHES, ttlMs: () => SEARCHED_MS });
  return {
    ...registry,
    search: (query) => searches.get(JSON.stringify(query), clock.now(), () => registry.search(query)),
  };
}
