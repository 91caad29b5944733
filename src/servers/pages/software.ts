/** The kinds of software: the name, and a short description for newcomers. */
const SOFTWARE: Readonly<Record<string, readonly [name: string, about: string]>> = {
  sandbox: [
    'Sandbox',
    'A built-in flat world to try things out. No download, starts in a second. Doesn’t check Minecraft accounts.',
  ],
  vanilla: ['Vanilla', 'Mojang’s original server.'],
  paper: ['Paper', 'Faster than Vanilla and supports plugins. The usual choice.'],
  purpur: ['Purpur', 'Paper with many more settings.'],
  pufferfish: ['Pufferfish', 'Paper, tuned for many players.'],
  leaf: ['Leaf', 'A Paper fork with more tuning and a smaller community.'],
  folia: ['Folia', 'Paper on many CPU cores, for very many players. Few plugins support it.'],
  spigot: ['Spigot', 'The predecessor of Paper. Runs the same plugins.'],
  fabric: ['Fabric', 'For mods: light, and quick to support new versions.'],
  quilt: ['Quilt', 'For mods: a Fabric fork that runs most Fabric mods.'],
  forge: ['Forge', 'For mods: the old loader with the largest packs.'],
  neoforge: ['NeoForge', 'For mods: the successor of Forge, from 1.20.2.'],
  mohist: ['Mohist', 'Forge mods and plugins in one.'],
  magma: ['Magma', 'Forge or NeoForge mods and plugins in one.'],
  arclight: ['Arclight', 'Forge, NeoForge or Fabric mods and plugins in one.'],
  ketting: ['Ketting', 'Forge mods and plugins in one.'],
  custom: ['Own server.jar', 'Any server that you upload.'],
};

/** Names of the mod packs' sources. */
const PLATFORM_NAMES: Readonly<Record<string, string>> = { modrinth: 'Modrinth', curseforge: 'CurseForge', ftb: 'FTB' };

/** Returns the name of a source of mods and packs, such as `Modrinth`. */
export function platformName(platform: string): string {
  return PLATFORM_NAMES[platform] ?? platform;
}

/** Returns the name of a core, such as `Paper`. */
export function softwareName(type: string): string {
  return SOFTWARE[type]?.[0] ?? `${type.slice(0, 1).toUpperCase()}${type.slice(1)}`;
}

/** Returns, for example, `Paper 1.21.8`; without the version if a pack determines it. */
export function softwareText({ type, version }: { type: string; version: string }): string {
  return `${softwareName(type)} ${version}`.trim();
}

/** Returns a description in one sentence; '' for unknown software. */
export function aboutSoftware(type: string): string {
  return SOFTWARE[type]?.[1] ?? '';
}
