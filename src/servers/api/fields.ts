import { isIP } from 'node:net';
import { CORES, SANDBOX, isProxy, missingCore } from '../../game/cores.ts';
import { MINECRAFT_VERSION, PROXY_VERSION } from '../../game/minecraft-version.ts';
import { checkMotd } from '../../game/motd/motd.ts';
import { pastedValue } from '../../game/properties/format.ts';
import { isOwnedProperty } from '../../game/properties/properties.ts';
import { checkProperty } from '../../game/properties/table.ts';
import { text, textMap } from '../../http/fields.ts';
import { isPublicAddress } from '../../kernel/ip.ts';
import { type FieldViolation, quotaExceeded } from '../../kernel/status.ts';
import { MIB } from '../../kernel/units.ts';
import type { ServerRow } from '../rows.ts';

/** Sources of mod packs. */
export const PLATFORMS = ['modrinth', 'curseforge', 'ftb'];
const PROPERTY = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const MOST_PROPERTIES = 128;
/** Size of a message with the maximum of properties, 4096 characters each, at four bytes per character. */
export const PROPERTIES_BYTES = 3 * MIB;
/** Least RAM that any game of the kind needs to start. */
export const LEAST_RAM_MB = { sandbox: 128, java: 512 };

/** Each line may show 128 characters. Tags and codes do not count, so the parser of the text checks this. */
const TWO_LINES = String.raw`^[^\p{Cc}]*(?:\n[^\p{Cc}]*)?$`;

/** A description in the server list: plain, with `§` codes or MiniMessage; two lines at most. */
export const Motd = text(1_024)
  .superRefine((motd, ctx) => {
    const wrong = checkMotd(motd);
    if (wrong !== undefined) ctx.addIssue({ code: 'custom', message: wrong });
  })
  .meta({ pattern: TWO_LINES });

/** Accepted in any case. An unknown type is reported with the other problems (`checkGame`). */
export const CoreType = text(32)
  .toLowerCase()
  .meta({ pattern: `^(?:|${CORES.join('|')})$` });

/** In requests; checked by `checkGame`. */
export const GameVersion = text(32).meta({ pattern: `^$|${MINECRAFT_VERSION.source}|${PROXY_VERSION.source}` });

/** In requests; checked by `checkPlan`. */
export const PlanName = text(16).meta({ pattern: '^(?:|metered|flat)$' });

/** In requests, in any case; checked when the pack is looked up. */
export const PackPlatform = text(32)
  .toLowerCase()
  .meta({ pattern: `^(?:${PLATFORMS.join('|')})$` });

/** In requests; checked by `checkProperties`. */
export const PropertyMap = textMap().transform((properties) =>
  Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, pastedValue(value)])),
);

/** Yields a violation for each property that is managed by Dormouse or that the game's version does not have. */
export function* checkProperties({
  properties,
  type,
  version,
}: Pick<ServerRow, 'properties' | 'type' | 'version'>): Generator<FieldViolation> {
  const entries = Object.entries(properties);
  if (isProxy(type) && entries.length > 0) {
    yield { field: 'properties', description: `must be empty: ${type} has no server.properties` };
    return;
  }
  if (entries.length > MOST_PROPERTIES) {
    yield { field: 'properties', description: `must have at most ${MOST_PROPERTIES} entries` };
    return;
  }
  for (const [name, value] of entries) {
    const field = `properties.${name}`;
    if (!PROPERTY.test(name)) yield { field: 'properties', description: 'has a key that is not a property name' };
    else if (isOwnedProperty(name)) yield { field, description: OWNERS[name] ?? 'is set by the service itself' };
    else {
      const wrong = checkProperty(name, value, type === SANDBOX ? '' : version);
      if (wrong !== undefined) yield { field, description: wrong };
    }
  }
}

/** Properties set elsewhere, with the place to set them. */
const OWNERS: Record<string, string> = {
  motd: 'is a field of the server; set it with SetServerMotd',
  'prevent-proxy-connections':
    'would lock all players out, because they come through the proxy, which has another address',
};

/** Yields violations of core and game version, as at creation. A pack brings its own version. */
export function* checkGame(
  { type, version, modpackPlatform }: Pick<ServerRow, 'type' | 'version' | 'modpackPlatform'>,
  sandboxVersions: readonly string[],
): Generator<FieldViolation> {
  if (type === '') yield { field: 'type', description: 'is required with a mod pack' };
  else if (!CORES.includes(type)) yield { field: 'type', description: `must be one of ${CORES.join(', ')}` };
  if (version === '') {
    if (modpackPlatform === '') yield { field: 'version', description: 'is required for this type' };
  } else if (isProxy(type)) {
    if (!PROXY_VERSION.test(version)) yield { field: 'version', description: `is not a version of ${type}` };
  } else if (!MINECRAFT_VERSION.test(version)) {
    yield { field: 'version', description: 'is not a Minecraft version' };
  } else if (type === SANDBOX && !sandboxVersions.includes(version)) {
    yield { field: 'version', description: 'is not offered by the sandbox' };
  } else if (modpackPlatform === '') {
    const description = missingCore({ type, version });
    if (description !== undefined) yield { field: 'version', description };
  }
}

