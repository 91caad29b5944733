import { delimiter, isAbsolute, join, parse, relative, sep } from 'node:path';
import process from 'node:process';

/** How this program was started. */
export interface Start {
  /** The script's path as passed to Node, with links unresolved. Absent if not started by `dormouse.js`. */
  script?: string | undefined;
  /** npm's command: `exec` for npx. */
  npmCommand?: string | undefined;
  /** The shell's search path. */
  path?: string | undefined;
  cwd: string;
}

/** Through npx, in the folder of the service. */
const BY_NPX = 'npx dormouse';

/**
 * Returns the command that starts this program again from the same folder. In a folder without our package, npx would
 * fetch a stranger's package: it is suggested only to a person who has just started this program with it.
 */
export function callOf({ script, npmCommand, path = '', cwd }: Start): string {
  if (script === undefined) return BY_NPX;
  const { dir, base, name } = parse(script);
  if (npmCommand === 'exec' && isWithin(cwd, join(dir, '..', '..'))) return BY_NPX;
  if (base === name && path.split(delimiter).includes(dir)) return name;
  const shown = isWithin(script, cwd) ? relative(cwd, script) : script;
  if (base === name) return quoted(shown.includes(sep) ? shown : `.${sep}${shown}`);
  return `node ${quoted(shown)}`;
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return !isAbsolute(way) && way !== '..' && !way.startsWith(join('..', sep));
}

function quoted(path: string): string {
  return /^[\p{L}\p{N}_./\\:@~+-]+$/u.test(path) ? path : JSON.stringify(path);
}

const { DORMOUSE_STARTED_AS: script, npm_command: npmCommand, PATH: path } = process.env;

/** The start of each command that this program suggests. */
export const DORMOUSE = callOf({ script, npmCommand, path, cwd: process.cwd() });
