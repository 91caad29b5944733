/**
 * The effect of a property, for readers who do not know its wiki page (minecraft.wiki Server.properties), and its
 * default.
 */
export interface PropertyHelp {
  group: PropertyGroup;
  text: string;
  /** The default of current releases; absent if empty or not useful. */
  usual?: string;
}

/** The groups in which owners find properties, in display order. */
export const PROPERTY_GROUPS = ['play', 'world', 'players', 'pack', 'speed', 'rest'] as const;

export type PropertyGroup = (typeof PROPERTY_GROUPS)[number];

/** The help texts by name, one line for each property an owner can set. */
export const PROPERTY_HELP: Readonly<Record<string, PropertyHelp>> = {
  gamemode: help('play', 'Game mode of new players.', 'survival'),
  'force-gamemode': help('play', 'Resets players to this mode each time they join.', 'false'),
  difficulty: help('play', 'How hard monsters hit, and whether hunger kills.', 'easy'),
  hardcore: help('play', 'Players who die become spectators. Forces hard difficulty.', 'false'),
  pvp: help('play', 'Players can hurt each other.', 'true'),
  'allow-flight': help('play', 'Don’t kick players for flying. Many mods need it.', 'false'),
  'spawn-protection': help('play', 'Radius around the spawn that only operators can change. 0 = none.', '16'),
  'enable-command-block': help('play', 'Enable command blocks.', 'false'),
  'announce-player-achievements': help('play', 'Announce achievements in chat.', 'true'),

  'level-seed': help('world', 'Seed of a new world. Does not change an existing world.'),
  'level-type': help(
    'world',
    'Type of a new world: minecraft:normal, flat, large_biomes, amplified …',
    'minecraft:normal',
  ),
  'generator-settings': help('world', 'Settings of a flat or custom world, as JSON.'),
  'generate-structures': help('world', 'Generate villages, temples and other structures.', 'true'),
  'allow-nether': help('world', 'Portals lead to the Nether.', 'true'),
  'spawn-monsters': help('world', 'Monsters appear.', 'true'),
  'spawn-animals': help('world', 'Animals appear.', 'true'),
  'spawn-npcs': help('world', 'Villagers appear.', 'true'),
  'max-world-size': help('world', 'Maximum radius of the world border, in blocks.', '29999984'),
  'max-build-height': help('world', 'Maximum building height, in blocks.', '256'),
  'level-name': help('world', 'The folder of the world.', 'world'),
  'initial-enabled-packs': help('world', 'Data packs enabled in a new world.', 'vanilla'),
  'initial-disabled-packs': help('world', 'Data packs disabled in a new world.'),

  'max-players': help('players', 'Maximum number of players online.', '20'),
  'white-list': help('players', 'Only players on the whitelist can join.', 'false'),
  'enforce-whitelist': help('players', 'Kick players who are removed from the whitelist.', 'false'),
  'online-mode': help('players', 'Check Minecraft accounts. If off, anyone can join under any name.', 'true'),
  'enforce-secure-profile': help('players', 'Only players with a chat key signed by Mojang can join.', 'true'),
  'player-idle-timeout': help('players', 'Minutes of inactivity before a player is kicked. 0 = never.', '0'),
  'op-permission-level': help('players', 'Permission level of new operators: 0 (none) to 4 (everything).', '4'),
  'function-permission-level': help(
    'players',
    'Permission level of data pack functions: 1 (few commands) to 4 (everything).',
    '2',
  ),
  'hide-online-players': help('players', 'Don’t show online players’ names in the server list.', 'false'),
  'broadcast-console-to-ops': help('players', 'Show console commands to operators.', 'true'),
  'accepts-transfers': help('players', 'Accept players transferred from other servers.', 'false'),
  'enable-code-of-conduct': help(
    'players',
    'Players must first accept the texts in the folder codeofconduct.',
    'false',
  ),
  'previews-chat': help('players', 'Preview chat formatting while typing.', 'false'),

  'resource-pack': help('pack', 'Web address of your resource pack.'),
  'resource-pack-sha1': help('pack', 'SHA-1 of the pack, so that it is downloaded again only when it changes.'),
  'resource-pack-hash': help('pack', 'SHA-1 of the pack, so that it is downloaded again only when it changes.'),
  'resource-pack-id': help('pack', 'A UUID for the pack.'),
  'resource-pack-prompt': help('pack', 'Message shown when players are asked to download the pack, as JSON text.'),
  'require-resource-pack': help('pack', 'Kick players who decline the pack.', 'false'),

  'view-distance': help('speed', 'View distance in chunks. More needs more memory and CPU.', '10'),
  'simulation-distance': help('speed', 'Distance around players in which the world is active, in chunks.', '10'),
  'entity-broadcast-range-percentage': help(
    'speed',
    'Distance at which creatures are visible, in percent of the default.',
    '100',
  ),
  'max-tick-time': help('speed', 'Milliseconds that one tick can take before the game ends. -1 = unlimited.', '60000'),
  'pause-when-empty-seconds': help('speed', 'Seconds without players before the game pauses. 0 = never.', '60'),
  'network-compression-threshold': help(
    'speed',
    'Packets of at least this size in bytes are compressed. -1 = never.',
    '256',
  ),
  'max-chained-neighbor-updates': help('speed', 'Maximum number of chained block updates. -1 = unlimited.', '1000000'),
  'rate-limit': help('speed', 'Packets per second above which a player is kicked. 0 = unlimited.', '0'),
  'sync-chunk-writes': help('speed', 'Write the world to disk immediately. Safer, but slower.', 'true'),
  'region-file-compression': help('speed', 'Compression of the world on disk.', 'deflate'),
  'use-native-transport': help('speed', 'Faster network on Linux.', 'true'),

  'server-name': help('rest', 'Name of the server in some old server lists.'),
  'bug-report-link': help('rest', 'Web address for players’ bug reports.'),
  'log-ips': help('rest', 'Log the IP addresses of players.', 'true'),
  'snooper-enabled': help('rest', 'Send usage statistics to Mojang.', 'true'),
};

function help(group: PropertyGroup, text: string, usual?: string): PropertyHelp {
  return { group, text, ...(usual !== undefined && { usual }) };
}
