import type { RegistryFile } from '../../kernel/registry/http.ts';
/** What a catalogue of mods holds. */
export type ModKind = 'mod' | 'plugin' | 'modpack';

/** What is looked for; '' leaves a field open. */
export interface ModQuery {
  query: string;
  kind: ModKind | '';
  /** `fabric`, `paper`, … */
  loader: string;
  minecraftVersion: string;
  limit: number;
}

/** A mod, plugin or mod pack, whichever version of it. */
export interface ModProject {
  /** The registry's own, which stays when the project is renamed. */
  projectId: string;
  slug: string;
  title: string;
  description: string;
  author: string;
  kind: ModKind;
  downloads: number;
  iconUrl: string;
}

/** One version of a project. */
export interface ModVersion {
  projectId: string;
  versionId: string;
  /** As its authors call it. */
  number: string;
  channel: 'release' | 'beta' | 'alpha';
  loaders: readonly string[];
  minecraftVersions: readonly string[];
  /** Epoch ms. */
  publishedAt: number;
  file: RegistryFile;
  /** What it does not run without. One of both names is there; a version's binds. */
  requires: readonly { projectId: string; versionId: string }[];
}

/** What is fit for a server; left out: anything. */
export interface ModFit {
  loaders?: readonly string[];
  minecraftVersion?: string;
}

/**
 * A catalogue of mods, plugins and mod packs, and their files. Rejects with StatusError: NOT_FOUND MOD_NOT_FOUND for what is
 * not there or is there no longer; UNAVAILABLE REGISTRY_UNAVAILABLE after several tries within half a minute.
 */
export interface ModRegistry {
  readonly source: 'modrinth' | 'curseforge';
  search(query: ModQuery, signal?: AbortSignal): Promise<ModProject[]>;
  /** By id or slug. Where projects of several kinds may bear one slug: of the first of these kinds that one bears it. */
  project(idOrSlug: string, signal?: AbortSignal, kinds?: readonly ModKind[]): Promise<ModProject>;
  /** Newest first; for any of the loaders and this version of Minecraft. */
  versions(projectId: string, fit: ModFit, signal?: AbortSignal): Promise<ModVersion[]>;
  version(projectId: string, versionId: string, signal?: AbortSignal): Promise<ModVersion>;
  /** See `RegistryHttp`. */
  download(file: RegistryFile, signal: AbortSignal): AsyncIterable<Uint8Array>;
}
