import { GAME_PORT, RCON_PORT } from '../../engines/engine.ts';
import { SANDBOX, isBukkit } from '../cores.ts';
import { join } from 'node:path';
import type { FileOwner } from '../../kernel/atomic-file.ts';
import { managementProperties } from '../management-settings.ts';
import { motdCodes, parseMotd } from '../motd/motd.ts';
import { decodeText } from '../../kernel/decode-text.ts';
import { readPlain, readPlainBytes, writePlain } from '../plain-files.ts';
import type { OwnerSettings } from '../settings.ts';
import { MAX_PROPERTIES_BYTES, formatProperties, parseProperties } from './format.ts';

/** The default server-list text. */
export const DEFAULT_MOTD = 'A Minecraft Server';
/** The default player limit. */
export const DEFAULT_MAX_PLAYERS = 20;

// Our defaults, used if neither the owner nor the file sets a value.
const DEFAULTS = { 'max-players': '20' };

// The owner's properties of the last boot, so that removed ones return to the game's default.
const LEDGER = '.dormouse-properties';

/** Returns the properties that Dormouse sets itself. The owner's and the file's entries of these names are ignored. */
export function ownedProperties(
  row: Pick<OwnerSettings, 'motd' | 'type' | 'version'>,
  rconPassword: string,
): ReadonlyMap<string, string> {
  const { motd, type } = row;
  return new Map([
    ['server-ip', ''],
    ['server-port', String(GAME_PORT)],
    ['enable-rcon', 'true'],
    ['rcon.port', String(RCON_PORT)],
    ['rcon.password', rconPassword],
    ['broadcast-rcon-to-ops', 'false'],
    ['enable-query', 'false'],
    ['query.port', String(GAME_PORT)],
    // Used by the proxy, which also answers the server list while the game sleeps.
    ['enable-status', 'true'],
    // All players come from the proxy's address, which differs from the one Mojang has seen.
    ['prevent-proxy-connections', 'false'],
    // Would make the game open another, unused port.
    ['enable-jmx-monitoring', 'false'],
    ...managementProperties(row, rconPassword),
    // Bukkit supports `§x…`, colours beyond the sixteen.
    ['motd', motdCodes(parseMotd(motd || DEFAULT_MOTD), { anyColor: isBukkit(type) })],
  ]);
}

/** Names of these properties. `motd` is a field of the server. */
export const OWNED_PROPERTIES: ReadonlySet<string> = new Set(
  ownedProperties({ motd: '', type: '', version: '' }, '').keys(),
);

/** Further families of such properties: ports, passwords and outside services that owners must not set. */
const OWNED_FAMILIES = /^(?:rcon|query|management-server|text-filtering|status-heartbeat)[.-]/;

/** Whether a property is Dormouse's own, so that owners must not set it. */
export function isOwnedProperty(name: string): boolean {
  return OWNED_PROPERTIES.has(name) || OWNED_FAMILIES.test(name);
}

/** The part of a server's row that determines its properties. */
export type PropertiesRow = Pick<OwnerSettings, 'motd' | 'properties' | 'type' | 'version'>;

/**
 * Returns the properties of the next boot: the file's, overridden by the owner's, then by ours. `before` has the
 * owner's properties of the previous boot: those that the owner no longer sets, and that are unchanged in the file, are
 * dropped.
 */
export function mergeProperties(
  file: ReadonlyMap<string, string>,
  before: ReadonlyMap<string, string>,
  row: PropertiesRow,
  rconPassword: string,
): Map<string, string> {
  const kept = [...file].filter(([key, value]) => before.get(key) !== value || Object.hasOwn(row.properties, key));
  const onlineMode = row.type === SANDBOX ? 'false' : 'true';
  return new Map([
    ...Object.entries({ ...DEFAULTS, 'online-mode': onlineMode }),
    ...kept,
    ...Object.entries(row.properties),
    ...ownedProperties(row, rconPassword),
  ]);
}

/**
 * Writes `server.properties` into a server's data root. Call it before each boot while the game is not running. Atomic,
 * mode 0640 (the file has the RCON password). Rejects with EngineError if the path is a symbolic link, not a plain
 * file, or too large: a plugin could use it to make us read or write elsewhere.
 */
export async function writeProperties(
  dataDir: string,
  row: PropertiesRow,
  rconPassword: string,
  owner?: FileOwner,
): Promise<void> {
  const target = join(dataDir, 'server.properties');
  const ledger = join(dataDir, LEDGER);
  const [was, wasSet] = [await readText(target), await readText(ledger)];
  const merged = mergeProperties(parseProperties(was), parseProperties(wasSet), row, rconPassword);
  const [text, set] = [withHeading(merged), formatProperties(new Map(Object.entries(row.properties)))];
  // Usually neither has changed, which saves two disk syncs between a join and its game.
  if (text !== was) await writePlain(target, text, owner);
  if (set !== wasSet) await writePlain(ledger, set, owner);
}

/**
 * Returns the content of `server.properties`: the values of the last start, and the game's changes since. Rejects like
 * `writeProperties`.
 */
export async function readProperties(dataDir: string): Promise<ReadonlyMap<string, string>> {
  return parseProperties(await readText(join(dataDir, 'server.properties')));
}

/** Returns the content at the next start, without the password. Rejects like `writeProperties`. */
export async function nextProperties(dataDir: string, row: PropertiesRow): Promise<ReadonlyMap<string, string>> {
  const before = parseProperties(await readText(join(dataDir, LEDGER)));
  return mergeProperties(await readProperties(dataDir), before, row, '');
}

/**
 * Keeps a property that was changed other than by the owner's `properties`, and writes `value` to the file if given.
 * Only for a game that is not running. Rejects like `writeProperties`.
 */
export async function keepProperty(
  dataDir: string,
  { name, value }: { name: string; value?: string },
  owner?: FileOwner,
): Promise<void> {
  const ledger = join(dataDir, LEDGER);
  const before = parseProperties(await readText(ledger));
  if (before.delete(name)) await writePlain(ledger, formatProperties(before), owner);
  if (value === undefined) return;
  const target = join(dataDir, 'server.properties');
  const was = await readText(target);
  const text = withHeading(parseProperties(was).set(name, value));
  if (text !== was) await writePlain(target, text, owner);
}

function withHeading(properties: ReadonlyMap<string, string>): string {
  return `#Minecraft server properties\n${formatProperties(properties)}`;
}

/**
 * Records in the data root that Mojang's EULA is accepted. An explicit refusal by the owner stays: the game then
 * reports that the EULA was not accepted and exits.
 */
export async function acceptEula(dataDir: string, owner?: FileOwner): Promise<void> {
  const target = join(dataDir, 'eula.txt');
  const bytes = await readPlainBytes(target, MAX_PROPERTIES_BYTES);
  const said = (parseProperties(decodeText(bytes)).get('eula') ?? '').trim();
  // The game reads a byte order mark as part of the first key.
  const isMarked = bytes.length > 0 && bytes[0]! >= 0x80;
  if (said === '' || (isMarked && said.toLowerCase() === 'true')) await writePlain(target, 'eula=true\n', owner);
}

function readText(path: string): Promise<string> {
  return readPlain(path, MAX_PROPERTIES_BYTES);
}
