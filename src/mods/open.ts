/**
 * Keeps the mods named by a server's rows in its folder, with verified checksums. Never replaces or removes a file that
 * this service has not placed.
 */
import type { Folders } from '../files/files.ts';
import type { WithKeyLock } from '../kernel/mutex.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import type { InstallPack } from '../servers/effect-host.ts';
import type { Shared } from '../servers/shared.ts';
import type { Feature } from '../web/feature.ts';
import { modOperations } from './api.ts';
import { Mods } from './mods.ts';
import { createPackInstaller } from './packs.ts';
import { mountModPages } from './pages/mods-page.ts';
import type { ModRegistry } from './registries/registries.ts';

/** Opens servers' mods and packs, from the configured registries. */
export function openMods(
  { store, serverOperation, clock }: Shared,
  folders: Folders,
  registries: readonly ModRegistry[],
  withFilesLock: WithKeyLock,
  workers: WorkerPool,
): { mods: Mods; installPack: InstallPack; feature: Feature } {
  const mods = new Mods(store, folders, registries, withFilesLock);
  return {
    mods,
    installPack: createPackInstaller(folders, registries, workers),
    feature: { operations: modOperations({ mods, serverOperation, clock }), panel: mountModPages },
  };
}
