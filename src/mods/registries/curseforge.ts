import * as z from 'zod';
import type { Clock } from '../../kernel/clock.ts';
import { createRegistryHttp } from '../../kernel/registry/http.ts';
import { StatusError } from '../../kernel/status.ts';
import type { ModKind, ModProject, ModQuery, ModRegistry, ModVersion } from './registry.ts';

const FILE_HOSTS = ['edge.forgecdn.net', 'mediafilez.forgecdn.net', 'mediafiles.forgecdn.net'];
const MINECRAFT = '432';
/** CurseForge's classes of projects. */
const CLASSES: Record<ModKind, number> = { mod: 6, plugin: 5, modpack: 4471 };
const KINDS: readonly ModKind[] = ['mod', 'plugin', 'modpack'];
/** `ModLoaderType`. */
const LOADERS: Record<string, string> = { forge: '1', fabric: '4', quilt: '5', neoforge: '6' };
/** Loaders of plugin files, which do not name any. */
const BUKKIT = ['bukkit', 'spigot', 'paper'];
const CHANNELS = ['release', 'beta', 'alpha'] as const;
const SHA1 = 1;
const REQUIRED = 3;
const PAGE = 50;
/** Limit on pages per listing. Further files of a project can be looked up by number. */
const MAX_PAGES = 20;

const word = z.string().max(1_024);
const id = z.int().min(0);

const Mod = z.object({
  id,
  slug: word,
  name: word,
  summary: z.string().max(8_192),
  classId: id.nullish(),
  downloadCount: z.number().min(0),
  logo: z.object({ url: z.string().max(2_048).nullish() }).nullish(),
  authors: z.array(z.object({ name: word })).max(200),
});
const File = z.object({
  id,
  modId: id,
  displayName: word,
  fileName: word,
  releaseType: z.int(),
  fileDate: z.iso.datetime({ offset: true }),
  fileLength: id,
  downloadUrl: z.string().max(2_048).nullish(),
  hashes: z.array(z.object({ value: word, algo: z.int() })).max(16),
  gameVersions: z.array(word).max(1_000),
  dependencies: z
    .array(z.object({ modId: id, relationType: z.int() }))
    .max(1_000)
    .nullish(),
});
const one = <Schema extends z.ZodType>(data: Schema) => z.object({ data });
const many = <Schema extends z.ZodType>(data: Schema) => z.object({ data: z.array(data).max(200) });

/**
 * CurseForge for Studios (https://docs.curseforge.com/rest-api). Authors may forbid downloads of their projects by
 * programs.
 */
export function createCurseForge(baseUrl: string, apiKey: string, clock: Clock): ModRegistry {
  const http = createRegistryHttp({
    name: 'CurseForge',
    baseUrl,
    clock,
    fileHosts: FILE_HOSTS,
    headers: { 'user-agent': 'dormouse (Minecraft server hosting)', 'x-api-key': apiKey },
    goneReason: 'MOD_NOT_FOUND',
  });

  async function list<Schema extends z.ZodType>(
    path: string,
    fields: Record<string, string>,
    schema: Schema,
    signal?: AbortSignal,
  ): Promise<z.output<Schema>[]> {
    return (await http.json(`${path}?${new URLSearchParams(fields).toString()}`, many(schema), signal))?.data ?? [];
  }

  /** Returns up to `limit` entries, page by page. */
  async function pages<Schema extends z.ZodType>(
    path: string,
    fields: Record<string, string>,
    schema: Schema,
    { limit = PAGE * MAX_PAGES, signal }: { limit?: number; signal: AbortSignal | undefined },
  ): Promise<z.output<Schema>[]> {
    const pageSize = Math.min(limit, PAGE);
    const all: z.output<Schema>[] = [];
    while (all.length < limit) {
      const page = { ...fields, index: String(all.length), pageSize: String(pageSize) };
      const found = await list(path, page, schema, signal);
      all.push(...found);
      if (found.length < pageSize) break;
    }
    return all.slice(0, limit);
  }

  async function project(
    idOrSlug: string,
    signal?: AbortSignal,
    kinds: readonly ModKind[] = KINDS,
  ): Promise<ModProject> {
    if (/^\d{1,12}$/.test(idOrSlug)) {
      const found = await http.json(`/v1/mods/${idOrSlug}`, one(Mod), signal);
      if (found) return projectOf(found.data);
      throw notFound(idOrSlug);
    }
    // A slug is unique only within its class.
    for (const kind of kinds) {
      const fields = { gameId: MINECRAFT, classId: String(CLASSES[kind]), slug: idOrSlug };
      const [found] = await list('/v1/mods/search', fields, Mod, signal);
      if (found) return projectOf(found);
    }
    throw notFound(idOrSlug);
  }

  return {
    source: 'curseforge',
    project,
    async search(query, signal) {
      const { limit } = query;
      return (await pages('/v1/mods/search', searchFields(query), Mod, { limit, signal })).map(projectOf);
    },
    async versions(projectId, { loaders, minecraftVersion }, signal) {
      const fields: Record<string, string> = minecraftVersion ? { gameVersion: minecraftVersion } : {};
      const files = await pages(`/v1/mods/${number(projectId)}/files`, fields, File, { signal });
      return files
        .map(versionOf)
        .filter((version) => !loaders || version.loaders.some((loader) => loaders.includes(loader)))
        .sort((a, b) => b.publishedAt - a.publishedAt);
    },
    async version(projectId, versionId, signal) {
      const path = `/v1/mods/${number(projectId)}/files/${number(versionId)}`;
      const found = await http.json(path, one(File), signal);
      if (found) return versionOf(found.data);
      throw notFound(versionId);
    },
    async *download(file, signal) {
      if (file.urls.length === 0) throw disallowed(file.name);
      yield* http.download(file, signal);
    },
  };
}

