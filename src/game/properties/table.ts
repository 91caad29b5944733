import { compareVersions } from '../minecraft-version.ts';

/** One property of `server.properties` (minecraft.wiki Server.properties). */
interface Property {
  /** First and last release that knows it; absent: from before 1.8, or still known. */
  since?: string;
  until?: string;
  /** The property's later name. */
  became?: string;
  accepts: Kind;
}

interface Kind {
  /** Completes a sentence after "must be". */
  expected: string;
  takes(value: string): boolean;
  /** Allowed values of an enumeration. */
  values?: readonly string[];
  /** Range of a number, inclusive. */
  range?: readonly [least: number, most: number];
}

/** A property for a form. */
export interface Editable {
  name: string;
  values: readonly string[] | undefined;
  range: readonly [least: number, most: number] | undefined;
}

const flag = oneOf('true', 'false');
const anyText = text(4_096);
const gamemode = oneOf('survival', 'creative', 'adventure', 'spectator', '0', '1', '2', '3');
const GAME_RULE = { until: '1.21.8', became: 'is a game rule since 1.21.9' };

/** All properties an owner can set. */
const PROPERTIES = new Map<string, Property>(
  Object.entries({
    'accepts-transfers': { since: '1.20.5', accepts: flag },
    'allow-flight': { accepts: flag },
    'allow-nether': { ...GAME_RULE, accepts: flag },
    'announce-player-achievements': { until: '1.11.2', accepts: flag },
    'broadcast-console-to-ops': { accepts: flag },
    'bug-report-link': { since: '1.21', accepts: text(1_024) },
    difficulty: { accepts: oneOf('peaceful', 'easy', 'normal', 'hard', '0', '1', '2', '3') },
    'enable-code-of-conduct': { since: '1.21.9', accepts: flag },
    'enable-command-block': { ...GAME_RULE, accepts: flag },
    'enforce-secure-profile': { since: '1.19', accepts: flag },
    'enforce-whitelist': { since: '1.13', accepts: flag },
    'entity-broadcast-range-percentage': { since: '1.16', accepts: whole(10, 1_000) },
    'force-gamemode': { accepts: flag },
    'function-permission-level': { since: '1.14.4', accepts: whole(1, 4) },
    gamemode: { accepts: gamemode },
    'generate-structures': { accepts: flag },
    'generator-settings': { accepts: anyText },
    hardcore: { accepts: flag },
    'hide-online-players': { since: '1.18', accepts: flag },
    'initial-disabled-packs': { since: '1.19.3', accepts: text(1_024) },
    'initial-enabled-packs': { since: '1.19.3', accepts: text(1_024) },
    'level-name': { accepts: folder() },
    'level-seed': { accepts: text(256) },
    'level-type': { accepts: matching(/^[A-Za-z0-9_:.\\/-]{1,128}$/, 'the name of a world type') },
    'log-ips': { since: '1.20.2', accepts: flag },
    'max-build-height': { until: '1.16.5', accepts: whole(64, 256) },
    'max-chained-neighbor-updates': { since: '1.19', accepts: whole(-1, 2 ** 31 - 1) },
    'max-players': { accepts: whole(1, 100_000) },
    'max-tick-time': { accepts: whole(-1, 2 ** 31 - 1) },
    'max-world-size': { accepts: whole(1, 29_999_984) },
    'network-compression-threshold': { accepts: whole(-1, 2 ** 31 - 1) },
    'online-mode': { accepts: flag },
    'op-permission-level': { accepts: whole(0, 4) },
    'pause-when-empty-seconds': { since: '1.21.2', accepts: whole(-1, 2 ** 31 - 1) },
    'player-idle-timeout': { accepts: whole(0, 2 ** 31 - 1) },
    'previews-chat': { since: '1.19', until: '1.19.2', accepts: flag },
    pvp: { ...GAME_RULE, accepts: flag },
    'rate-limit': { since: '1.16.2', accepts: whole(0, 2 ** 31 - 1) },
    'region-file-compression': { since: '1.20.5', accepts: oneOf('deflate', 'lz4', 'none') },
    'require-resource-pack': { since: '1.17', accepts: flag },
    'resource-pack': { accepts: text(2_048) },
    'resource-pack-hash': { until: '1.8.9', accepts: hash() },
    'resource-pack-id': { since: '1.20.3', accepts: matching(/^(?:[0-9a-fA-F-]{32,36})?$/, 'a UUID') },
    'resource-pack-prompt': { since: '1.17', accepts: anyText },
    'resource-pack-sha1': { since: '1.9', accepts: hash() },
    'server-name': { until: '1.12.2', accepts: text(256) },
    'simulation-distance': { since: '1.18', accepts: whole(3, 32) },
    'snooper-enabled': { until: '1.17.1', accepts: flag },
    'spawn-animals': { until: '1.21.1', accepts: flag },
    'spawn-monsters': { ...GAME_RULE, accepts: flag },
    'spawn-npcs': { until: '1.21.1', accepts: flag },
    'spawn-protection': { accepts: whole(0, 29_999_984) },
    'sync-chunk-writes': { since: '1.16', accepts: flag },
    'use-native-transport': { accepts: flag },
    'view-distance': { accepts: whole(2, 32) },
    'white-list': { accepts: flag },
  }),
);

