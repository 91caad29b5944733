/** What servers are made of: its name, and what it is in a few words for who has not met it. */
const SOFTWARE: Readonly<Record<string, readonly [name: string, about: string]>> = {
  sandbox: [
    'Sandbox',
    'The built-in flat world for trying out: no download, up in a second. It does not check Minecraft accounts.',
  ],
  vanilla: ['Vanilla', 'Mojang’s own server, nothing added.'],
  paper: ['Paper', 'Runs better than Vanilla and takes plugins. The usual choice.'],
  purpur: ['Purpur', 'Paper with many more things to set.'],
  pufferfish: ['Pufferfish', 'Paper, tuned for many players.'],
  leaf: ['Leaf', 'Paper, tuned further, with less behind it.'],
  folia: ['Folia', 'Paper on many cores, for very many players. Few plugins know it.'],
  spigot: ['Spigot', 'What Paper came from. Takes the same plugins.'],
  fabric: ['Fabric', 'For mods: light, and quick to support new versions.'],
  quilt: ['Quilt', 'For mods: a relative of Fabric that takes most of its mods.'],
  forge: ['Forge', 'For mods: the old loader with the largest packs.'],
  neoforge: ['NeoForge', 'For mods: the successor of Forge for versions from 1.20.2 on.'],
  mohist: ['Mohist', 'Forge mods and plugins in one.'],
  magma: ['Magma', 'Forge or NeoForge mods and plugins in one.'],
  arclight: ['Arclight', 'Forge, NeoForge or Fabric mods and plugins in one.'],
  ketting: ['Ketting', 'Forge mods and plugins in one.'],
  custom: ['Own server.jar', 'Any server that you upload yourself.'],
};

/** Where mod packs come from, by their own names. */
const PLATFORM_NAMES: Readonly<Record<string, string>> = { modrinth: 'Modrinth', curseforge: 'CurseForge', ftb: 'FTB' };

/** `Modrinth`: where a mod or a pack comes from. */
export function platformName(platform: string): string {
  return PLATFORM_NAMES[platform] ?? platform;
}

/** `Paper`. */
export function softwareName(type: string): string {
  return SOFTWARE[type]?.[0] ?? `${type.slice(0, 1).toUpperCase()}${type.slice(1)}`;
}

/** `Paper 1.21.8`; without a version where a pack decides that. */
export function softwareText({ type, version }: { type: string; version: string }): string {
  return `${softwareName(type)} ${version}`.trim();
}

/** What it is, in a sentence; '' where nothing is known of it. */
export function aboutSoftware(type: string): string {
  return SOFTWARE[type]?.[1] ?? '';
}
