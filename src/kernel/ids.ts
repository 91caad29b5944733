import { hash, randomBytes, randomFillSync } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
/** Maximum length of a slug. */
export const SLUG_LENGTH = 40;

/** Prefixes of bearer tokens: an API key, an app token (device grant), a device_code (RFC 8628 §3.2). */
const PREFIXES = { key: 'dmk_', app: 'dma_', device: 'dmd_' } as const;
const TOKEN = new RegExp(`^(?:dmk|dma|dmd)_[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`);

export type TokenKind = keyof typeof PREFIXES;

/**
 * Names that servers must not have, because they are or may become hosts of the installation's own domain, or paths.
 */
const RESERVED: ReadonlySet<string> = new Set(
  `admin api app assets auth billing cdn console control dashboard device docs dormouse ftp healthz imap localhost login
  mail metrics mx new ns ns1 ns2 openapi operator proxy readyz root sftp signin signup smtp status v1 webmail www`.split(
    /\s+/,
  ),
);

/**
 * Converts a name to a slug: lower-case ASCII letters, digits and single inner hyphens, at most 40 characters. Drops
 * accents, and appends `-server` to a reserved name. Returns '' if no character remains; the caller then asks for an
 * id.
 */
export function slugify(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{Mark}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, SLUG_LENGTH + 1)
    .replace(/^-/, '')
    .slice(0, SLUG_LENGTH)
    .replace(/-$/, '');
  return RESERVED.has(slug) ? `${slug}-server` : slug;
}

/**
 * Reports whether a text can be a server's id: 1–40 of a–z, 0–9 and inner hyphens (a DNS label, RFC 1123 §2.1), not
 * reserved.
 */
export function isSlug(text: string): boolean {
  return SLUG.test(text) && !RESERVED.has(text);
}

/**
 * Returns a new id of an account, user, key, schedule, template or webhook: the prefix, `_` and 16 base62 characters
 * (95 bits).
 */
export function newId(prefix: 'acc' | 'usr' | 'key' | 'sch' | 'tpl' | 'whk'): string {
  return `${prefix}_${randomBase62(16)}`;
}

let ordered = 0;

/**
 * Returns a new id that sorts by time, and within a millisecond by order of creation. It begins with hex digits, which
 * every database collation sorts alike, and ends with 8 random characters.
 */
export function timeOrderedId(prefix: 'aud' | 'dlv', at: number): string {
  ordered = (ordered + 1) % 0x1_00_00_00;
  return `${leastIdAt(prefix, at)}${hex(ordered, 6)}${randomBase62(8)}`;
}

/** Returns a text that sorts after all ids of earlier times and before those of this time. */
export function leastIdAt(prefix: 'aud' | 'dlv', at: number): string {
  return `${prefix}_${hex(at, 12)}`;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

/**
 * Creates a bearer token of 42 characters: the prefix, 32 random base62 characters (190 bits), and the CRC32 of both in
 * base62.
 */
export function mintToken(kind: TokenKind): string {
  const body = PREFIXES[kind] + randomBase62(SECRET_LENGTH);
  return body + checksum(body);
}

/** Returns the kind of a token by its format and checksum; undefined for other text, which then needs no query. */
export function parseToken(text: string): TokenKind | undefined {
  if (!TOKEN.test(text)) return undefined;
  if (checksum(text.slice(0, -CHECKSUM_LENGTH)) !== text.slice(-CHECKSUM_LENGTH)) return undefined;
  return (Object.keys(PREFIXES) as TokenKind[]).find((kind) => text.startsWith(PREFIXES[kind]));
}

/** Returns a new secret that is never typed: 256 bits as 43 characters of base64url. */
export function randomToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Whether a text has the format of `randomToken`. */
export function isRandomToken(text: string): boolean {
  return /^[\w-]{43}$/.test(text);
}

/**
 * Returns the SHA-256 of a token in hex, under which it is stored and looked up. Strong enough for 190 or more random
 * bits; never for passwords.
 */
export function hashToken(token: string): string {
  return hash('sha256', token);
}

/** Unused random bytes. One call for all of them costs as much as one for a few. */
const spare = Buffer.alloc(1_024);
let used = spare.length;

/** Returns unbiased base62 characters from a cryptographic random generator. */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    if (used === spare.length) {
      randomFillSync(spare);
      used = 0;
    }
    const byte = spare[used]!;
    spare[used++] = 0;
    // Skips bytes from 248, the largest multiple of 62 below 256. Otherwise the first characters would be more frequent.
    if (byte < 248) text += ALPHABET.charAt(byte % 62);
  }
  return text;
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    digits = ALPHABET.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
