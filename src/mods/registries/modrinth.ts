import type * as z from 'zod';
import type { Clock } from '../../kernel/clock.ts';
import { createRegistryHttp } from '../../kernel/registry/http.ts';
import { StatusError } from '../../kernel/status.ts';
import {
  PLUGIN_LOADERS,
  ProjectAnswer,
  SearchAnswer,
  VersionAnswer,
  VersionsAnswer,
  hitOf,
  projectOf,
  versionOf,
} from './modrinth-messages.ts';
import type { ModQuery, ModRegistry } from './registry.ts';

export interface ModrinthOptions {
  /** Modrinth's API or a mirror, without the API's version. */
  baseUrl: string;
  clock: Clock;
  fetch?: typeof globalThis.fetch;
}

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

/** Modrinth (https://docs.modrinth.com/api), version 2 of its API. */
export function createModrinth({ baseUrl, clock, fetch }: ModrinthOptions): ModRegistry {
  const http = createRegistryHttp({
    name: 'Modrinth',
    baseUrl,
    clock,
    fileHosts: FILE_HOSTS,
    headers: HEADERS,
    goneReason: 'MOD_NOT_FOUND',
    ...(fetch && { fetch }),
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
