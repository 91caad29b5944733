/** The fields used of Modrinth's answers (https://docs.modrinth.com/api), bounded in number and length. */
import { MOD_LOADERS } from '../../game/cores.ts';
import * as z from 'zod';
import type { ModKind, ModProject, ModVersion } from './registry.ts';

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

export const SearchAnswer = z.object({
  hits: z.array(z.object({ ...hit, project_id: word, author: word, categories: words.nullish() })).max(200),
});
type Hit = z.output<typeof SearchAnswer>['hits'][number];

export const ProjectAnswer = z.object({ ...hit, id: word, loaders: words.nullish() });
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

export const VersionAnswer = z.object({
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

export const VersionsAnswer = z.array(VersionAnswer).max(10_000);

/** Loaders of plugin servers; the API calls their projects `mod`. */
export const PLUGIN_LOADERS: readonly string[] = ['bukkit', 'spigot', 'paper', 'purpur', 'folia', 'sponge'];

export function hitOf(hit: Hit): ModProject {
  return { ...common(hit, hit.categories ?? []), projectId: hit.project_id, author: hit.author };
}

export function projectOf(project: Project): ModProject {
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
export function versionOf(version: Version): ModVersion | undefined {
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