function searchFields({ query, kind, loader, minecraftVersion }: ModQuery): Record<string, string> {
  const loaderType = LOADERS[loader];
  return {
    gameId: MINECRAFT,
    searchFilter: query,
    sortField: '2',
    sortOrder: 'desc',
    ...(kind !== '' && { classId: String(CLASSES[kind]) }),
    ...(minecraftVersion !== '' && { gameVersion: minecraftVersion }),
    ...(loaderType && { modLoaderType: loaderType }),
  };
}

function projectOf(mod: z.output<typeof Mod>): ModProject {
  return {
    projectId: String(mod.id),
    slug: mod.slug,
    title: mod.name,
    description: mod.summary,
    author: mod.authors[0]?.name ?? '',
    kind: KINDS.find((kind) => CLASSES[kind] === mod.classId) ?? 'mod',
    downloads: Math.trunc(mod.downloadCount),
    iconUrl: mod.logo?.url ?? '',
  };
}

/** Converts a file. Loaders and Minecraft versions are in one list; a file without a loader is a plugin's. */
function versionOf(file: z.output<typeof File>): ModVersion {
  const named = new Set(file.gameVersions.map((each) => each.toLowerCase()));
  const loaders = Object.keys(LOADERS).filter((loader) => named.has(loader));
  return {
    projectId: String(file.modId),
    versionId: String(file.id),
    number: file.displayName,
    channel: CHANNELS[file.releaseType - 1] ?? 'alpha',
    loaders: loaders.length > 0 ? loaders : BUKKIT,
    minecraftVersions: file.gameVersions.filter((each) => /^\d/.test(each)),
    publishedAt: Date.parse(file.fileDate),
    file: {
      name: file.fileName,
      urls: file.downloadUrl ? [file.downloadUrl] : [],
      sizeBytes: file.fileLength,
      sha512: '',
      sha1: file.hashes.find(({ algo }) => algo === SHA1)?.value.toLowerCase() ?? '',
    },
    requires: (file.dependencies ?? [])
      .filter(({ relationType }) => relationType === REQUIRED)
      .map(({ modId }) => ({ projectId: String(modId), versionId: '' })),
  };
}

function number(text: string): string {
  if (/^\d{1,12}$/.test(text)) return text;
  throw notFound(text);
}

function notFound(what: string): StatusError {
  return new StatusError('NOT_FOUND', 'MOD_NOT_FOUND', `CurseForge has no ${what}. It may have been removed.`, {
    metadata: { source: 'curseforge', id: what },
  });
}

function disallowed(name: string): StatusError {
  const sentence =
    `The authors of ${name} do not allow automatic downloads. Download it from CurseForge's website, then upload it ` +
    'to the mods folder.';
  return new StatusError('FAILED_PRECONDITION', 'MOD_DISTRIBUTION_DISALLOWED', sentence, { metadata: { file: name } });
}
