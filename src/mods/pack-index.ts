/** The index of a Modrinth pack, `modrinth.index.json` (https://support.modrinth.com/en/articles/8802351). */
import * as z from 'zod';
import { pathProblem } from '../jail/path.ts';
import { guardOfName } from '../jail/secrets.ts';
import { decodeText } from '../kernel/decode-text.ts';
import { StatusError } from '../kernel/status.ts';
import { MIB } from '../kernel/units.ts';
import { job } from '../kernel/workers/job.ts';
import type { RegistryFile } from '../kernel/registry/http.ts';

/** The parts of a pack that a server needs. */
export interface PackIndex {
  name: string;
  /** The core of its loader. */
  type: 'fabric' | 'quilt' | 'forge' | 'neoforge' | 'vanilla';
  minecraftVersion: string;
  loaderVersion: string;
  files: readonly { path: string; file: RegistryFile }[];
}

export const MAX_INDEX_BYTES = 8 * MIB;
const MAX_FILES = 5_000;
/** Files per piece of an index. */
const PIECE = 500;

const sum = (digits: number) => z.string().regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`));
const Shape = z.object({
  formatVersion: z.literal(1),
  game: z.literal('minecraft'),
  name: z.string().max(512).catch(''),
  files: z
    .array(
      z.object({
        path: z.string().max(4_096),
        hashes: z.object({ sha512: sum(128), sha1: sum(40).nullish() }),
        env: z.object({ server: z.string().max(32).nullish() }).nullish(),
        downloads: z.array(z.string().max(4_096)).min(1).max(32),
        fileSize: z.int().min(0),
      }),
    )
    .max(MAX_FILES),
  dependencies: z.record(z.string().max(64), z.string().max(64)),
});

const LOADERS = [
  ['neoforge', 'neoforge'],
  ['forge', 'forge'],
  ['quilt-loader', 'quilt'],
  ['fabric-loader', 'fabric'],
] as const;
const NO_LOADERS = new Set(['minecraft', ...LOADERS.map(([name]) => name)]);
const VERSION = /^[0-9A-Za-z][0-9A-Za-z._+-]{0,63}$/;

/**
 * Parses an index. Throws FAILED_PRECONDITION MODPACK_INVALID if it is invalid, or contains a path outside of the
 * server; MODPACK_UNSUPPORTED for an unknown loader.
 */
export function readPackIndex(text: string): PackIndex {
  const { name, files, dependencies } = parse(text);
  const minecraftVersion = dependencies['minecraft'] ?? '';
  if (!VERSION.test(minecraftVersion)) throw invalid('has no Minecraft version');
  const unknown = Object.keys(dependencies).find((each) => !NO_LOADERS.has(each));
  if (unknown !== undefined) {
    const sentence = `The pack needs ${printable(unknown)}, which is not supported.`;
    throw new StatusError('FAILED_PRECONDITION', 'MODPACK_UNSUPPORTED', sentence);
  }
  const loader = LOADERS.find(([each]) => dependencies[each] !== undefined);
  return {
    name,
    type: loader?.[1] ?? 'vanilla',
    minecraftVersion,
    loaderVersion: loader ? (dependencies[loader[0]] ?? '') : '',
    files: files
      .filter(({ env }) => env?.server !== 'unsupported')
      .map(({ path, hashes, downloads, fileSize }) => {
        const safe = packPath(path);
        if (safe === undefined) throw invalid(`contains a path outside the server: ${printable(path)}`);
        const file = { urls: downloads, sizeBytes: fileSize, sha512: hashes.sha512, sha1: hashes.sha1 ?? '' };
        return { path: safe, file: { name: safe.split('/').at(-1) ?? safe, ...file } };
      }),
  };
}

/** `readPackIndex` for a worker: yields the index in pieces, each with some of the files. */
export const packIndex = job(import.meta.url, 'packIndex', async function* packIndex(bytes: Uint8Array) {
  const { files, ...about } = readPackIndex(decodeText(bytes));
  for (let from = 0; from === 0 || from < files.length; from += PIECE)
    yield { ...about, files: files.slice(from, from + PIECE) };
});

/**
 * Returns a safe target for a pack's file: a relative path with plain names, inside the server on any system, and not
 * one of the service's own. Packs made on Windows separate names with backslashes; the result has slashes. Undefined
 * for any other path.
 */
export function packPath(given: string): string | undefined {
  const path = given.replaceAll('\\', '/');
  const names = path.split('/');
  if (names.some((name) => name === '' || name === '.' || name === '..')) return undefined;
  if (/[:\p{Cc}]/u.test(path) || pathProblem(path) !== undefined) return undefined;
  return names.some((name) => guardOfName(name) === 'hidden') ? undefined : path;
}

function parse(text: string): z.output<typeof Shape> {
  try {
    return Shape.parse(JSON.parse(text));
  } catch (cause) {
    throw invalid('has an invalid index', cause);
  }
}

export function invalid(problem: string, cause?: unknown): StatusError {
  return new StatusError('FAILED_PRECONDITION', 'MODPACK_INVALID', `The pack ${problem}.`, { cause });
}

function printable(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '\uFFFD')
    .slice(0, 128);
}
