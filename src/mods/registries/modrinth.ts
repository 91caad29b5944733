import * as z from 'zod';
import { MOD_LOADERS } from '../../game/cores.ts';
import type { Clock } from '../../kernel/clock.ts';
import { createRegistryHttp } from '../../kernel/registry/http.ts';
import { StatusError } from '../../kernel/status.ts';
import type { ModKind, ModProject, ModQuery, ModRegistry, ModVersion } from './registry.ts';

/** Modrinth's own host, and those that packs may refer to (https://support.modrinth.com/en/articles/8802351). */
const FILE_HOSTS = [
  'cdn.modrinth.com',
  'github.com',
  'raw.githubusercontent.com',
  'objects.githubusercontent.com',
  'release-assets.githubusercontent.com',
  'gitlab.com',
];
/** The API requires a User-Agent that identifies us (https://docs.modrinth.com/api/#user-agents). */
const HEADERS = { 'user-agent': 'dormouse (Minecraft server hosting)' };

/**
 * Modrinth (https://docs.modrinth.com/api), version 2 of its API. `baseUrl`: the API or a mirror, without its version.
 */
export function createModrinth(baseUrl: string, clock: Clock): ModRegistry {
  const http = createRegistryHttp({
    name: 'Modrinth',
    baseUrl,
    clock,
    fileHosts: FILE_HOSTS,
    headers: HEADERS,
    goneReason: 'MOD_NOT_FOUND',
  });

  async function found<Schema extends z.ZodType>(path: string, schema: Schema, id: string, signal?: AbortSignal) {
    const answer = await http.json(path, schema, signal);
    if (answer !== undefined) return answer;
    throw notFound(id);
  }

  return {
    source: 'modrinth',
    async search(query) {
      const fields = { query: query.query, limit: String(query.limit), facets: JSON.stringify(facetsOf(query)) };
      const answer = await http.search(`/v2/search?${new URLSearchParams(fields).toString()}`, SearchAnswer);
      return (answer?.hits ?? []).slice(0, query.limit).map(hitOf);
    },
    async project(idOrSlug, signal) {
      return projectOf(await found(`/v2/project/${segment(idOrSlug)}`, ProjectAnswer, idOrSlug, signal));
    },
    async versions(projectId, { loaders, minecraftVersion }, signal) {
      const fields = {
        ...(loaders && { loaders: JSON.stringify(loaders) }),
        ...(minecraftVersion && { game_versions: JSON.stringify([minecraftVersion]) }),
      };
      const path = `/v2/project/${segment(projectId)}/version?${new URLSearchParams(fields).toString()}`;
      const answer = await found(path, VersionsAnswer, projectId, signal);
      const versions = answer.map(versionOf).filter((version) => version !== undefined);
      return versions.sort((a, b) => b.publishedAt - a.publishedAt);
    },
    async version(projectId, versionId, signal) {
      const version = versionOf(await found(`/v2/version/${segment(versionId)}`, VersionAnswer, versionId, signal));
      if (version && (projectId === '' || version.projectId === projectId)) return version;
      throw notFound(versionId);
    },
    download: (file, signal) => http.download(file, signal),
  };
}

/** Returns the search facets: all of the outer list must match, and any of each inner one. */
function facetsOf({ kind, loader, minecraftVersion }: ModQuery): string[][] {
  const loaders = loader === '' && kind === 'plugin' ? PLUGIN_LOADERS : [loader].filter((each) => each !== '');
  const types = { '': [], mod: ['mod'], plugin: ['mod', 'plugin'], modpack: ['modpack'] }[kind];
  return [
    types.map((type) => `project_type:${type}`),
    loaders.map((each) => `categories:${each}`),
    minecraftVersion === '' ? [] : [`versions:${minecraftVersion}`],
    ['server_side:required', 'server_side:optional', 'server_side:unknown'],
  ].filter((facet) => facet.length > 0);
}

/** Encodes one segment of a path, which cannot be '..'. */
function segment(id: string): string {
  if (!/^\.*$/.test(id)) return encodeURIComponent(id);
  throw notFound(id);
}

