/**
 * Keeps the mods named by a server's rows in its folder, with verified checksums. Never replaces or removes a file that
 * this service has not placed.
 */
import type { Disk } from '../jail/space.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import type { InstallPack } from '../servers/effect-host.ts';
import type { Shared } from '../servers/shared.ts';
import type { Feature } from '../web/feature.ts';
import { modOperations } from './api.ts';
import { Mods, type ModsOptions } from './mods.ts';
import { createPackInstaller } from './packs.ts';
import { mountModPages } from './pages/mods-page.ts';

export interface OpenModsOptions extends Shared, ModsOptions {
  disk: Disk;
  workers?: WorkerPool;
}

/** Mods and packs in servers' folders. */
export interface ModsRoom {
  mods: Mods;
  installPack: InstallPack;
  feature: Feature;
}

/** Opens servers' mods and packs, from the configured registries. */
export function openMods({ workers, serverOperation, clock, ...options }: OpenModsOptions): ModsRoom {
  const { registries, disk, dataDir, owner } = options;
  const mods = new Mods(options);
  return {
    mods,
    installPack: createPackInstaller({ registries, disk, dataDir, owner, ...(workers && { workers }) }),
    feature: { operations: modOperations({ mods, serverOperation, clock }), panel: mountModPages },
  };
}
