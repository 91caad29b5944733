/*
 * The bundle of the service, which `bundle.js` makes, and whether it is of the files that lie here now. Plain JavaScript of any Node,
 * as it runs before anything else.
 */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../..');
/** With every change of packages it goes, or is of other packages than there are. */
export const FOLDER = path.join(ROOT, 'node_modules/.cache/dormouse-bundle');
export const BUNDLE = 'main.mjs';
/** The folder in it of what its workers run, each file by itself under the path that it has in `src`. */
export const WORKERS = 'workers';
/** What it was made of. */
export const LIST = 'made-of.json';

/** The text of that list: `files` as they are now, and this folder, whose path is in the bundle. */
export function listOf(files) {
  return JSON.stringify({ root: ROOT, files: Object.fromEntries(files.map((file) => [file, stampOf(file)])) });
}

/** The bundle's path; undefined where there is none, or any of its files has changed since. */
export function currentBundle() {
  try {
    const { root, files } = JSON.parse(readFileSync(path.join(FOLDER, LIST), 'utf8'));
    const isCurrent = root === ROOT && Object.entries(files).every(([file, stamp]) => stamp === stampOf(file));
    return isCurrent ? path.join(FOLDER, BUNDLE) : undefined;
  } catch {
    return undefined;
  }
}

/** Where a TypeScript file of `src` lies that a worker runs, made one with all that it imports. */
export function bundledWorker(file) {
  return path.join(FOLDER, WORKERS, path.relative(path.join(ROOT, 'src'), file).replace(/\.ts$/, '.mjs'));
}

/** In whole seconds, as not all that copies a file keeps more. */
function stampOf(file) {
  const { size, mtimeMs } = statSync(path.join(ROOT, file));
  return `${size} ${Math.floor(mtimeMs / 1000)}`;
}