function notFound(id: string): StatusError {
  return new StatusError('NOT_FOUND', 'MOD_NOT_FOUND', `Modrinth has no ${id}. It may have been removed.`, {
    metadata: { source: 'modrinth', id },
  });
}

// The fields used of Modrinth's answers (https://docs.modrinth.com/api), bounded in number and length.
const word = z.string().max(256);
const text = z.string().max(4_096);
const words = z.array(word).max(2_000);
const url = z.string().max(2_048);
const count = z.int().min(0);

const hit = {
  slug: word.nullish(),
  title: text,
  description: text,
  project_type: word,
  downloads: count,
  icon_url: url.nullish(),
};

const SearchAnswer = z.object({
  hits: z.array(z.object({ ...hit, project_id: word, author: word, categories: words.nullish() })).max(200),
});
type Hit = z.output<typeof SearchAnswer>['hits'][number];

const ProjectAnswer = z.object({ ...hit, id: word, loaders: words.nullish() });
type Project = z.output<typeof ProjectAnswer>;

const FileAnswer = z.object({
  hashes: z.object({
    sha512: z.string().regex(/^[0-9a-fA-F]{128}$/),
    sha1: z
      .string()
      .regex(/^[0-9a-fA-F]{40}$/)
      .nullish(),
  }),
  url,
  filename: z.string().max(512),
  primary: z.boolean(),
  size: count,
});

const VersionAnswer = z.object({
  id: word,
  project_id: word,
  version_number: word,
  version_type: z.enum(['release', 'beta', 'alpha']).catch('alpha'),
  loaders: words,
  game_versions: words,
  date_published: z.iso.datetime({ offset: true }),
  files: z.array(FileAnswer).max(200),
  dependencies: z
    .array(z.object({ project_id: word.nullish(), version_id: word.nullish(), dependency_type: word }))
    .max(1_000)
    .nullish(),
});
type Version = z.output<typeof VersionAnswer>;

const VersionsAnswer = z.array(VersionAnswer).max(10_000);

/** Loaders of plugin servers; the API calls their projects `mod`. */
const PLUGIN_LOADERS: readonly string[] = ['bukkit', 'spigot', 'paper', 'purpur', 'folia', 'sponge'];

function hitOf(hit: Hit): ModProject {
  return { ...common(hit, hit.categories ?? []), projectId: hit.project_id, author: hit.author };
}

function projectOf(project: Project): ModProject {
  return { ...common(project, project.loaders ?? []), projectId: project.id, author: '' };
}

function common(project: Hit | Project, loaders: readonly string[]): Omit<ModProject, 'projectId' | 'author'> {
  const { slug, title, description, downloads, icon_url: icon } = project;
  return {
    slug: slug ?? '',
    title,
    description,
    downloads,
    iconUrl: icon ?? '',
    kind: kindOf(project.project_type, loaders),
  };
}

function kindOf(type: string, loaders: readonly string[]): ModKind {
  if (type === 'modpack' || type === 'plugin') return type;
  const known = loaders.filter((each) => /^[a-z]+$/.test(each));
  const plugin = known.some((each) => PLUGIN_LOADERS.includes(each));
  return plugin && !known.some((each) => MOD_LOADERS.includes(each)) ? 'plugin' : 'mod';
}

/** Converts a version; undefined if it has no files. */
function versionOf(version: Version): ModVersion | undefined {
  const file = version.files.find(({ primary }) => primary) ?? version.files[0];
  if (file === undefined) return undefined;
  const { sha512, sha1 } = file.hashes;
  const requires = (version.dependencies ?? [])
    .filter((each) => each.dependency_type === 'required' && (each.project_id || each.version_id))
    .map((each) => ({ projectId: each.project_id ?? '', versionId: each.version_id ?? '' }));
  return {
    projectId: version.project_id,
    versionId: version.id,
    number: version.version_number,
    channel: version.version_type,
    loaders: version.loaders,
    minecraftVersions: version.game_versions,
    publishedAt: Date.parse(version.date_published),
    file: { name: file.filename, urls: [file.url], sizeBytes: file.size, sha512, sha1: sha1 ?? '' },
    requires,
  };
}
