import { realpath } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/**
 * Returns a program's real path, with links resolved. A name with a slash is a path; any other is searched in the
 * folders of `searchPath`, in the format of PATH. Undefined if it is not found.
 */
export async function findProgram(name: string, searchPath: string): Promise<string | undefined> {
  const folders = name.includes('/') ? [''] : searchPath.split(delimiter);
  for (const folder of folders) {
    const found = await realpath(join(folder, name)).catch(() => undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}
