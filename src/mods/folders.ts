import { type ModFolder, foldersIn } from '../game/cores.ts';
import { StatusError } from '../kernel/status.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { ModFit, ModVersion } from './registries/registry.ts';

type Host = Pick<ServerRow, 'type' | 'version'>;

/**
 * Returns the folders from which a core loads mods and plugins. Throws FAILED_PRECONDITION MODS_NOT_SUPPORTED for a
 * core without any.
 */
export function foldersOf({ type, version = '' }: Pick<Host, 'type'> & Partial<Host>): readonly ModFolder[] {
  const folders = foldersIn(type, version);
  if (folders.length > 0) return folders;
  const sentence = `A server of type ${type} doesn’t support mods or plugins. Use fabric, neoforge or paper, for example.`;
  throw new StatusError('FAILED_PRECONDITION', 'MODS_NOT_SUPPORTED', sentence, { metadata: { type } });
}

/** Returns the mods that fit a server. */
export function fitOf(host: Host): Required<Pick<ModFit, 'loaders'>> & ModFit {
  const loaders = [...new Set(foldersOf(host).flatMap((folder) => folder.loaders))];
  return { loaders, ...(host.version !== '' && { minecraftVersion: host.version }) };
}

/** Returns the folder for a version's file, by its loaders; undefined without one. */
export function folderFor(host: Host, version: Pick<ModVersion, 'loaders'>): ModFolder['path'] | undefined {
  return foldersOf(host).find(({ loaders }) => loaders.some((loader) => version.loaders.includes(loader)))?.path;
}

/** Whether this service may place mods at the path: a jar directly in a mods folder. */
export function isModPath(path: string): boolean {
  const [folder, name, ...more] = path.split('/');
  return (folder === 'mods' || folder === 'plugins') && name !== undefined && more.length === 0 && isJarName(name);
}

function isJarName(name: string): boolean {
  return Buffer.byteLength(name) <= 200 && /^[^.\p{Cc}/\\][^\p{Cc}/\\]*\.jar$/iu.test(name) && name.isWellFormed();
}
