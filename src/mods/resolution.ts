import { StatusError, quotaExceeded } from '../kernel/status.ts';
import { type Host, chooseVersion, folderFor, isModPath } from './choice.ts';
import type { ModProject, ModRegistry, ModVersion } from './registries/registry.ts';
import type { ServerModRow } from './rows.ts';

/** Limit of mods per server, including dependencies. */
const MAX_MODS = 256;

/** A mod that an owner wants. */
export interface Wish {
  source: string;
  projectId: string;
  name: string;
  versionSpec: string;
}

/** A project to resolve. */
interface Request extends Wish {
  wished: boolean;
  /** The version that another mod requires; '' = any that fits. */
  versionId: string;
  /** The title of the mod that needs it. */
  neededBy: string;
}

interface Chosen {
  version: ModVersion;
  project: ModProject;
}

/**
 * Returns all mods of a server for its wishes: each project once, including transitive dependencies. `kept` are earlier
 * choices that stay: they are not looked up again. Throws the errors of `chooseVersion`; FAILED_PRECONDITION
 * MOD_DEPENDENCY_MISSING, MOD_FILE_CONFLICT or DOWNLOAD_REFUSED; RESOURCE_EXHAUSTED TOO_MANY_MODS.
 */
export async function resolveMods(
  server: Host & { id: string },
  wishes: readonly Wish[],
  kept: readonly ServerModRow[],
  registry: (source: string) => ModRegistry,
  signal: AbortSignal,
): Promise<ServerModRow[]> {
  const resolved = new Map<string, ServerModRow>();
  const requests: Request[] = wishes.map((wish) => ({ ...wish, wished: true, versionId: '', neededBy: '' }));
  for (let request = requests.shift(); request; request = requests.shift()) {
    if (resolved.has(keyOf(request))) continue;
    if (resolved.size >= MAX_MODS) throw tooMany(server.id);
    const row = kept.find((each) => keyOf(each) === keyOf(request)) ?? (await resolve(request));
    // A dependency may have become a wish, or a wish a dependency.
    const { wished, versionSpec } = request;
    resolved.set(keyOf(row), { ...row, wished, versionSpec: wished ? versionSpec : '' });
    const needs = JSON.parse(row.requires) as ModVersion['requires'];
    for (const need of needs) requests.push(await needed(need, row));
  }
  const rows = [...resolved.values()];
  requireOwnFiles(rows);
  return rows;

  async function resolve(request: Request): Promise<ServerModRow> {
    try {
      return rowOf(request, await choose(request));
    } catch (error) {
      if (request.neededBy === '' || !(error instanceof StatusError) || error.code === 'UNAVAILABLE') throw error;
      throw missing(request, error);
    }
  }

  async function choose({ source, projectId, versionSpec, versionId }: Request): Promise<Chosen> {
    const from = registry(source);
    const project = await from.project(projectId, signal);
    if (versionId !== '') {
      const version = await from.version(project.projectId, versionId, signal);
      if (folderFor(server, version) !== undefined) return { project, version };
    }
    return { project, version: await chooseVersion(from, project, versionSpec, server, signal) };
  }

  /** Converts a dependency, which may only name a version. */
  async function needed({ projectId, versionId }: ModVersion['requires'][number], by: ServerModRow): Promise<Request> {
    const { source, name: neededBy } = by;
    const rest = { source, name: '', versionSpec: '', wished: false, versionId, neededBy };
    if (projectId !== '') return { ...rest, projectId };
    const version = await registry(source)
      .version('', versionId, signal)
      .catch((error: unknown) => {
        throw error instanceof StatusError && error.code === 'NOT_FOUND'
          ? missing({ ...rest, projectId: versionId }, error)
          : error;
      });
    return { ...rest, projectId: version.projectId };
  }

  function rowOf({ source, name, versionSpec, wished }: Request, { project, version }: Chosen): ServerModRow {
    const { file, versionId, number } = version;
    const path = `${folderFor(server, version) ?? ''}/${file.name}`;
    if (!isModPath(path)) throw noJar(project.title, file.name);
    return {
      serverId: server.id,
      source,
      projectId: project.projectId,
      slug: project.slug,
      name: name || project.title,
      versionSpec,
      wished,
      versionId,
      versionNumber: number,
      path,
      urls: JSON.stringify(file.urls),
      sizeBytes: file.sizeBytes,
      sha512: file.sha512,
      sha1: file.sha1,
      requires: JSON.stringify(version.requires),
    };
  }
}

export function keyOf({ source, projectId }: Pick<ServerModRow, 'source' | 'projectId'>): string {
  return `${source}/${projectId}`;
}

/** Throws if two mods share a file name. Ignores case, as some file systems do. */
function requireOwnFiles(rows: readonly ServerModRow[]): void {
  const owners = new Map<string, ServerModRow>();
  for (const row of rows) {
    const other = owners.get(row.path.toLowerCase());
    if (other) {
      const sentence = `${row.name} and ${other.name} both use the file ${row.path}. You can install only one of them.`;
      throw new StatusError('FAILED_PRECONDITION', 'MOD_FILE_CONFLICT', sentence, { metadata: { path: row.path } });
    }
    owners.set(row.path.toLowerCase(), row);
  }
}

function missing({ neededBy, projectId }: Request, cause: StatusError): StatusError {
  const sentence = `${neededBy} needs another mod that is not available: ${cause.message}`;
  const metadata = { neededBy, projectId };
  return new StatusError('FAILED_PRECONDITION', 'MOD_DEPENDENCY_MISSING', sentence, { metadata, cause });
}

function noJar(title: string, name: string): StatusError {
  const shown = name.replaceAll(/\p{Cc}/gu, '\uFFFD').slice(0, 200);
  return new StatusError('FAILED_PRECONDITION', 'DOWNLOAD_REFUSED', `The file of ${title} is not a jar: ${shown}.`);
}

function tooMany(serverId: string): StatusError {
  const sentence = `A server can have at most ${MAX_MODS} mods.`;
  return quotaExceeded('TOO_MANY_MODS', `server:${serverId}`, sentence, { limit: String(MAX_MODS) });
}
