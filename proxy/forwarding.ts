import { createDecipheriv } from 'node:crypto';
import { isIP } from 'node:net';
import { FLOODGATE } from './hostname.ts';
import { normalAddress } from './limits.ts';
import { ACCOUNT_NAME } from './ports.ts';

/** The identity of a player that a proxy in front reports. Absent fields: it does not report them. */
export interface Forwarded {
  /** In the form that sockets report. */
  ip?: string;
  /** As 8-4-4-4-12, in lower case. */
  uuid?: string;
  name?: string;
}

/** Most parts of a server address that are read: more than the known proxies and mod loaders append together. */
const MOST_PARTS = 16;
const UUID = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/i;
const NAME_UNITS = 16;
/** Floodgate's default prefix of Bedrock names. */
const BEDROCK_PREFIX = '.';
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Fields of Floodgate's data up to the linked account. */
const BEDROCK_FIELDS = 9;

/**
 * Returns the player that a proxy in front forwards in the server address of a handshake. BungeeCord and Velocity
 * (legacy forwarding, also with BungeeGuard) append the address and the UUID; Floodgate's data is read if `floodgateKey`
 * decrypts it. Only for proxies that are trusted: any client can send the same.
 */
export function readForwarded(serverAddress: string, floodgateKey: Buffer | undefined): Forwarded {
  const parts = serverAddress.split('\0', MOST_PARTS);
  const sealedAt = parts.findIndex((part) => part.startsWith(FLOODGATE));
  const sealed = parts[sealedAt];
  const player = (sealed !== undefined && floodgateKey && bedrockPlayer(sealed, floodgateKey)) || undefined;
  // The first pair counts, because the data of a player's own client can only follow it. Before Floodgate's data, it may
  // be in the host name that Geyser copies from the client.
  for (let at = 1; at < parts.length - 1; at++) {
    const ip = addressIn(parts[at]);
    const uuid = uuidIn(parts[at + 1]);
    if (ip !== undefined && uuid !== undefined) return player && sealedAt > at ? player : { ip, uuid };
  }
  return player ?? {};
}

/** Reports whether the proxy in front has checked the player's account, so that the UUID is not made from the name. */
export function isVerified(forwarded: Forwarded | undefined): boolean {
  return forwarded?.uuid !== undefined && forwarded.uuid[14] !== '3';
}

/** Reports whether `text` is a Floodgate key in base64: 128 bits. */
export function isFloodgateKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{22}==$/.test(text);
}

function addressIn(text = ''): string | undefined {
  // A zone has no meaning on another machine.
  const [address = ''] = text.split('%', 1);
  return isIP(address) === 0 ? undefined : normalAddress(address);
}

function uuidIn(text = ''): string | undefined {
  const groups = UUID.exec(text)?.slice(1);
  return groups?.join('-').toLowerCase();
}

/**
 * Decrypts Floodgate's data: the identifier, a version, the initialization vector, `!` and the sealed fields, both in
 * base64. Returns undefined for data of another key or version.
 */
function bedrockPlayer(sealed: string, key: Buffer): Forwarded | undefined {
  const [iv = '', data = ''] = sealed.slice(FLOODGATE.length + 1).split('!', 2);
  const fields = opened(Buffer.from(iv, 'base64'), Buffer.from(data, 'base64'), key)?.split('\0') ?? [];
  const [, username = '', xuid = '', , , , , ip, linked = ''] = fields;
  if (fields.length < BEDROCK_FIELDS || !/^\d{1,19}$/.test(xuid)) return undefined;
  // A Bedrock player may have linked a Java account, which the game then uses.
  const [javaName = '', javaUuid] = linked.split(';', 2);
  const account = ACCOUNT_NAME.test(javaName) ? uuidIn(javaUuid) : undefined;
  const address = addressIn(ip);
  return {
    ...(address === undefined ? {} : { ip: address }),
    uuid: account ?? bedrockUuid(xuid),
    name: account ? javaName : `${BEDROCK_PREFIX}${username.replaceAll(' ', '_')}`.slice(0, NAME_UNITS),
  };
}

/** Returns Floodgate's UUID of a Bedrock player: the Xbox account's number. */
function bedrockUuid(xuid: string): string {
  const hex = BigInt(xuid).toString(16).padStart(16, '0');
  return `00000000-0000-0000-${hex.slice(0, 4)}-${hex.slice(4)}`;
}

function opened(iv: Buffer, data: Buffer, key: Buffer): string | undefined {
  if (iv.length !== IV_BYTES || data.length < TAG_BYTES) return undefined;
  const decipher = createDecipheriv('aes-128-gcm', key, iv, { authTagLength: TAG_BYTES });
  try {
    const text = decipher.setAuthTag(data.subarray(-TAG_BYTES)).update(data.subarray(0, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
