/*
 * Finds the bundle of the service, which `bundle.js` creates, and checks that it matches the current source files.
 * Plain JavaScript for any Node version, because it runs before anything else.
 */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../..');
/** Inside `node_modules`, so that reinstalling the packages deletes it. */
export const FOLDER = path.join(ROOT, 'node_modules/.cache/dormouse-bundle');
export const BUNDLE = 'main.mjs';
/** The bundle's folder with the code of workers. Each file has the path that it has in `src`. */
export const WORKERS = 'workers';
/** The list of the files that the bundle was created from. */
export const LIST = 'made-of.json';

/** Returns the text of that list: the current state of `files`, and the root folder, whose path the bundle contains. */
export function listOf(files) {
  return JSON.stringify({ root: ROOT, files: Object.fromEntries(files.map((file) => [file, stampOf(file)])) });
}

/** Returns the bundle's path; undefined if it is missing or one of its files has changed since. */
export function currentBundle() {
  try {
    const { root, files } = JSON.parse(readFileSync(path.join(FOLDER, LIST), 'utf8'));
    const isCurrent = root === ROOT && Object.entries(files).every(([file, stamp]) => stamp === stampOf(file));
    return isCurrent ? path.join(FOLDER, BUNDLE) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the path of a worker's TypeScript file from `src`, bundled with all its imports. */
export function bundledWorker(file) {
  return path.join(FOLDER, WORKERS, path.relative(path.join(ROOT, 'src'), file).replace(/\.ts$/, '.mjs'));
}

/** Returns a file's size and change time, in whole seconds because some copy tools store no more. */
function stampOf(file) {
  const { size, mtimeMs } = statSync(path.join(ROOT, file));
  return `${size} ${Math.floor(mtimeMs / 1000)}`;
}
