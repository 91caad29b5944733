/**
 * Keeps the mods named by a server's rows in its folder, with verified checksums. Never replaces or removes a file that
 * this service has not placed.
 */
import type { Folders } from '../files/files.ts';
import { createCache } from '../kernel/cache.ts';
import type { Clock } from '../kernel/clock.ts';
import type { WithKeyLock } from '../kernel/mutex.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import type { InstallPack } from '../servers/effect-host.ts';
import type { Shared } from '../servers/shared.ts';
import type { Feature } from '../web/feature.ts';
import { modOperations } from './api.ts';
import { Mods } from './mods.ts';
import { createPackInstaller } from './packs.ts';
import { mountModPages } from './pages/mods-page.ts';
import { createCurseForge } from './registries/curseforge.ts';
import { createModrinth } from './registries/modrinth.ts';
import type { ModProject, ModRegistry } from './registries/registry.ts';

/** Opens servers' mods and packs, from the configured registries. */
export function openMods(
  shared: Shared,
  folders: Folders,
  registries: readonly ModRegistry[],
  withFilesLock: WithKeyLock,
  workers: WorkerPool,
): { mods: Mods; installPack: InstallPack; feature: Feature } {
  const mods = new Mods(shared.store, folders, registries, withFilesLock);
  return {
    mods,
    installPack: createPackInstaller(folders, registries, workers),
    feature: { operations: modOperations(shared, mods), panel: mountModPages },
  };
}

const SEARCHED_MS = MINUTE_MS;
const MOST_SEARCHES = 128;

/** Opens the registries enabled in this installation. */
export function openModRegistries(
  {
    modrinthUrl,
    curseforgeUrl,
    curseforgeApiKey,
  }: {
    modrinthUrl: string;
    curseforgeUrl: string;
    /** '' disables CurseForge. */
    curseforgeApiKey: string;
  },
  clock: Clock,
): ModRegistry[] {
  const all = [createModrinth(modrinthUrl, clock)];
  if (curseforgeApiKey !== '') all.push(createCurseForge(curseforgeUrl, curseforgeApiKey, clock));
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
