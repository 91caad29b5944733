import { realpath } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/**
 * Where a program really is, links followed: one with a path by it, any other in the folders of `searchPath`, which is written
 * as PATH is. Undefined where there is none.
 */
export async function findProgram(name: string, searchPath: string): Promise<string | undefined> {
  const folders = name.includes('/') ? [''] : searchPath.split(delimiter);
  for (const folder of folders) {
    const found = await realpath(join(folder, name)).catch(() => undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}
