import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Removes a file or a folder with all that is in it; nothing where it is not there. Links are removed, never followed.
 * Node names each file by its whole path, of which the system takes 4 096 bytes; what lies deeper, as a game may have
 * it lie, is left to `rm`, which goes in step by step.
 */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENAMETOOLONG') throw error;
    await run('rm', ['-rf', '--', path]);
  }
}
