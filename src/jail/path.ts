import { StatusError } from '../kernel/status.ts';

/**
 * The components of a path below a server's data root; `[]` is the root itself. No component is '', '.' or '..', or
 * contains '/' or NUL.
 */
export type Names = readonly string[];

export const MAX_PATH_BYTES = 4096;
const NOT_ROOT = "must not be the server's root";
const MAX_NAME_BYTES = 255;
/** Maximum number of components. */
export const MAX_DEPTH = 64;

/**
 * Parses a path relative to the root, with or without a leading slash. Drops empty components and '.', and resolves
 * '..'. All other characters are literal, including backslash and percent sign. Throws INVALID_ARGUMENT INVALID_PATH if
 * the path leaves the root, is too long or too deep, or cannot be a file name.
 */
export function parsePath(path: string): Names {
  const problem = pathProblem(path);
  if (problem !== undefined) throw invalidPath(path, problem);
  return resolve(path) ?? [];
}

/** Returns the problem of a path as a clause; undefined if it is valid. */
export function pathProblem(path: string): string | undefined {
  if (path.includes('\0')) return 'must not contain NUL';
  if (!path.isWellFormed()) return 'must be valid Unicode text';
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `must have at most ${MAX_PATH_BYTES} bytes`;
  const names = resolve(path);
  if (names === undefined) return 'must stay within the server';
  if (names.length > MAX_DEPTH) return `must be at most ${MAX_DEPTH} levels deep`;
  if (names.some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES)) {
    return `must have names of at most ${MAX_NAME_BYTES} bytes`;
  }
  return undefined;
}

/** Like `pathProblem`, for a path to create, move or remove, which must not be the root. */
export function ownPathProblem(path: string): string | undefined {
  return pathProblem(path) ?? (resolve(path)?.length === 0 ? NOT_ROOT : undefined);
}

/** Joins the components of a path. */
export function joinNames(names: Names): string {
  return names.join('/');
}

/** Whether `names` is `ancestor` or lies below it. */
export function isWithin(names: Names, ancestor: Names): boolean {
  return ancestor.every((name, depth) => names[depth] === name);
}

/** Splits a path into its directory and its name there. INVALID_ARGUMENT for the root, which must not be changed. */
export function splitLast(names: Names): { parent: Names; name: string } {
  const name = names.at(-1);
  if (name === undefined) throw invalidPath('', NOT_ROOT);
  return { parent: names.slice(0, -1), name };
}

/** Returns the error for an invalid path. `problem` is the clause from `pathProblem`. */
export function invalidPath(path: string, problem: string): StatusError {
  return new StatusError('INVALID_ARGUMENT', 'INVALID_PATH', `The path ${problem}.`, {
    metadata: { path: shown(path) },
  });
}

/** Returns a path for an error message: shortened, and without control characters. */
export function shown(path: string): string {
  const clean = path.toWellFormed().replaceAll(/\p{Cc}/gu, '\uFFFD');
  return clean.length > 256 ? `${clean.slice(0, 256).toWellFormed()}…` : clean;
}

function resolve(path: string): string[] | undefined {
  const names: string[] = [];
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue;
    if (name !== '..') names.push(name);
    else if (names.pop() === undefined) return undefined;
  }
  return names;
}
