import { lstat } from 'node:fs/promises';

/** Returns whether a core's jar exists as a plain file. */
export async function hasCore(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isFile() ?? false;
}

/** Returns a core's file name. `loader`: a certain version of its loader. */
export function coreName(core: string, version: string, loader?: string): string {
  return loader === undefined ? `${core}-${version}.jar` : `${core}-${version}-${loader}.jar`;
}
