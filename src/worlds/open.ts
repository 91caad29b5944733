/** Lists a server's worlds and selects the one it starts. Never removes a world's files under a running game. */
import type { Shared } from '../servers/shared.ts';
import type { Feature } from '../web/feature.ts';
import { worldOperations } from './api.ts';
import { mountWorldPages } from './pages.ts';
import { Worlds, type WorldsOptions } from './worlds.ts';

/** Opens the worlds in servers' folders, with their API and pages. */
export function openWorlds(shared: Shared & WorldsOptions) {
  const worlds = new Worlds(shared);
  const feature: Feature = { operations: worldOperations(shared, worlds), panel: mountWorldPages };
  return { worlds, feature };
}
