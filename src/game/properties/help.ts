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
  'force-gamemode': help('play', 'Puts everybody back into that mode each time they join.', 'false'),
  difficulty: help('play', 'How hard monsters hit, and whether hunger kills.', 'easy'),
  hardcore: help('play', 'Players who die become spectators. Forces hard difficulty.', 'false'),
  pvp: help('play', 'Players may hurt each other.', 'true'),
  'allow-flight': help('play', 'Don’t kick players for flying. Many mods need it.', 'false'),
  'spawn-protection': help('play', 'Radius around the spawn that only operators can change; 0: none.', '16'),
  'enable-command-block': help('play', 'Command blocks work.', 'false'),
  'announce-player-achievements': help('play', 'Announce achievements in chat.', 'true'),

  'level-seed': help('world', 'Seed of a new world. Does not change an existing world.'),
  'level-type': help(
    'world',
    'The kind of a new world: minecraft:normal, flat, large_biomes, amplified …',
    'minecraft:normal',
  ),
  'generator-settings': help('world', 'Settings of a flat or custom world, as JSON.'),
  'generate-structures': help('world', 'New land has villages, temples and the like.', 'true'),
  'allow-nether': help('world', 'Portals lead to the Nether.', 'true'),
  'spawn-monsters': help('world', 'Monsters appear.', 'true'),
  'spawn-animals': help('world', 'Animals appear.', 'true'),
  'spawn-npcs': help('world', 'Villagers appear.', 'true'),
  'max-world-size': help('world', 'How far the world border may be set, in blocks.', '29999984'),
  'max-build-height': help('world', 'How high may be built.', '256'),
  'level-name': help('world', 'The folder of the world.', 'world'),
  'initial-enabled-packs': help('world', 'Data packs that a new world begins with.', 'vanilla'),
  'initial-disabled-packs': help('world', 'Data packs that a new world does without.'),

  'max-players': help('players', 'How many may be in at once.', '20'),
  'white-list': help('players', 'Only listed players may come in.', 'false'),
  'enforce-whitelist': help('players', 'Kick players who are removed from the whitelist.', 'false'),
  'online-mode': help(
    'players',
    'Minecraft accounts are checked. Without it anybody may come in under any name.',
    'true',
  ),
  'enforce-secure-profile': help('players', 'Only players whose chat is signed by Mojang may come in.', 'true'),
  'player-idle-timeout': help('players', 'Minutes without a move until a player is thrown out; 0: never.', '0'),
  'op-permission-level': help('players', 'What new operators may do: 1 little, 4 everything.', '4'),
  'function-permission-level': help('players', 'What functions of data packs may do: 1 little, 4 everything.', '2'),
  'hide-online-players': help('players', 'Don’t show online players’ names in the server list.', 'false'),
  'broadcast-console-to-ops': help('players', 'Operators read what is commanded in the console.', 'true'),
  'accepts-transfers': help('players', 'Players may be sent here from other servers.', 'false'),
  'enable-code-of-conduct': help(
    'players',
    'Players must accept the texts in the folder codeofconduct first.',
    'false',
  ),
  'previews-chat': help('players', 'Preview chat formatting while typing.', 'false'),

  'resource-pack': help('pack', 'Web address of your resource pack.'),
  'resource-pack-sha1': help('pack', 'SHA-1 of the pack, so that it is downloaded again only when it changes.'),
  'resource-pack-hash': help('pack', 'SHA-1 of the pack, so that it is downloaded again only when it changes.'),
  'resource-pack-id': help('pack', 'A UUID for the pack.'),
  'resource-pack-prompt': help('pack', 'What players read when they are asked to take it, as JSON text.'),
  'require-resource-pack': help('pack', 'Kick players who decline the pack.', 'false'),

  'view-distance': help('speed', 'View distance in chunks. More needs more memory and CPU.', '10'),
  'simulation-distance': help('speed', 'How far around players the world lives, in chunks.', '10'),
  'entity-broadcast-range-percentage': help(
    'speed',
    'From how far creatures are seen, in percent of the usual.',
    '100',
  ),
  'max-tick-time': help('speed', 'Milliseconds that one tick may take until the game ends itself; -1: any.', '60000'),
  'pause-when-empty-seconds': help('speed', 'Seconds without players until the game pauses; 0: never.', '60'),
  'network-compression-threshold': help(
    'speed',
    'Packet size in bytes from which packets are compressed; -1: never.',
    '256',
  ),
  'max-chained-neighbor-updates': help('speed', 'How many blocks may set each other off in a row; -1: any.', '1000000'),
  'rate-limit': help('speed', 'Packets a second until a player is thrown out; 0: any.', '0'),
  'sync-chunk-writes': help('speed', 'The world is written at once: safer, slower.', 'true'),
  'region-file-compression': help('speed', 'How the world is packed on disk.', 'deflate'),
  'use-native-transport': help('speed', 'Faster network on Linux.', 'true'),

  'server-name': help('rest', 'A name for the Bedrock-like lists of old.'),
  'bug-report-link': help('rest', 'Web address for players’ bug reports.'),
  'log-ips': help('rest', 'Addresses of players stand in the log.', 'true'),
  'snooper-enabled': help('rest', 'The game tells Mojang how it runs.', 'true'),
};

function help(group: PropertyGroup, text: string, usual?: string): PropertyHelp {
  return { group, text, ...(usual !== undefined && { usual }) };
}
