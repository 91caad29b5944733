import { join } from 'node:path';

/**
 * The service's view of the sandbox core, which is a separate program: its location, its versions and the content of
 * its image. No other file of the service imports from it.
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
 * Paths that a process must be able to read to run the sandbox core. They exclude the rest of the project folder, which
 * may contain settings with passwords.
 */
export const SANDBOX_PATHS = ['node_modules', 'src/sandbox'].map((name) => join(ROOT, name));
