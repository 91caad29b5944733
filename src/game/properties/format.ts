import { KIB } from '../../kernel/units.ts';

/**
 * The text format of `java.util.Properties` (its class documentation, methods load and store). Written in ASCII with
 * escapes, so that games read it the same as ISO 8859-1 (before 1.20) or UTF-8 (since).
 */

/** Larger files are refused: real ones have about 2 KiB, and they are parsed on the main thread. */
export const MAX_PROPERTIES_BYTES = 128 * KIB;

const ESCAPES: Record<string, string> = { '\t': '\\t', '\n': '\\n', '\r': '\\r', '\f': '\\f', '\\': '\\\\' };
const MEANINGS: Record<string, string> = { t: '\t', n: '\n', r: '\r', f: '\f' };

/**
 * Returns one `key=value` line for each entry, in order. Keys and values are escaped, so they cannot start another
 * line.
 */
export function formatProperties(properties: ReadonlyMap<string, string>): string {
  return [...properties].map(([key, value]) => `${escaped(key, /[ :=#!]/g)}=${escaped(value, /^ /g)}\n`).join('');
}

/** Parses a file like Java: comments, continued lines, the three separators, escapes; the last of equal keys wins. */
export function parseProperties(text: string): Map<string, string> {
  const properties = new Map<string, string>();
  for (const line of logicalLines(text)) {
    const [, key = '', value = ''] = /^((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)$/s.exec(line) ?? [];
    properties.set(unescaped(key), unescaped(value));
  }
  return properties;
}

/**
 * Decodes a value that an owner copied from a `server.properties`: `\\u00e9` and `\\:` become the characters they stand
 * for. Escapes required by JSON stay.
 */
export function pastedValue(value: string): string {
  return value.replaceAll(/(?<!\\)\\(?:u([0-9a-fA-F]{4})|([:=#!]))/g, (escape, hex?: string, char = '') => {
    const decoded = hex === undefined ? char : String.fromCharCode(Number.parseInt(hex, 16));
    return /["\\\p{Cc}]/u.test(decoded) ? escape : decoded;
  });
}

/** Parses a switch as the game does (`Boolean.valueOf`): anything but `true`, in any case, means off. */
export function isOn(value: string | undefined): boolean {
  return value?.toLowerCase() === 'true';
}

function logicalLines(text: string): string[] {
  const lines: string[] = [];
  // Joined once at the end: joining line by line would copy the text each time.
  let begun: string[] = [];
  let open = false;
  for (const natural of text.split(/\r\n|\r|\n/)) {
    const line = natural.replace(/^[ \t\f]+/, '');
    if (!open && (line === '' || line.startsWith('#') || line.startsWith('!'))) continue;
    open = isContinued(line);
    begun.push(open ? line.slice(0, -1) : line);
    if (open) continue;
    lines.push(begun.join(''));
    begun = [];
  }
  const rest = begun.join('');
  if (rest !== '') lines.push(rest);
  return lines;
}

// Counts from the end: a pattern would take quadratic time on a line full of backslashes.
function isContinued(line: string): boolean {
  let end = line.length;
  while (line[end - 1] === '\\') end -= 1;
  return (line.length - end) % 2 === 1;
}

function escaped(text: string, special: RegExp): string {
  const plain = text.replaceAll(/[^ -[\]-~]/g, (char) => ESCAPES[char] ?? unicode(char));
  return plain.replaceAll(special, String.raw`\$&`);
}

function unicode(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

// Java refuses the whole file for an incomplete \u escape. Here it stays as literal text.
function unescaped(text: string): string {
  return text.replaceAll(/\\(?:u([0-9a-fA-F]{4})|(.)|$)/gs, (_, hex?: string, char = '') =>
    hex === undefined ? (MEANINGS[char] ?? char) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
