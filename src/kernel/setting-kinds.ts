import { readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { resolve } from 'node:path';
import { distance } from 'fastest-levenshtein';
import * as z from 'zod';

/**
 * Parses a setting's text. The description completes "must be …". Receives '' if a setting without default is not set.
 */
export type Kind<T> = z.ZodType<T, string>;

export const text = z.string().describe('text');

const path = z.string().refine((value) => !value.includes('\0'));

/** A path, resolved against the working directory. */
export const directory = path.transform((value) => resolve(value)).describe('a directory');

/** Paths, each resolved against the working directory. */
export const directories = path
  .transform((value) => value.split(/[:,]/).flatMap((each) => (each === '' ? [] : [resolve(each)])))
  .describe('folders separated by colons or commas');

/** An address to listen on. */
export const host = pattern(/^[0-9A-Za-z:.%-]{1,253}$/, 'an IP address or a host name');

/** A host with an optional port. */
export function endpoint(defaultPort: number): Kind<{ host: string; port: number }> {
  const shape = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|([0-9A-Za-z.-]{1,253}))(?::(\d{1,5}))?$/;
  return pattern(shape, 'host or host:port')
    .transform((value) => shape.exec(value) ?? [])
    .transform(([, v6, other = '', number]) => ({ host: v6 ?? other, port: Number(number ?? defaultPort) }))
    .refine(({ port }) => port > 0 && port < 65_536)
    .describe('host or host:port');
}

export const domain = pattern(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'a host name in lower case');

export const code = pattern(/^[a-z0-9][a-z0-9-]{0,31}$/, 'lower-case letters, digits and hyphens');

export const networkName = pattern(/^[a-z0-9][a-z0-9_-]{0,50}$/, 'the name of a Docker network');

export const image = pattern(/^[a-z0-9][A-Za-z0-9._/:@-]{0,254}$/, 'the name of a container image');

/** 0 means: any free port. */
export const port = integer(0, 65_535);

/** Hosts of MySQL accounts, separated by commas or spaces. */
export const accountHosts = list(/^[0-9A-Za-z.:%_/-]{1,255}$/)
  .refine((all) => all.length > 0)
  .describe('hosts of MySQL accounts such as 127.0.0.1,10.%,172.16.0.0/255.240.0.0');

/** A range of ports, both ends included. */
export const portRange = pattern(/^\d{1,5}-\d{1,5}$/, '')
  .transform((value) => value.split('-').map(Number))
  .transform(([from = 0, to = 0]) => ({ from, to }))
  .refine(({ from, to }) => from > 0 && from <= to && to < 65_536)
  .describe('a range of ports such as 32000-32767');

/** An amount in millionths of the currency. */
export const micros = integer(0, Number.MAX_SAFE_INTEGER);

/**
 * A price per GB. The maximum times the RAM of the largest server still fits the database, and a flat period's price
 * still fits a wallet.
 */
export const price = integer(0, 500_000_000_000).describe(
  'a price in millionths of the currency, a whole number from 0 to 500000000000',
);

/** Null if not set. */
export const credit = optional(micros);

export const engine = oneOf('auto', 'docker', 'swarm', 'process');

export const flag = z
  .enum(['true', 'false'])
  .transform((value) => value === 'true')
  .describe('true or false');

export const webUrl = url('http', 'https');

/** The URL of a whole host, because links, cookies and API paths begin at its root. */
export const siteUrl = webUrl
  .refine((value) => URL.parse(value)?.pathname === '/')
  .describe('an http:// or https:// URL without a path');

/**
 * A provider's URL, encrypted unless it is on this machine, or `discord`. Null if not set. The text stays as it is: an
 * issuer that ends in a slash is another one without it.
 */
export const issuer = optional(
  z
    .string()
    .refine((value) => {
      const { protocol, hostname, search, hash } = URL.parse(value) ?? {};
      const isHere = protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname ?? '');
      return value === 'discord' || ((protocol === 'https:' || isHere) && search === '' && hash === '');
    })
    .describe('an https:// URL or discord'),
);

export const dockerUrl = url('unix', 'tcp', 'http', 'https', 'ssh', 'npipe');

export const mysqlUrl = optional(url('mysql', 'mariadb'));

export const smtpUrl = optional(url('smtp', 'smtps'));

