import { StatusError } from '../kernel/status.ts';
import type { ServerRow } from '../servers/rows.ts';
import { fitOf, folderFor } from './folders.ts';
import type { ModFit, ModProject, ModRegistry, ModVersion } from './registries/registry.ts';

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
  project: Pick<ModProject, 'projectId' | 'title'>,
  spec: string,
  host: Pick<ServerRow, 'type' | 'version'>,
  signal: AbortSignal,
): Promise<ModVersion> {
  const fit = fitOf(host);
  const found = pick(await versionsFor(registry, project.projectId, { spec, fit }, signal), spec);
  if (found) return found;
  const all = await versionsFor(registry, project.projectId, { spec, fit: {} }, signal);
  throw whyNone(project.title, spec, host, all);
}

function whyNone(
  title: string,
  spec: string,
  host: Pick<ServerRow, 'type' | 'version'>,
  all: readonly ModVersion[],
): StatusError {
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
