import type { OwnerSettings } from './settings.ts';

/** How a core's build is named to the game image, and by what its installer's work tells which one it has put there. */
export interface BuildPin {
  /** The image's variable. */
  variable: string;
  /** All that a build may be called: it reaches the image's shell scripts. */
  pattern: RegExp;
  /** Name of the manifest that the installer leaves; absent: none. */
  manifest?: string;
  /** What is named after the build: a folder, and what stands before and behind the build in a name there. */
  named: (version: string) => { folder: string; before: string; behind: string };
}

/** What of a row decides whether a build fits. */
export type BuildOf = Pick<OwnerSettings, 'type' | 'version' | 'modpackPlatform'>;

const NUMBER = /^[1-9]\d{0,8}$/;
const LOADER = /^\d[0-9A-Za-z.+-]{0,47}$/;

function jar(core: string, variable: string, manifest?: string): BuildPin {
  const named = (version: string) => ({ folder: '', before: `${core}-${version}-`, behind: '.jar' });
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
      named: (version) => ({ folder: '', before: `fabric-server-mc.${version}-loader.`, behind: '-launcher.' }),
    },
  ],
  [
    'quilt',
    {
      variable: 'QUILT_LOADER_VERSION',
      pattern: LOADER,
      manifest: '.quilt-manifest.json',
      named: (version) => ({ folder: '', before: `quilt-server-${version}-`, behind: '-launcher.jar' }),
    },
  ],
  [
    'forge',
    {
      variable: 'FORGE_VERSION',
      pattern: LOADER,
      manifest: '.forge-manifest.json',
      named: (version) => ({ folder: 'libraries/net/minecraftforge/forge', before: `${version}-`, behind: '' }),
    },
  ],
  [
    'neoforge',
    {
      variable: 'NEOFORGE_VERSION',
      pattern: LOADER,
      manifest: '.neoforge-manifest.json',
      named: () => ({ folder: 'libraries/net/neoforged/neoforge', before: '', behind: '' }),
    },
  ],
]);

/** How the build of such a server is pinned. Undefined where its version alone decides, or its pack does. */
export function buildPin({ type, modpackPlatform }: Omit<BuildOf, 'version'>): BuildPin | undefined {
  return modpackPlatform === '' ? PINS.get(type) : undefined;
}

/** The game image's variable for a pinned build; nothing for what is no build of such a server. */
export function buildEnv(row: BuildOf, build: string | undefined): Record<string, string> {
  const pin = buildPin(row);
  return pin !== undefined && build !== undefined && pin.pattern.test(build) ? { [pin.variable]: build } : {};
}
