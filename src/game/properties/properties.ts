import { join } from 'node:path';
import type { FileOwner } from '../../kernel/atomic-file.ts';
import { BUKKIT_CORES, GAME_PORT, RCON_PORT, SANDBOX } from '../container.ts';
import { managementProperties } from '../management-settings.ts';
import { motdCodes, parseMotd } from '../motd/motd.ts';
import { decodeText } from '../../kernel/decode-text.ts';
import { readPlain, readPlainBytes, writePlain } from '../plain-files.ts';
import type { OwnerSettings } from '../settings.ts';
import { MAX_PROPERTIES_BYTES, formatProperties, parseProperties } from './format.ts';

/** The server-list text if the owner set none. */
export const DEFAULT_MOTD = 'A Minecraft Server';
/** How many players a game takes unless its properties say otherwise. */
export const DEFAULT_MAX_PLAYERS = 20;

// The defaults we give where neither the owner nor the file says anything.
const DEFAULTS = { 'max-players': '20' };

// The properties we last wrote for the owner, so that one the owner removes returns to the game's default.
const LEDGER = '.dormouse-properties';

/** Properties that Dormouse sets itself, by value; an owner's or a file's entries of these names are ignored. */
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
    // The proxy asks for it, and answers the server list while the game sleeps.
    ['enable-status', 'true'],
    // Every player comes from the proxy's address, which is not the one Mojang has seen.
    ['prevent-proxy-connections', 'false'],
    // It would make the game open another port, which is unused.
    ['enable-jmx-monitoring', 'false'],
    ...managementProperties(row, rconPassword),
    // Bukkit knows `§x…`, a colour beyond the sixteen.
    ['motd', motdCodes(parseMotd(motd || DEFAULT_MOTD), { anyColor: BUKKIT_CORES.has(type) })],
  ]);
}

/** The names of these properties. `motd` is a field of the server itself. */
export const OWNED_PROPERTIES: ReadonlySet<string> = new Set(
  ownedProperties({ motd: '', type: '', version: '' }, '').keys(),
);

/** Families of such properties: ports, passwords and outside services that are not an owner's to set. */
const OWNED_FAMILIES = /^(?:rcon|query|management-server|text-filtering|status-heartbeat)[.-]/;

/** Whether an owner may not set a property of this name, as it is Dormouse's own. */
export function isOwnedProperty(name: string): boolean {
  return OWNED_PROPERTIES.has(name) || OWNED_FAMILIES.test(name);
}

/** The part of a server's row that decides its properties. */
export type PropertiesRow = Pick<OwnerSettings, 'motd' | 'properties' | 'type' | 'version'>;

/**
 * The properties of the next boot: what the file holds, then the owner's, then ours. `before` is what the owner had set
 * at the boot before this one: entries of it that are neither set any more nor changed in the file since are dropped.
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
 * Writes `server.properties` into a server's data root, to be called before each boot while the game is down. Atomic,
 * mode 0640 (it holds the RCON password). Rejects with EngineError where a symbolic link or anything but a plain file of
 * sane size lies in its place: a plugin could have put it there to have us read or write elsewhere.
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
  // Mostly neither has changed: two syncs of the disk less between a join and its game.
  if (text !== was) await writePlain(target, text, owner);
  if (set !== wasSet) await writePlain(ledger, set, owner);
}

/**
 * Returns the content of `server.properties`: the values of the last start, and the game's changes since. Rejects as
 * above.
 */
export async function readProperties(dataDir: string): Promise<ReadonlyMap<string, string>> {
  return parseProperties(await readText(join(dataDir, 'server.properties')));
}

/** Returns its content at the next start, without the password. Rejects as above. */
export async function nextProperties(dataDir: string, row: PropertiesRow): Promise<ReadonlyMap<string, string>> {
  const before = parseProperties(await readText(join(dataDir, LEDGER)));
  return mergeProperties(await readProperties(dataDir), before, row, '');
}

/**
 * Makes the file keep a property that was changed other than by the owner's `properties`. `value` is written to it;
 * only for a game that is down. Rejects as above.
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
 * Says in the data root that Mojang's EULA is accepted, for a server for which somebody has. An owner who has written there that
 * they do not is not overruled: the game then says that it was not accepted, and ends.
 */
export async function acceptEula(dataDir: string, owner?: FileOwner): Promise<void> {
  const target = join(dataDir, 'eula.txt');
  const bytes = await readPlainBytes(target, MAX_PROPERTIES_BYTES);
  const said = (parseProperties(decodeText(bytes)).get('eula') ?? '').trim();
  // The game reads a byte order mark as a part of the first key.
  const isMarked = bytes.length > 0 && bytes[0]! >= 0x80;
  if (said === '' || (isMarked && said.toLowerCase() === 'true')) await writePlain(target, 'eula=true\n', owner);
}

function readText(path: string): Promise<string> {
  return readPlain(path, MAX_PROPERTIES_BYTES);
}
