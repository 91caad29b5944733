import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Writes a file that only this user can read, in the place of an earlier one: whole or not at all, and on disk once the
 * promise resolves. Missing directories are made.
 */
export async function writePrivateFile(path: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await sync(temporary, 'wx', content);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await sync(dirname(path), 'r');
}

async function sync(path: string, flags: string, content?: string | Buffer): Promise<void> {
  const file = await open(path, flags, 0o600);
  try {
    if (content !== undefined) await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}