export const mailbox = pattern(/^[^\s@<>",;]{1,64}@[A-Za-z0-9.-]{1,253}$/, 'an e-mail address');

/** `postgres://…`, `sqlite:<path>`, or `sqlite::memory:` (a private database that ends with the process). */
export const databaseUrl = optional(
  z
    .string()
    .refine((value) => /^sqlite:.+/.test(value) || urlOf(value, ['postgres', 'postgresql']) !== undefined)
    .describe('postgres://… or sqlite:<file>'),
);

export const logLevel = oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent');

const NETWORKS = 'a list of IP addresses and CIDRs such as 10.0.0.0/8, fd00::/8';

/** Addresses and CIDRs as text, separated by commas or spaces. */
export const networks = list(/^/)
  .refine((all) => all.every((entry) => addSubnet(new BlockList(), entry)))
  .describe(NETWORKS);

/** Networks as a `BlockList`, to look up addresses. */
export const cidrs = networks
  .transform((all) => {
    const subnets = new BlockList();
    for (const entry of all) addSubnet(subnets, entry);
    return subnets;
  })
  .describe(NETWORKS);

export function integer(from: number, to: number): Kind<number> {
  return pattern(/^\d{1,16}$/, '')
    .transform(Number)
    .refine((number) => number >= from && number <= to)
    .describe(`a whole number from ${from} to ${to}`);
}

export function oneOf<const T extends string>(...values: T[]): Kind<T> {
  return z.enum(values).describe(`one of ${values.join(', ')}`);
}

export function pattern(shape: RegExp, expected: string): Kind<string> {
  return z.string().regex(shape).describe(expected);
}

/** Entries separated by commas or spaces. */
function list(shape: RegExp): Kind<string[]> {
  return z
    .string()
    .transform((value) => value.split(/[\s,]+/).filter((entry) => entry !== ''))
    .refine((all) => all.every((entry) => shape.test(entry)));
}

/** A URL without trailing slash, query or fragment. */
export function url(...protocols: string[]): Kind<string> {
  return z
    .string()
    .refine((value) => {
      const parsed = urlOf(value, protocols);
      return parsed && !parsed.search && !parsed.hash;
    })
    .transform((value) => value.replace(/(?<!\/)\/+$/, ''))
    .describe(`a URL that begins with ${protocols.map((protocol) => `${protocol}://`).join(' or ')}`);
}

/** A kind, or null for a setting that may stay empty. */
export function optional<T>(kind: Kind<T>): Kind<T | null> {
  return z.union([z.literal('').transform(() => null), kind]).describe(`${kind.description}, or empty`);
}

function urlOf(value: string, protocols: string[]): URL | undefined {
  const parsed = URL.parse(value);
  return parsed && value.includes('://') && protocols.includes(parsed.protocol.slice(0, -1)) ? parsed : undefined;
}

function addSubnet(list: BlockList, entry: string): boolean {
  const [address = '', prefix, ...rest] = entry.split('/');
  const version = isIP(address);
  const bits = version === 4 ? 32 : 128;
  const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : NaN;
  if (version === 0 || rest.length > 0 || !(length <= bits)) return false;
  list.addSubnet(address, length, version === 4 ? 'ipv4' : 'ipv6');
  return true;
}

/** Variables for the sandbox core as `NAME=value`, without the prefix `SANDBOX_`, separated by commas or spaces. */
export const faults = list(/^[A-Z_]+=\w+$/)
  .transform((all) => Object.fromEntries(all.map((entry) => `SANDBOX_${entry}`.split('=', 2) as [string, string])))
  .describe('faults of the sandbox core such as START_MS=45000,IGNORE_STOP=true');

/**
 * MB by maximum RAM of a server, smallest first. The last pair also applies to larger servers. A single number applies
 * to all.
 */
export const mbByRam = list(/^(?:\d{1,9}:)?\d{1,9}$/)
  .transform((all) => all.map((pair) => pair.split(':').map(Number).toReversed()))
  .transform((all) => all.map(([quotaMb = 0, ramMb = Infinity]) => ({ ramMb, quotaMb })))
  .refine((tiers) => tiers.length < 2 || tiers.every(({ ramMb }) => ramMb < Infinity))
  .transform((tiers) => tiers.toSorted((a, b) => a.ramMb - b.ramMb))
  .describe('a number of MB, or pairs of RAM and MB such as 2048:10240,4096:20480');

/** `restic:<repository>`, without a trailing slash. */
export const archiveStore = pattern(/^restic:\S{1,500}$/, '')
  .transform((value) => value.replace(/\/$/, ''))
  .describe('restic: and a repository such as restic:s3:https://host/bucket or restic:/mnt/backups');

/** Floodgate's 128-bit key, or empty. Despite the name `key.pem`, the file contains only the bytes of the key. */
export const floodgateKey = pattern(/^(?:[A-Za-z0-9+/]{22}==)?$/, 'the output of `base64 -w0 key.pem`, or empty');

/** Returns the known name closest to a mistyped one; undefined if the name is known or none is close. */
export function meantBy(given: string, known: readonly string[]): string | undefined {
  if (known.includes(given)) return undefined;
  return known.find(
    (name) =>
      bare(name) === bare(given) || (name.length > 7 && (distance(name, given) === 1 || isSwapped(name, given))),
  );
}

/** Reports whether the names differ only by two swapped neighbouring letters. */
function isSwapped(name: string, given: string): boolean {
  const at = Array.from(name).findIndex((letter, index) => letter !== given[index]);
  return given === `${name.slice(0, at)}${name[at + 1]}${name[at]}${name.slice(at + 2)}`;
}

function bare(name: string): string {
  return name.replaceAll(/[^a-z\d]/gi, '').toUpperCase();
}

const MOST_BYTES = 65_536;

/** Returns the name of the variable with the path of a secret's file, which replaces the secret itself. */
export function fileVariable(name: string): string {
  return `${name}_FILE`;
}

/**
 * Reads secrets from files, as Docker and systemd provide them: `NAME_FILE=/run/secrets/name`. Returns the settings
 * with each secret under its own name, trimmed. Throws an Error whose message is one sentence without a secret.
 */
export function withSecretFiles(texts: NodeJS.Dict<string>, secrets: readonly string[]): NodeJS.Dict<string> {
  const read: NodeJS.Dict<string> = {};
  for (const name of secrets) {
    const file = texts[fileVariable(name)]?.trim();
    if (!file) continue;
    if (texts[name]?.trim()) throw new Error(`${name} and ${fileVariable(name)} are both set. Remove one of them.`);
    read[name] = contentOf(file, fileVariable(name));
  }
  return { ...texts, ...read };
}

function contentOf(file: string, variable: string): string {
  let content: string;
  try {
    content = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${variable} names ${file}, which cannot be read (${code}).`, { cause: error });
  }
  if (content === '') throw new Error(`${variable} names ${file}, which is empty.`);
  if (content.length > MOST_BYTES) throw new Error(`${variable} names ${file}, which is too large for a secret.`);
  return content;
}