export function leastRamMb(type: string): number {
  return type === SANDBOX ? LEAST_RAM_MB.sandbox : LEAST_RAM_MB.java;
}

export function* checkPlan(plan: string): Generator<FieldViolation> {
  if (plan !== 'metered' && plan !== 'flat') yield { field: 'plan', description: 'must be metered or flat' };
}

export interface RamLimits {
  accountLimits: { of(accountId: string): { maxRamMb: number } };
  /** The machine's capacity for games, or that of the largest in a region. */
  capacity: { now(region?: string): { ramPerServerMb: number } };
  config: { nodeLabel: string };
}

/**
 * Throws MAX_RAM if a server with this much RAM exceeds its account's total. `usedMb`: RAM of the account's other
 * servers.
 */
export function requireRam(
  { accountId, ramMb, usedMb }: { accountId: string; ramMb: number; usedMb: number },
  { accountLimits }: RamLimits,
): void {
  const { maxRamMb } = accountLimits.of(accountId);
  if (usedMb + ramMb <= maxRamMb) return;
  const message =
    `The account's servers can have ${maxRamMb} MB of RAM in total, asleep or awake. The others have ${usedMb} MB, ` +
    `and this one needs ${ramMb} MB. Give it less, delete another server, or ask the operator for more.`;
  throw quotaExceeded('MAX_RAM', `account:${accountId}`, message, {
    limitMb: String(maxRamMb),
    usedMb: String(usedMb),
    neededMb: String(ramMb),
  });
}

/**
 * Yields a violation if a game of the type cannot run in the RAM. Throws MAX_RAM above the account's limit,
 * NODE_CAPACITY above the capacity of the nodes.
 */
export function* checkRam(
  { accountId, type, ramMb, region }: { accountId: string; type: string; ramMb: number; region: string },
  { accountLimits, capacity, config: { nodeLabel } }: RamLimits,
): Generator<FieldViolation> {
  const least = leastRamMb(type);
  if (ramMb < least) yield { field: 'ramMb', description: `must be at least ${least}` };
  const { maxRamMb } = accountLimits.of(accountId);
  if (ramMb > maxRamMb) {
    throw quotaExceeded('MAX_RAM', `account:${accountId}`, `An account can have at most ${maxRamMb} MB of RAM.`, {
      limitMb: String(maxRamMb),
    });
  }
  const { ramPerServerMb } = capacity.now(region);
  if (ramMb > ramPerServerMb) {
    const message = `${nodeLabel} has ${ramPerServerMb} MB of RAM for games. A server of ${ramMb} MB can never start.`;
    throw quotaExceeded('NODE_CAPACITY', `node:${nodeLabel}`, message, { node: nodeLabel, resource: 'RAM' });
  }
}

/** Longer than the webhooks of all chat platforms. */
const MAX_CHARS = 2_048;

/**
 * Returns the problem of a webhook's URL as a sentence for its owner; undefined if it is valid. Checks the text alone:
 * the host name is resolved at each delivery, because it may change.
 */
export function checkWebhookUrl(text: string): string | undefined {
  if (text.length > MAX_CHARS) return `A webhook URL can have at most ${MAX_CHARS} characters.`;
  // The parser also normalizes IP addresses written in octal, as one number, or in full width.
  const url = URL.parse(text);
  if (url === null) return 'This is not a URL. A webhook looks like https://example.com/hook.';
  if (url.protocol !== 'https:') return 'A webhook URL must begin with https://.';
  if (url.username !== '' || url.password !== '') return 'A webhook URL must not contain a user name or password.';
  if (url.port !== '') return 'Webhooks always use port 443. Leave the port out.';
  const host = hostOf(url);
  if (isIP(host) !== 0) return isPublicAddress(host) ? undefined : 'A webhook must be at a public address.';
  if (!host.includes('.') || LOCAL_NAME.test(host)) return 'A webhook must have a public host name.';
  return undefined;
}

/**
 * Names that do not resolve on the public internet (RFC 6761, RFC 6762 §3, RFC 8375, and ICANN's reserved `internal`).
 */
const LOCAL_NAME = /\.(?:localhost|local|internal|home\.arpa|test|invalid)$/;

/** Returns the host of a URL: an IPv6 address without brackets, a name without its trailing dot. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname.replace(/\.$/, '');
}
