import type { RegistryFile } from '../../kernel/registry/http.ts';

/** The kinds of projects in a catalogue. */
export type ModKind = 'mod' | 'plugin' | 'modpack';

/** A search; '' leaves a field open. */
export interface ModQuery {
  query: string;
  kind: ModKind | '';
  /** `fabric`, `paper`, … */
  loader: string;
  minecraftVersion: string;
  limit: number;
}

/** A mod, plugin or mod pack with all its versions. */
export interface ModProject {
  /** The registry's id, which stays when the project is renamed. */
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
  /** The version's name, as its authors wrote it. */
  number: string;
  channel: 'release' | 'beta' | 'alpha';
  loaders: readonly string[];
  minecraftVersions: readonly string[];
  /** Epoch ms. */
  publishedAt: number;
  file: RegistryFile;
  /** The dependencies. At least one of the two ids is set. A `versionId` is preferred over other versions that fit. */
  requires: readonly { projectId: string; versionId: string }[];
}

/** A server's requirements; absent: none. */
export interface ModFit {
  loaders?: readonly string[];
  minecraftVersion?: string;
}

/**
 * A catalogue of mods, plugins and mod packs, and their files. Rejects with StatusError: NOT_FOUND MOD_NOT_FOUND for
 * anything missing or removed; UNAVAILABLE REGISTRY_UNAVAILABLE after several attempts within half a minute.
 */
export interface ModRegistry {
  readonly source: 'modrinth' | 'curseforge';
  search(query: ModQuery, signal?: AbortSignal): Promise<ModProject[]>;
  /** Returns a project by id or slug. If projects of several kinds share a slug, the first of these kinds wins. */
  project(idOrSlug: string, signal?: AbortSignal, kinds?: readonly ModKind[]): Promise<ModProject>;
  /** Returns versions for any of the loaders and this Minecraft version, newest first. */
  versions(projectId: string, fit: ModFit, signal?: AbortSignal): Promise<ModVersion[]>;
  version(projectId: string, versionId: string, signal?: AbortSignal): Promise<ModVersion>;
  /** See `RegistryHttp`. */
  download(file: RegistryFile, signal: AbortSignal): AsyncIterable<Uint8Array>;
}
