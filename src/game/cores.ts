import { compareVersions } from './minecraft-version.ts';

/** A folder from which a core loads mods or plugins, and the loaders (as registries name them) that it supports. */
export interface ModFolder {
  path: 'mods' | 'plugins';
  loaders: readonly string[];
}

/** How a core's build is pinned in the game image, and how the installed build is found. */
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

/** A kind of game server: everything that this service knows about it. */
interface Core {
  name: string;
  /** One sentence for newcomers. */
  about: string;
  /** The first Minecraft release that its project offers; absent: every release. */
  first?: string;
  /** The project no longer offers downloads; names the replacements. */
  endedFor?: string;
  folders?: (version: string) => ModFolder[];
  pin?: BuildPin;
  /** It is one jar, a bundle of all its classes, that runs from any folder. */
  isOneJar?: true;
  /** Its 1.16.5 runs on Java 16. Other cores need Java 8 there. */
  runs1165OnJava16?: true;
  /** It forwards players to other servers. Its versions are its own, so these are offered, newest first. */
  proxyVersions?: readonly string[];
  /** The console commands that report ticks. Absent: the game's `tick query`, if it has that. */
  tickCommands?: string[];
}

const BUKKIT = ['spigot', 'bukkit'];
const PAPER = ['paper', ...BUKKIT];
const mods = (...loaders: string[]): ModFolder => ({ path: 'mods', loaders });
const plugins = (...loaders: string[]): ModFolder => ({ path: 'plugins', loaders });
const hybrid = (): ModFolder[] => [mods('forge'), plugins(...BUKKIT)];

const NUMBER = /^[1-9]\d{0,8}$/;
const LOADER = /^\d[0-9A-Za-z.+-]{0,47}$/;
/** A build is a number in the name of the core's jar. */
const jar = (core: string, variable: string): Pick<BuildPin, 'variable' | 'pattern' | 'named'> => ({
  variable,
  pattern: NUMBER,
  named: (version) => ({ folder: '', before: `${core}-${version}-`, after: '.jar' }),
});

/**
 * The cores by the `type` of their servers. Cores with downloads are types of the game image whose version is a
 * Minecraft version. `pin` follows the scripts of itzg/docker-minecraft-server and of mc-image-helper; `first` follows
 * the downloads of the projects. Quilt also runs Fabric's mods, and hybrids run both mods and plugins.
 */
const TABLE = {
  sandbox: {
    name: 'Sandbox',
    about:
      'A built-in flat world to try things out. No download, starts in a second. Doesn’t check Minecraft accounts.',
    tickCommands: ['tick query'],
  },
  vanilla: { name: 'Vanilla', about: 'Mojang’s original server.', isOneJar: true },
  paper: {
    name: 'Paper',
    about: 'Faster than Vanilla and supports plugins. The usual choice.',
    first: '1.7.10',
    folders: () => [plugins(...PAPER)],
    pin: { ...jar('paper', 'PAPER_BUILD'), manifest: '.papermc-manifest.json' },
    isOneJar: true,
    runs1165OnJava16: true,
    tickCommands: ['tps', 'mspt'],
  },
  purpur: {
    name: 'Purpur',
    about: 'Paper with many more settings.',
    first: '1.14.1',
    folders: () => [plugins('purpur', ...PAPER)],
    pin: { ...jar('purpur', 'PURPUR_BUILD'), manifest: '.purpur-manifest.json' },
    isOneJar: true,
    runs1165OnJava16: true,
    tickCommands: ['tps', 'mspt'],
  },
  pufferfish: {
    name: 'Pufferfish',
    about: 'Paper, tuned for many players.',
    first: '1.17',
    folders: () => [plugins(...PAPER)],
    pin: jar('pufferfish', 'PUFFERFISH_BUILD'),
    isOneJar: true,
    tickCommands: ['tps', 'mspt'],
  },
  leaf: {
    name: 'Leaf',
    about: 'A Paper fork with more tuning and a smaller community.',
    first: '1.19.2',
    folders: () => [plugins(...PAPER)],
    pin: jar('leaf', 'LEAF_BUILD'),
    isOneJar: true,
    tickCommands: ['tps', 'mspt'],
  },
  folia: {
    name: 'Folia',
    about: 'Paper on many CPU cores, for very many players. Few plugins support it.',
    first: '1.19.4',
    folders: () => [plugins('folia')],
    pin: { ...jar('folia', 'PAPER_BUILD'), manifest: '.papermc-manifest.json' },
    isOneJar: true,
    tickCommands: ['tps', 'mspt'],
  },
  spigot: {
    name: 'Spigot',
    about: 'The predecessor of Paper. Runs the same plugins.',
    folders: () => [plugins(...BUKKIT)],
  },
  fabric: {
    name: 'Fabric',
    about: 'For mods: light, and quick to support new versions.',
    first: '1.14',
    folders: () => [mods('fabric')],
    pin: {
      variable: 'FABRIC_LOADER_VERSION',
      pattern: LOADER,
      manifest: '.fabric-manifest.json',
      named: (version) => ({ folder: '', before: `fabric-server-mc.${version}-loader.`, after: '-launcher.' }),
    },
  },
  quilt: {
    name: 'Quilt',
    about: 'For mods: a Fabric fork that runs most Fabric mods.',
    first: '1.14',
    folders: () => [mods('quilt', 'fabric')],
    pin: {
      variable: 'QUILT_LOADER_VERSION',
      pattern: LOADER,
      manifest: '.quilt-manifest.json',
      named: (version) => ({ folder: '', before: `quilt-server-${version}-`, after: '-launcher.jar' }),
    },
  },
  forge: {
    name: 'Forge',
    about: 'For mods: the old loader with the largest packs.',
    folders: () => [mods('forge')],
    pin: {
      variable: 'FORGE_VERSION',
      pattern: LOADER,
      manifest: '.forge-manifest.json',
      named: (version) => ({ folder: 'libraries/net/minecraftforge/forge', before: `${version}-`, after: '' }),
    },
    tickCommands: ['forge tps'],
  },
  neoforge: {
    name: 'NeoForge',
    about: 'For mods: the successor of Forge, from 1.20.2.',
    first: '1.20.1',
    folders: () => [mods('neoforge')],
    pin: {
      variable: 'NEOFORGE_VERSION',
      pattern: LOADER,
      manifest: '.neoforge-manifest.json',
      named: () => ({ folder: 'libraries/net/neoforged/neoforge', before: '', after: '' }),
    },
    tickCommands: ['neoforge tps'],
  },
  mohist: { name: 'Mohist', about: 'Forge mods and plugins in one.', first: '1.7.10', folders: hybrid },
  magma: {
    name: 'Magma',
    about: 'Forge or NeoForge mods and plugins in one.',
    endedFor: 'mohist, or ketting from 1.20.1 on',
    folders: hybrid,
  },
  arclight: {
    name: 'Arclight',
    about: 'Forge, NeoForge or Fabric mods and plugins in one.',
    first: '1.14.4',
    folders: (version) => [mods(arclightLoader(version)), plugins(...BUKKIT)],
  },
  ketting: { name: 'Ketting', about: 'Forge mods and plugins in one.', first: '1.20.1', folders: hybrid },
  velocity: {
    name: 'Velocity',
    about: 'A proxy in front of your other servers: one address, and players change servers in the game.',
    pin: jar('velocity', 'VELOCITY_BUILD_ID'),
    proxyVersions: ['3.4.0-SNAPSHOT', '3.3.0-SNAPSHOT'],
    tickCommands: [],
  },
  custom: { name: 'Own server.jar', about: 'Any server that you upload.' },
} satisfies Record<string, Core>;

