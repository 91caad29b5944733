import { BlockList, isIP } from 'node:net';
import { resolve } from 'node:path';

/** A kind of setting: how its text is read. */
export interface Kind<T> {
  /** Completes "must be …". */
  expected: string;
  /** Undefined where the text is not of this kind. Gets '' where a setting without default is not set. */
  parse(text: string): T | undefined;
}

export const text: Kind<string> = { expected: 'text', parse: (value) => value };

/** An absolute path, made from the working directory. */
export const directory: Kind<string> = {
  expected: 'a directory',
  parse: (value) => (value.includes('\0') ? undefined : resolve(value)),
};

/** Absolute paths, made from the working directory. */
export const directories: Kind<string[]> = {
  expected: 'folders separated by colons or commas',
  parse: (value) =>
    value.includes('\0') ? undefined : value.split(/[:,]/).flatMap((path) => (path === '' ? [] : [resolve(path)])),
};

/** An address to listen on. */
export const host = pattern(/^[0-9A-Za-z:.%-]{1,253}$/, 'an IP address or a host name');

/** A host, or a host and its port. */
export function endpoint(defaultPort: number): Kind<{ host: string; port: number }> {
  return {
    expected: 'host or host:port',
    parse(value) {
      const parts = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|([0-9A-Za-z.-]{1,253}))(?::(\d{1,5}))?$/.exec(value);
      const number = Number(parts?.[3] ?? defaultPort);
      return parts && number > 0 && number < 65_536 ? { host: parts[1] ?? parts[2] ?? '', port: number } : undefined;
    },
  };
}

export const domain = pattern(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'a host name in lower case');

export const code = pattern(/^[a-z0-9][a-z0-9-]{0,31}$/, 'lower-case letters, digits and hyphens');

export const image = pattern(/^[a-z0-9][A-Za-z0-9._/:@-]{0,254}$/, 'the name of a container image');

/** 0 means: any free port. */
export const port = integer(0, 65_535);

/** Hosts of accounts as MySQL has them, separated by commas or blanks. */
export const accountHosts: Kind<string[]> = {
  expected: 'hosts of MySQL accounts such as 127.0.0.1,10.%,172.16.0.0/255.240.0.0',
  parse(value) {
    const all = value.split(/[\s,]+/).filter((entry) => entry !== '');
    return all.length > 0 && all.every((entry) => /^[0-9A-Za-z.:%_/-]{1,255}$/.test(entry)) ? all : undefined;
  },
};

/** Both ends included. */
export const portRange: Kind<{ from: number; to: number }> = {
  expected: 'a range of ports such as 32000-32767',
  parse(value) {
    const [, from, to] = (/^(\d{1,5})-(\d{1,5})$/.exec(value) ?? []).map(Number);
    const right = from !== undefined && to !== undefined && from > 0 && from <= to && to < 65_536;
    return right ? { from, to } : undefined;
  },
};

/** Millionths of the currency. */
export const micros = integer(0, Number.MAX_SAFE_INTEGER);

/** For a GB. Times the RAM of the largest server it still fits where databases count, and a flat period into a wallet. */
export const price: Kind<number> = {
  ...integer(0, 500_000_000_000),
  expected: 'a price in millionths of the currency, a whole number from 0 to 500000000000',
};

/** Null where not set. */
export const credit = optional(micros);

export const engine = oneOf('auto', 'docker', 'process');

export const flag: Kind<boolean> = {
  expected: 'true or false',
  parse: (value) => ({ true: true, false: false })[value],
};

export const webUrl = url('http', 'https');

export const dockerUrl = url('unix', 'tcp', 'http', 'https', 'ssh', 'npipe');

export const mysqlUrl = optional(url('mysql', 'mariadb'));

export const smtpUrl = optional(url('smtp', 'smtps'));

export const mailbox = pattern(/^[^\s@<>",;]{1,64}@[A-Za-z0-9.-]{1,253}$/, 'an e-mail address');

/** `postgres://…`, `sqlite:<path>`, or `sqlite::memory:` (a private database that is gone with the process). */
export const databaseUrl: Kind<string | null> = optional({
  expected: 'postgres://… or sqlite:<file>',
  parse: (value) => (/^sqlite:.+/.test(value) || urlOf(value, ['postgres', 'postgresql']) ? value : undefined),
});

export const logLevel = oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent');

/** Single addresses and CIDRs, separated by commas or spaces. */
export const cidrs: Kind<BlockList> = {
  expected: 'a list of IP addresses and CIDRs such as 10.0.0.0/8, fd00::/8',
  parse(value) {
    const list = new BlockList();
    const all = value.split(/[\s,]+/).filter((entry) => entry !== '');
    return all.every((entry) => addSubnet(list, entry)) ? list : undefined;
  },
};

export function integer(from: number, to: number): Kind<number> {
  return {
    expected: `a whole number from ${from} to ${to}`,
    parse(value) {
      const number = /^\d{1,16}$/.test(value) ? Number(value) : NaN;
      return number >= from && number <= to ? number : undefined;
    },
  };
}

export function oneOf<const T extends string>(...values: T[]): Kind<T> {
  return {
    expected: `one of ${values.join(', ')}`,
    parse: (value) => values.find((candidate) => candidate === value),
  };
}

export function pattern(shape: RegExp, expected: string): Kind<string> {
  return { expected, parse: (value) => (shape.test(value) ? value : undefined) };
}

/** A URL without trailing slash, query or fragment. */
export function url(...protocols: string[]): Kind<string> {
  return {
    expected: `a URL that begins with ${protocols.map((protocol) => `${protocol}://`).join(' or ')}`,
    parse(value) {
      const parsed = urlOf(value, protocols);
      return parsed && !parsed.search && !parsed.hash ? value.replace(/\/+$/, '') : undefined;
    },
  };
}

/** The same kind, or null for a setting that may stay empty. */
export function optional<T>(kind: Kind<T>): Kind<T | null> {
  return { expected: `${kind.expected}, or empty`, parse: (value) => (value === '' ? null : kind.parse(value)) };
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

/** Variables for the sandbox core, `NAME=value` separated by commas or blanks, without their prefix. */
export const faults: Kind<Record<string, string>> = {
  expected: 'faults of the sandbox core such as START_MS=45000,IGNORE_STOP=true',
  parse(value) {
    const all = value.split(/[\s,]+/).filter((entry) => entry !== '');
    if (!all.every((entry) => /^[A-Z_]+=\w+$/.test(entry))) return undefined;
    return Object.fromEntries(
      all.map((entry) => entry.split('=', 2) as [string, string]).map(([k, v]) => [`SANDBOX_${k}`, v]),
    );
  },
};

/** MB for servers of up to so much RAM, smallest first; the last one is for all above. One number is for all. */
export const mbByRam: Kind<{ ramMb: number; quotaMb: number }[]> = {
  expected: 'a number of MB, or pairs of RAM and MB such as 2048:10240,4096:20480',
  parse(value) {
    const pairs = value.split(/[\s,]+/).filter((entry) => entry !== '');
    const all = pairs.map((pair) => /^(?:(\d{1,9}):)?(\d{1,9})$/.exec(pair));
    const tiers = all.flatMap((match) =>
      match ? [{ ramMb: Number(match[1] ?? Infinity), quotaMb: Number(match[2]) }] : [],
    );
    if (tiers.length < all.length || (all.length > 1 && tiers.some(({ ramMb }) => ramMb === Infinity)))
      return undefined;
    return tiers.toSorted((a, b) => a.ramMb - b.ramMb);
  },
};
