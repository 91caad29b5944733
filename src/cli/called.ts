import { delimiter, isAbsolute, join, parse, relative, sep } from 'node:path';
import process from 'node:process';

/** What is known of how somebody has started this program. */
export interface Start {
  /** The script, as it was named to Node: a link keeps its own path. Absent: not by `dormouse.js`. */
  script?: string | undefined;
  /** What npm says it does: `exec` for npx. */
  npmCommand?: string | undefined;
  /** The folders in which a shell looks for programs. */
  path?: string | undefined;
  cwd: string;
}

/** By npx, in the folder of the service. */
const BY_NPX = 'npx dormouse';

/**
 * What to type to start this program again from the same folder. Where no package of ours lies, npx would fetch that of a stranger:
 * it is named only to somebody who has just come by it, to this program.
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

/** The beginning of each command that this program tells its reader to type. */
export const DORMOUSE = callOf({ script, npmCommand, path, cwd: process.cwd() });
