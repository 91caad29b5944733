import { StatusError } from '../kernel/status.ts';

/** A path below a server's data root, taken apart; `[]` is the root itself. None is '', '.', '..' or holds '/' or NUL. */
export type Names = readonly string[];

export const MAX_PATH_BYTES = 4096;
const NOT_ROOT = "must not be the server's root";
const MAX_NAME_BYTES = 255;
/** Directories below directories. */
export const MAX_DEPTH = 64;

/**
 * Takes a path apart as the jail reads it: relative to the root, with or without a slash in front, empty names and '.'
 * dropped, '..' one up. All else is a plain character, a backslash and a percent sign too.
 * INVALID_ARGUMENT INVALID_PATH where it leaves the root, is too long or too deep, or no text that a file name can be.
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

/** The names as a path again. */
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

/** A refusal of a path. */
export function invalidPath(path: string, problem: string): StatusError {
  return new StatusError('INVALID_ARGUMENT', 'INVALID_PATH', `The path ${problem}.`, {
    metadata: { path: shown(path) },
  });
}

/** A path for an error: not too long, and nothing that could pass for something else. */
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
