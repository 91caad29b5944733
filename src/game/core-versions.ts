import { compareVersions } from './minecraft-version.ts';
import type { OwnerSettings } from './settings.ts';

/** The first Minecraft release of each core, by its project's downloads. */
const FIRST: Record<string, string> = {
  paper: '1.7.10',
  purpur: '1.14.1',
  pufferfish: '1.17',
  leaf: '1.19.2',
  folia: '1.19.4',
  fabric: '1.14',
  quilt: '1.14',
  neoforge: '1.20.1',
  mohist: '1.7.10',
  arclight: '1.14.4',
  ketting: '1.20.1',
};
/** Cores whose projects no longer offer downloads, and their replacements. */
const ENDED: Record<string, string> = { magma: 'mohist, or ketting from 1.20.1 on' };

/** Returns why the core does not exist, or has no build for the Minecraft version; undefined if it may exist. */
export function missingCore({ type, version }: Pick<OwnerSettings, 'type' | 'version'>): string | undefined {
  const instead = ENDED[type];
  if (instead !== undefined) return `${type} is not available any more: its project has ended. Choose ${instead}`;
  const first = FIRST[type];
  if (first === undefined || (compareVersions(version, first) ?? 0) >= 0) return undefined;
  return `there is no ${type} for ${version}: its first is for ${first}`;
}

/** Returns the loader of Arclight for a version: Forge, or NeoForge since the two split. Fabric's is not offered. */
export function arclightLoader(version: string): 'forge' | 'neoforge' {
  return (compareVersions(version, '1.20.5') ?? 0) >= 0 ? 'neoforge' : 'forge';
}
