import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';

const run = promisify(execFile);

/** Mounts a file system of a few MB at a folder. Skips the test and returns false if this user may not mount one. */
export async function tinyDisk(t: ExecutionContext, path: string, sizeMb = 4): Promise<boolean> {
  await mkdir(path, { recursive: true });
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m`, 'tmpfs', path]);
  } catch (error) {
    t.log(`SKIPPED: needs the right to mount a file system: ${String(error)}`);
    t.pass();
    return false;
  }
  t.teardown(() => run('umount', ['-l', path]));
  return true;
}
