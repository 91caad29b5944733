import { type ModFolder, foldersIn } from '../game/cores.ts';
import { StatusError } from '../kernel/status.ts';
import type { ModFit, ModRegistry, ModVersion } from './registries/registry.ts';

/** The software that mods must fit. */
export interface Host {
  type: string;
  version: string;
}

/**
 * Returns the folders from which a core loads mods and plugins. Throws FAILED_PRECONDITION MODS_NOT_SUPPORTED for a
 * core without any.
 */
export function foldersOf({ type, version = '' }: { type: string; version?: string }): readonly ModFolder[] {
  const folders = foldersIn(type, version);
  if (folders.length > 0) return folders;
  const sentence = `A server of type ${type} doesn’t support mods or plugins. Use fabric, neoforge or paper, for example.`;
  throw new StatusError('FAILED_PRECONDITION', 'MODS_NOT_SUPPORTED', sentence, { metadata: { type } });
}

/** Returns the mods that fit a server. */
export function fitOf(host: Host): ModFit & { loaders: readonly string[] } {
  const loaders = [...new Set(foldersOf(host).flatMap((folder) => folder.loaders))];
  return { loaders, ...(host.version !== '' && { minecraftVersion: host.version }) };
}

/** Returns the folder for a version's file, by its loaders; undefined without one. */
export function folderFor(host: Host, version: { loaders: readonly string[] }): ModFolder['path'] | undefined {
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

const CHANNELS = ['release', 'beta', 'alpha'] as const;

/**
 * Returns the version that a `versionSpec` selects from versions sorted newest first. '' selects the newest of the most
 * stable channel that has any. `release`, `beta` or `alpha` selects the newest that is at least as stable. Anything
 * else is a version's id or, failing that, its number.
 */
export function pick(versions: readonly ModVersion[], spec: string): ModVersion | undefined {
  if (spec === '')
    return CHANNELS.map((channel) => atLeast(versions, channel)).find((version) => version !== undefined);
  const channel = CHANNELS.find((each) => each === spec);
  if (channel) return atLeast(versions, channel);
  return versions.find(({ versionId }) => versionId === spec) ?? versions.find(({ number }) => number === spec);
}

/**
 * Returns the candidate versions. A bare number is looked up directly, because a registry that numbers its files may
 * have more than it lists.
 */
export async function versionsFor(
  registry: ModRegistry,
  projectId: string,
  { spec, fit }: { spec: string; fit: ModFit },
  signal: AbortSignal,
): Promise<ModVersion[]> {
  if (/^\d{1,12}$/.test(spec)) {
    const named = await registry.version(projectId, spec, signal).catch((error: unknown) => {
      if (!(error instanceof StatusError) || error.code !== 'NOT_FOUND') throw error;
    });
    if (named) return isFit(named, fit) ? [named] : [];
  }
  return registry.versions(projectId, fit, signal);
}

function isFit({ loaders, minecraftVersions }: ModVersion, fit: ModFit): boolean {
  const { minecraftVersion } = fit;
  if (minecraftVersion !== undefined && !minecraftVersions.includes(minecraftVersion)) return false;
  return fit.loaders === undefined || loaders.some((loader) => fit.loaders?.includes(loader));
}

function atLeast(versions: readonly ModVersion[], least: (typeof CHANNELS)[number]): ModVersion | undefined {
  return versions.find(({ channel }) => CHANNELS.indexOf(channel) <= CHANNELS.indexOf(least));
}

/**
 * Returns the version of a project for a server. Throws FAILED_PRECONDITION MOD_WRONG_LOADER or
 * MOD_WRONG_MINECRAFT_VERSION, listing the alternatives; NOT_FOUND MOD_VERSION_NOT_FOUND.
 */
export async function chooseVersion(
  registry: ModRegistry,
  { projectId, title }: { projectId: string; title: string },
  spec: string,
  host: Host,
  signal: AbortSignal,
): Promise<ModVersion> {
  const fit = fitOf(host);
  const found = pick(await versionsFor(registry, projectId, { spec, fit }, signal), spec);
  if (found) return found;
  const all = await versionsFor(registry, projectId, { spec, fit: {} }, signal);
  throw whyNone(title, spec, host, all);
}

function whyNone(title: string, spec: string, host: Host, all: readonly ModVersion[]): StatusError {
  const metadata = { type: host.type, version: host.version, versionSpec: spec };
  const matching = spec === '' ? all : all.filter((each) => each.versionId === spec || each.number === spec);
  const known = matching.length > 0 ? matching : CHANNELS.some((each) => each === spec) ? all : [];
  if (known.length === 0) {
    const sentence = spec === '' ? `${title} has no versions.` : `${title} has no version "${spec}".`;
    return new StatusError('NOT_FOUND', 'MOD_VERSION_NOT_FOUND', sentence, { metadata });
  }
  const what = spec === '' ? title : `${title} ${spec}`;
  const loaders = known.filter((version) => folderFor(host, version) !== undefined);
  if (loaders.length === 0) {
    const made = some(known.flatMap((version) => version.loaders));
    const sentence = `${what} does not support ${host.type}. Supported: ${made}.`;
    return new StatusError('FAILED_PRECONDITION', 'MOD_WRONG_LOADER', sentence, { metadata });
  }
  const made = some(loaders.flatMap((version) => version.minecraftVersions).toReversed());
  const sentence = `${what} does not support Minecraft ${host.version} on ${host.type}. Supported: ${made}.`;
  return new StatusError('FAILED_PRECONDITION', 'MOD_WRONG_MINECRAFT_VERSION', sentence, { metadata });
}

function some(words: readonly string[]): string {
  const all = [...new Set(words)];
  return all.length === 0 ? 'none' : all.slice(0, 6).join(', ') + (all.length > 6 ? ', …' : '');
}
