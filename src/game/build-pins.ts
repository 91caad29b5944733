import type { OwnerSettings } from './settings.ts';

/** How to pin a core's build in the game image, and how to detect the installed build. */
export interface BuildPin {
  /** The image's environment variable. */
  variable: string;
  /** The pattern of a build's name, which reaches the image's shell scripts. */
  pattern: RegExp;
  /** Name of the manifest written by the installer; absent without one. */
  manifest?: string;
  /** A file or folder named after the build: its folder, and the parts of its name before and after the build. */
  named: (version: string) => { folder: string; before: string; after: string };
}

/** The part of a row that decides whether a build fits. */
export type BuildOf = Pick<OwnerSettings, 'type' | 'version' | 'modpackPlatform'>;

const NUMBER = /^[1-9]\d{0,8}$/;
const LOADER = /^\d[0-9A-Za-z.+-]{0,47}$/;

function jar(core: string, variable: string, manifest?: string): BuildPin {
  const named = (version: string) => ({ folder: '', before: `${core}-${version}-`, after: '.jar' });
  return { variable, pattern: NUMBER, named, ...(manifest !== undefined && { manifest }) };
}

// From the scripts of itzg/docker-minecraft-server and from mc-image-helper, which write these names.
const PINS: ReadonlyMap<string, BuildPin> = new Map([
  ['paper', jar('paper', 'PAPER_BUILD', '.papermc-manifest.json')],
  ['folia', jar('folia', 'PAPER_BUILD', '.papermc-manifest.json')],
  ['purpur', jar('purpur', 'PURPUR_BUILD', '.purpur-manifest.json')],
  ['leaf', jar('leaf', 'LEAF_BUILD')],
  [
    'fabric',
    {
      variable: 'FABRIC_LOADER_VERSION',
      pattern: LOADER,
      manifest: '.fabric-manifest.json',
      named: (version) => ({ folder: '', before: `fabric-server-mc.${version}-loader.`, after: '-launcher.' }),
    },
  ],
  [
    'quilt',
    {
      variable: 'QUILT_LOADER_VERSION',
      pattern: LOADER,
      manifest: '.quilt-manifest.json',
      named: (version) => ({ folder: '', before: `quilt-server-${version}-`, after: '-launcher.jar' }),
    },
  ],
  [
    'forge',
    {
      variable: 'FORGE_VERSION',
      pattern: LOADER,
      manifest: '.forge-manifest.json',
      named: (version) => ({ folder: 'libraries/net/minecraftforge/forge', before: `${version}-`, after: '' }),
    },
  ],
  [
    'neoforge',
    {
      variable: 'NEOFORGE_VERSION',
      pattern: LOADER,
      manifest: '.neoforge-manifest.json',
      named: () => ({ folder: 'libraries/net/neoforged/neoforge', before: '', after: '' }),
    },
  ],
]);

/** Returns how the build of such a server is pinned; undefined if its version or its pack alone determines it. */
export function buildPin({ type, modpackPlatform }: Omit<BuildOf, 'version'>): BuildPin | undefined {
  return modpackPlatform === '' ? PINS.get(type) : undefined;
}

/** Returns the image's variable for a pinned build; empty if it is not a build of such a server. */
export function buildEnv(row: BuildOf, build: string | undefined): Record<string, string> {
  const pin = buildPin(row);
  return pin !== undefined && build !== undefined && pin.pattern.test(build) ? { [pin.variable]: build } : {};
}
