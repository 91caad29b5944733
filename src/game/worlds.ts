import { posix } from 'node:path';
import { MAX_PROPERTIES_BYTES, parseProperties } from './properties/format.ts';
import { isGone, removeIfThere, textIfThere } from '../jail/if-there.ts';
import type { Jail } from '../jail/jail.ts';
import { StatusError } from '../kernel/status.ts';

/** The default world name. */
const DEFAULT_LEVEL = 'world';
const PROPERTY = 'level-name';
/** Bukkit and its derivatives keep a world's other dimensions in separate folders. */
const DIMENSIONS = ['_nether', '_the_end'];

/** A world in a server's folder, with its dimensions. */
export interface World {
  name: string;
  /** The world of the next start. */
  active: boolean;
  /** Its own folder, and those of the nether and the end if they are separate. */
  folders: string[];
}

/** Whether a name is valid for a world in the server's folder. */
export function isWorldName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !name.includes('/') && !name.startsWith('.dormouse-');
}

/** Returns the name of the active world: the owner's setting, else the file's, else the game's default. */
export async function levelNameOf(
  row: { properties: Readonly<Record<string, string>> },
  jail: Jail | undefined,
): Promise<string> {
  return row.properties[PROPERTY] || (jail ? await loadedLevelName(jail) : DEFAULT_LEVEL);
}

/** Returns the name of the world loaded by a game that booted with the present `server.properties`. */
export async function loadedLevelName(jail: Jail): Promise<string> {
  return (await levelNameInFile(jail)) || DEFAULT_LEVEL;
}

async function levelNameInFile(jail: Jail): Promise<string> {
  const text = await textIfThere(jail, 'server.properties', MAX_PROPERTIES_BYTES);
  const level = text === undefined ? undefined : parseProperties(text).get(PROPERTY);
  // `./world/` is the folder `world`.
  return level ? posix.normalize(level).replace(/(?<=.)\/$/, '') : '';
}

/** Returns an owner's properties with another active world. */
export function withLevelName(properties: Record<string, string>, name: string): Record<string, string> {
  return { ...properties, [PROPERTY]: name };
}

/** Like `withLevelName`, but only if a different world would be active otherwise. */
export function restoredProperties(properties: Record<string, string>, name: string): Record<string, string> {
  const untouched = name === DEFAULT_LEVEL && properties[PROPERTY] === undefined;
  return untouched || name === '' ? properties : withLevelName(properties, name);
}

/**
 * Returns the worlds in a server's folder by name, including the active one even if it is yet to be created. A world is
 * a folder with a `level.dat`.
 */
export async function worldsIn(jail: Jail | undefined, active: string): Promise<World[]> {
  const folders: string[] = [];
  if (jail) {
    for await (const batch of jail.entries('')) {
      for (const { name, kind } of batch) {
        if (kind === 'directory' && isWorldName(name) && (await isKind(jail, `${name}/level.dat`, 'file')))
          folders.push(name);
      }
    }
  }
  const dimensions = new Set(folders.flatMap((name) => DIMENSIONS.map((ending) => name + ending)));
  const names = new Set(folders.filter((name) => !dimensions.has(name)));
  if (isWorldName(active)) names.add(active);
  return [...names].sort().map((name) => ({
    name,
    active: name === active,
    folders: foldersOf(name).filter((each) => folders.includes(each)),
  }));
}

/** Returns the folders of a world of this name, whether or not they exist. */
function foldersOf(name: string): string[] {
  return [name, ...DIMENSIONS.map((ending) => name + ending)];
}

/** Returns the size of a world's files. A folder that has gone since the listing counts as 0. */
export async function worldBytes(jail: Jail, { folders }: { folders: readonly string[] }): Promise<number> {
  let bytes = 0;
  for (const folder of folders) {
    try {
      for await (const { sizeBytes } of jail.tree(folder)) bytes += sizeBytes;
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
  return bytes;
}

/** Removes a world with its dimensions. Missing folders are ignored. Each folder disappears in one step. */
export async function removeWorld(
  jail: Jail,
  name: string,
  removed: () => Promise<void> = async () => {},
): Promise<void> {
  for (const folder of foldersOf(name)) {
    await removeIfThere(jail, folder);
    await removed();
  }
}

/** Reports whether a world's folder is a symbolic link. */
export function isLinked(jail: Jail, name: string): Promise<boolean> {
  return isKind(jail, name, 'link');
}

async function isKind(jail: Jail, path: string, kind: 'file' | 'link'): Promise<boolean> {
  try {
    return (await jail.stat(path)).kind === kind;
  } catch (error) {
    if (error instanceof StatusError) return false;
    throw error;
  }
}
