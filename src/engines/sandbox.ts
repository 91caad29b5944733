import { join } from 'node:path';

/**
 * All that the service knows of the sandbox core, which is a program of its own: where it lies, what it plays, and what its
 * image holds. No other file of the service imports from there.
 */
export {
  contentHash,
  DOCKERFILE as dockerfile,
  HASH_LABEL,
  isOutdated,
  writeRootfs,
} from '../sandbox/image-content.ts';
export { sandboxVersions } from '../sandbox/versions.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Main file of the sandbox core, for a Node of this version. */
export const SANDBOX_ENTRY = join(ROOT, 'src/sandbox/main.ts');

/**
 * Paths a process must be able to read to run it. Not the whole project folder, which may contain settings with
 * passwords.
 */
export const SANDBOX_PATHS = ['node_modules', 'src/sandbox'].map((name) => join(ROOT, name));
