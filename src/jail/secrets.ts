import { StatusError } from '../kernel/status.ts';
import { KIB } from '../kernel/units.ts';
import { type Names, joinNames, shown } from './path.ts';

/**
 * The protection of a file in a data root from its owner. Reading files must not give access to the console, so its
 * secrets are not shown:
 * - hidden: the file does not exist for callers. Files that only Dormouse or the image reads: the console's password
 *   (`.rcon-cli.*`), our own files (`.dormouse-*`);
 * - masked: shown with its secrets starred out. `server.properties`, with any suffix, because copies and temporary
 *   files have one;
 * - read-only: shown, and may be deleted. Files that the image's scripts run as shell: installers' results and its
 *   health check;
 * - plain: all others, including `eula.txt`, `ops.json` and the other lists, which the owner may edit.
 */
export type Guard = 'hidden' | 'masked' | 'readOnly' | 'plain';

/** A larger `server.properties` is invalid (a real one has 2 KiB) and is not shown. */
export const MAX_MASKED_BYTES = 128 * KIB;

const GUARDED: readonly [RegExp, Guard][] = [
  [/^\.rcon-cli\./, 'hidden'],
  [/^\.dormouse-/, 'hidden'],
  [/^server\.properties/, 'masked'],
  [/^\.(?:install|run)-.*\.env$/, 'readOnly'],
  [/^\.(?:paper|mc-health)\.env$/, 'readOnly'],
];

/** Returns how a name directly in a data root is guarded. */
export function guardOfName(name: string): Guard {
  return GUARDED.find(([pattern]) => pattern.test(name))?.[1] ?? 'plain';
}

/** `{ core, version, loader }`: the loader that a server's mod pack was made for. */
export const LOADER_FILE = '.dormouse-loader.json';

/** `{ core, version, build, isComplete }`: the build that this service has copied, or begun to copy, to the data root. */
export const CORE_FILE = '.dormouse-core.json';

/**
 * Files that this service writes: its lists of mods, of a mod pack's files and of the properties it has set, the
 * running build, the secret of its network, the loader of a mod pack, and the copied core. Hidden, but part of backups,
 * because they belong to the files.
 */
export const LISTS = [
  '.dormouse-mods.json',
  '.dormouse-pack.json',
  '.dormouse-properties',
  '.dormouse-build.json',
  '.dormouse-network',
  LOADER_FILE,
  CORE_FILE,
] as const;

/** Reports whether a name directly in a data root is one of `LISTS`. */
export function isList(name: string): boolean {
  return LISTS.some((list) => list === name);
}

/**
 * Returns how a path is guarded. A hidden first name hides all paths below it; other guards apply only directly in the
 * root.
 */
export function guardOf(names: Names): Guard {
  const guard = guardOfName(names[0] ?? '');
  return names.length === 1 || guard === 'hidden' ? guard : 'plain';
}

/** Returns PERMISSION_DENIED PATH_PROTECTED for a path that must not be changed. */
export function protectedPath(names: Names): StatusError {
  const path = shown(joinNames(names));
  return new StatusError(
    'PERMISSION_DENIED',
    'PATH_PROTECTED',
    `${path} belongs to the service. Choose another name.`,
    {
      metadata: { path },
    },
  );
}

/** Returns PERMISSION_DENIED PATH_PROTECTED for a file that is too long to be searched for secrets. */
export function tooLongToShow(names: Names): StatusError {
  const path = shown(joinNames(names));
  const sentence =
    `${path} is not shown, because it is larger than ${MAX_MASKED_BYTES / KIB} KiB and might contain secrets. ` +
    'You can delete or replace it.';
  return new StatusError('PERMISSION_DENIED', 'PATH_PROTECTED', sentence, { metadata: { path } });
}

/** Properties that give access to the console or the management port, or could. */
const SECRET_PROPERTIES = new Set([
  'rcon.password',
  'management-server-secret',
  'management-server-tls-keystore-password',
]);
/** The minimum length of an entry with such a property, in any spelling. */
const SHORTEST = Math.min(...[...SECRET_PROPERTIES].map((name) => name.length));
/**
 * Matches the beginning of an entry as far as a secret's key can reach. A six-character escape counts as five units
 * here, so 250 units cover the longest key in escapes alone. No more is decoded.
 */
const KEY = /^[ \t\f]*((?:\\[^]|[^\\=: \t\f\r\n]){0,250})/;
/** Matches text that may contain a secret's key, plain or escaped. */
const TELLING = /\\|password|secret/;
const [STAR, NEWLINE, RETURN] = [0x2a, 0x0a, 0x0d];

/**
 * Returns the bytes of a `server.properties` with each secret value starred out, in the same length. Reads the format
 * as Java does (`game/properties/format.ts`). If the key has escapes or a continued line, stars out the whole entry.
 */
export function maskProperties(bytes: Buffer): Buffer {
  const masked = Buffer.from(bytes);
  // One character per byte, so that positions in the text are positions in the file.
  const text = bytes.toString('latin1');
  // Skips a byte order mark (read as Latin-1), which is not part of the first key.
  for (const { start, end } of logicalLines(text, text.startsWith('ï»¿') ? 3 : 0)) {
    if (end - start < SHORTEST) continue;
    const raw = text.slice(start, end);
    if (!TELLING.test(raw)) continue;
    const plain = /^[ \t\f]*([^\\=: \t\f\r\n]+)[ \t\f]*[=: \t\f][ \t\f]*/.exec(raw);
    const joined = raw.replaceAll(/\\(?:\r\n|\r|\n)[ \t\f]*/g, '');
    const spelled = KEY.exec(joined)?.[1] ?? '';
    const key = spelled.replaceAll(/\\(?:u([0-9a-fA-F]{4})|([^]))/g, (_, hex?: string, char = '') =>
      hex === undefined ? char : String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (!SECRET_PROPERTIES.has(key)) continue;
    for (let at = start + (plain?.[1] === key ? plain[0].length : 0); at < end; at++) {
      if (bytes[at] !== NEWLINE && bytes[at] !== RETURN) masked[at] = STAR;
    }
  }
  return masked;
}

/** Yields the range of each entry with its continuation lines; skips comments, which cannot be continued. */
function* logicalLines(text: string, from: number): Generator<{ start: number; end: number }> {
  let start: number | undefined;
  for (let at = from; at < text.length;) {
    const end = endOfLine(text, at);
    const next = text.startsWith('\r\n', end) ? end + 2 : end + 1;
    if (start !== undefined || isEntry(text, at, end)) {
      start ??= at;
      if (!endsOpen(text, at, end) || end === text.length) {
        yield { start, end };
        start = undefined;
      }
    }
    at = next;
  }
  if (start !== undefined) yield { start, end: text.length };
}

function endOfLine(text: string, from: number): number {
  let end = from;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === NEWLINE || code === RETURN) break;
  }
  return end;
}

/** Reports whether a line is neither blank nor a comment. */
function isEntry(text: string, from: number, end: number): boolean {
  let at = from;
  while (at < end && ' \t\f'.includes(text[at]!)) at += 1;
  return at < end && text[at] !== '#' && text[at] !== '!';
}

// Counts backslashes from the end. A pattern would take quadratic time on a line full of them.
function endsOpen(text: string, from: number, end: number): boolean {
  let at = end;
  while (at > from && text[at - 1] === '\\') at -= 1;
  return (end - at) % 2 === 1;
}