/** Returns the properties of a Minecraft version by name; all properties for a server without a release. */
export function editableProperties(version: string): Editable[] {
  return [...PROPERTIES]
    .filter(([name]) => outside(name, version) === undefined)
    .map(([name, { accepts }]) => ({ name, values: accepts.values, range: accepts.range }));
}

/**
 * Returns the problem of a property an owner wants to set, as the end of a sentence that begins with its name;
 * undefined if it is valid. A server without a release ('': the sandbox, a snapshot, a pack that brings its version)
 * can have any version's properties.
 */
export function checkProperty(name: string, value: string, version: string): string | undefined {
  const property = PROPERTIES.get(name);
  if (!property) return 'is not a property of a Minecraft server';
  const unknown = outside(name, version);
  if (unknown !== undefined) return unknown;
  // Defence in depth: a line end must not start another property.
  if (/\p{Cc}/u.test(value)) return 'must not contain control characters';
  return property.accepts.takes(value) ? undefined : `must be ${property.accepts.expected}`;
}

/** Returns why a version does not know a property; undefined if it does. */
function outside(name: string, version: string): string | undefined {
  const { since, until, became } = PROPERTIES.get(name) ?? {};
  if (since !== undefined && (compareVersions(version, since) ?? 0) < 0) return `requires Minecraft ${since} or later`;
  if (until !== undefined && (compareVersions(version, until) ?? 0) > 0)
    return became ?? `was removed after Minecraft ${until}`;
  return undefined;
}

function oneOf(...values: string[]): Kind {
  const expected = values.join(', ').replace(/, ([^,]*)$/, ' or $1');
  return { expected, takes: (value) => values.includes(value), values };
}

function whole(least: number, most: number): Kind {
  return {
    expected: `a whole number from ${least} to ${most}`,
    range: [least, most],
    takes: (value) => /^-?\d{1,10}$/.test(value) && Number(value) >= least && Number(value) <= most,
  };
}

function text(most: number): Kind {
  return { expected: `text of at most ${most} characters`, takes: (value) => value.length <= most };
}

function matching(pattern: RegExp, expected: string): Kind {
  return { expected, takes: (value) => pattern.test(value) };
}

function hash(): Kind {
  return matching(/^(?:[0-9a-fA-F]{40})?$/, 'a SHA-1 in hexadecimal, or empty');
}

/** A folder next to the game's own, never a path. */
function folder(): Kind {
  return matching(/^[\p{L}\p{N}_][\p{L}\p{N}_ .-]{0,63}(?<![ .])$/u, 'a folder name');
}