/** The values of a server's `type`. */
export const CORES: readonly string[] = Object.keys(TABLE);

/** The core built into Dormouse: a small game server without downloads. */
export const SANDBOX = 'sandbox';

/** A core uploaded by its owner as `server.jar`. */
export const CUSTOM = 'custom';

/** The core that is the front of a network. */
export const VELOCITY = 'velocity';

/** Reports whether a core is a proxy: no world, no `server.properties`, no EULA, and versions of its own. */
export function isProxy(type: string): boolean {
  return coreOf(type)?.proxyVersions !== undefined;
}

/** Returns a core's row; undefined for an unknown type. */
export function coreOf(type: string): Core | undefined {
  return Object.hasOwn(TABLE, type) ? (TABLE as Record<string, Core>)[type] : undefined;
}

/** Reports whether a core is based on Bukkit, and runs its plugins. */
export function isBukkit(type: string): boolean {
  return foldersIn(type).some(({ path }) => path === 'plugins');
}

/** Reports whether a core has a Forge-like loader, which uses Java's internals. */
export function isForge(type: string): boolean {
  return foldersIn(type).some(({ loaders }) => loaders.includes('forge') || loaders.includes('neoforge'));
}

/** The mod loaders, which are cores of their own. If a pack supports two of them, the later one is preferred. */
export const MOD_LOADERS: readonly string[] = CORES.filter((type) => !isBukkit(type) && foldersIn(type).length > 0);

/** Returns the folders from which a core loads mods and plugins; empty for a core without any. */
export function foldersIn(type: string, version = ''): ModFolder[] {
  return coreOf(type)?.folders?.(version) ?? [];
}

/** Returns why the core does not exist, or has no build for the Minecraft version; undefined if it may exist. */
export function missingCore({ type, version }: { type: string; version: string }): string | undefined {
  const { endedFor, first } = coreOf(type) ?? {};
  if (endedFor !== undefined) return `${type} is no longer available: its project has ended. Choose ${endedFor}`;
  if (first === undefined || (compareVersions(version, first) ?? 0) >= 0) return undefined;
  return `${type} does not support ${version}; the first supported version is ${first}`;
}

/** Returns the loader of Arclight for a version: Forge, or NeoForge since the two split. Fabric's is not offered. */
export function arclightLoader(version: string): 'forge' | 'neoforge' {
  return (compareVersions(version, '1.20.5') ?? 0) >= 0 ? 'neoforge' : 'forge';
}

/** Returns the name of a core, such as `Paper`. */
export function softwareName(type: string): string {
  return coreOf(type)?.name ?? `${type.slice(0, 1).toUpperCase()}${type.slice(1)}`;
}

/** Returns, for example, `Paper 1.21.8`; without the version if a pack determines it. */
export function softwareText({ type, version }: { type: string; version: string }): string {
  return `${softwareName(type)} ${version}`.trim();
}

/** Returns a description in one sentence; '' for unknown software. */
export function aboutSoftware(type: string): string {
  return coreOf(type)?.about ?? '';
}
