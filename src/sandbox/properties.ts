import { existsSync } from 'node:fs';
import { readText, writeAtomic } from './files.ts';

/** Defaults of missing properties: the values of the vanilla server, except for the flat world. */
const DEFAULTS: Record<string, string> = {
  'allow-flight': 'false',
  'broadcast-rcon-to-ops': 'true',
  difficulty: 'easy',
  'enable-rcon': 'false',
  'enable-status': 'true',
  'enforce-whitelist': 'false',
  gamemode: 'survival',
  hardcore: 'false',
  'hide-online-players': 'false',
  'level-name': 'world',
  'level-seed': '',
  'level-type': 'minecraft:flat',
  'management-server-enabled': 'false',
  'management-server-host': 'localhost',
  'management-server-port': '0',
  'management-server-secret': '',
  'management-server-tls-enabled': 'true',
  'max-players': '20',
  motd: 'A Minecraft Server',
  'online-mode': 'true',
  'op-permission-level': '4',
  pvp: 'true',
  'rcon.password': '',
  'rcon.port': '25575',
  'server-ip': '',
  'server-port': '25565',
  'simulation-distance': '10',
  'view-distance': '10',
  'white-list': 'false',
};

/** Reads the text of a Java properties file: comments, `=` or `:` between key and value, `\uXXXX` and `\:` escapes. */
export function parseProperties(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split(/\r\n|\r|\n/)) {
    const match = /^\s*((?:\\.|[^\\=:\s#!])(?:\\.|[^\\=:\s])*)\s*(?:[=:]\s*)?(.*)$/.exec(line);
    if (match) found.set(unescape(match[1]!), unescape(match[2]!));
  }
  return found;
}

/** Formats properties for `parseProperties`, sorted by key, in ASCII. */
export function formatProperties(properties: ReadonlyMap<string, string>): string {
  const lines = [...properties].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => propertyLine(key, value));
  return `#Minecraft server properties\n${lines.join('\n')}\n`;
}

function propertyLine(key: string, value: string): string {
  return `${escape(key).replaceAll(/[ :=]/g, '\\$&')}=${escape(value).replace(/^ /, '\\ ')}`;
}

function unescape(text: string): string {
  return text.replaceAll(/\\(?:u([0-9a-fA-F]{4})|(.))/g, (_, hex: string | undefined, char: string | undefined) => {
    if (hex) return String.fromCharCode(Number.parseInt(hex, 16));
    return { n: '\n', r: '\r', t: '\t', f: '\f' }[char!] ?? char!;
  });
}

function escape(text: string): string {
  const named = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
  return named.replaceAll(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** `server.properties` of one server, with this run's overrides on top. */
export class ServerProperties {
  readonly #path: string;
  readonly #overrides: ReadonlyMap<string, string>;
  #values: Map<string, string>;

  constructor(path: string, overrides: Record<string, string>) {
    this.#path = path;
    this.#overrides = new Map(Object.entries(overrides));
    this.#values = existsSync(path) ? parseProperties(readText(path)) : new Map<string, string>();
  }

  get(key: string): string {
    return this.#overrides.get(key) ?? this.#values.get(key) ?? DEFAULTS[key] ?? '';
  }

  is(key: string): boolean {
    return this.get(key).trim().toLowerCase() === 'true';
  }

  /** Returns a whole number within bounds; the default if the file's value is invalid. */
  number(key: string, min: number, max: number): number {
    const text = this.get(key).trim();
    const value = /^-?\d{1,9}$/.test(text) ? Number(text) : Number(DEFAULTS[key]);
    return Math.min(max, Math.max(min, value));
  }

  /** Writes the whole file: its previous content, missing defaults, and `changes`. */
  complete(changes: Record<string, string>): void {
    this.#values = new Map([...Object.entries(DEFAULTS), ...this.#values, ...Object.entries(changes)]);
    writeAtomic(this.#path, formatProperties(this.#values));
  }

  /** Changes one property, also in the file, whose other lines stay unchanged. */
  set(key: string, value: string): void {
    this.#values.set(key, value);
    const lines = existsSync(this.#path) ? readText(this.#path).split('\n') : [''];
    const at = lines.findIndex((line) => parseProperties(line).has(key));
    lines.splice(at < 0 ? lines.length - 1 : at, at < 0 ? 0 : 1, propertyLine(key, value));
    writeAtomic(this.#path, lines.join('\n'));
  }
}
