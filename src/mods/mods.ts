import type { Folders } from '../files/files.ts';
import { foldersIn } from '../game/cores.ts';
import type { PackRef } from '../game/settings.ts';
import { dataRoot } from '../jail/data-root.ts';
import { openJail } from '../jail/jail.ts';
import { createFolder } from '../jail/server-folder.ts';
import { type WithKeyLock, createKeyedMutex } from '../kernel/mutex.ts';
import { StatusError } from '../kernel/status.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { Store, Tx } from '../store/store.ts';
import { placeMods } from './files.ts';
import { type Host, fitOf, foldersOf } from './choice.ts';
import { findPack, softwareOfPack } from './packs.ts';
import type { ModProject, ModQuery, ModRegistry, ModVersion } from './registries/registry.ts';
import { type Wish, keyOf, resolveMods } from './resolution.ts';
import { type ServerModRow, listMods, replaceMods } from './rows.ts';

/** A change of a project's version; '' means absent. */
export interface ModChange {
  /** Display name. */
  name: string;
  projectId: string;
  source: string;
  from: string;
  to: string;
}

interface Changing {
  signal: AbortSignal;
  /** Runs in the write of the change. */
  record: (tx: Tx) => Promise<void>;
}

/**
 * Servers' mods and plugins. Rows define a server's mods; its folder follows them. A change is resolved and downloaded
 * first, then stored, then applied file by file with renames: an awake game keeps the files it has open, and loads the
 * new ones at its next start. Rejects with the StatusErrors of `ModRegistry`, `resolveMods` and `placeMods`, in which
 * case the mods are unchanged.
 */
export class Mods {
  readonly #store: Store;
  readonly #folders: Folders;
  readonly #registries: readonly ModRegistry[];
  readonly #withFilesLock: WithKeyLock;
  readonly #withLock = createKeyedMutex();
  readonly #inFlight = new Map<string, Set<AbortController>>();

  /** `withFilesLock`: the per-server mutex of operations that replace or archive all files. */
  constructor(store: Store, folders: Folders, registries: readonly ModRegistry[], withFilesLock: WithKeyLock) {
    this.#store = store;
    this.#folders = folders;
    this.#registries = registries;
    this.#withFilesLock = withFilesLock;
  }

  /** Searches a registry. Rejects with UNIMPLEMENTED if it is not set up here. */
  async search(source: string, query: ModQuery, signal: AbortSignal): Promise<ModProject[]> {
    return await this.#registry(source).search(query, signal);
  }

  /**
   * Returns the fields that a pack sets in a server's row; for a platform that cannot be queried here, only those
   * given. Rejects like `findPack`.
   */
  async pack(platform: string, pack: PackRef, signal: AbortSignal): Promise<Partial<ServerRow>> {
    const from = this.#registries.find(({ source }) => source === platform);
    if (from === undefined) return { modpackPlatform: platform, ...pack };
    const { project, version } = await findPack(from, pack, signal);
    return { modpackPlatform: platform, ...softwareOfPack(project, version) };
  }

  /**
   * Returns the names of a server's requested mods that have no version for other software. Leaves out mods whose
   * registry does not respond.
   */
  async withoutVersion(serverId: string, host: Host, signal: AbortSignal): Promise<string[]> {
    const wished = (await this.list(serverId)).filter((row) => row.wished);
    if (foldersIn(host.type, host.version).length === 0) return wished.map(({ name }) => name);
    const missing = wished.map(async ({ source, projectId, name }) => {
      try {
        const versions = await this.#registry(source).versions(projectId, fitOf(host), signal);
        return versions.length === 0 ? [name] : [];
      } catch (error) {
        signal.throwIfAborted();
        return error instanceof StatusError && error.code === 'NOT_FOUND' ? [name] : [];
      }
    });
    return (await Promise.all(missing)).flat();
  }

  /** Returns all mods of a server, including dependencies. */
  list(serverId: string): Promise<ServerModRow[]> {
    return listMods(this.#store, serverId);
  }

  /**
   * Adds a mod with its dependencies; an installed one gets the new `versionSpec`. A dry run only returns the changes.
   */
  add(
    server: ServerRow,
    { dryRun, ...wish }: Wish & { dryRun: boolean },
    { signal: caller, record }: Changing,
  ): Promise<ModChange[]> {
    return this.#changing(server.id, caller, async (signal) => {
      if (!dryRun) this.#folders.lock.require(server.id);
      const kinds = foldersOf(server).map(({ path }) => (path === 'plugins' ? 'plugin' : 'mod'));
      const rows = await listMods(this.#store, server.id);
      const { projectId, title } = await this.#registry(wish.source).project(wish.projectId, signal, kinds);
      const named = { ...wish, projectId, name: wish.name || title };
      const others = rows.filter((row) => keyOf(row) !== keyOf(named));
      const wishes = [named, ...others.filter(({ wished }) => wished)];
      const next = await resolveMods(server, wishes, others, this.#registry, signal);
      if (!dryRun) await this.#apply(server, next, { signal, record });
      return changesBetween(rows, next);
    });
  }

  /**
   * Removes a mod and dependencies that only it needs. A mod that others need stays as their dependency. Rejects with
   * NOT_FOUND MOD_NOT_INSTALLED, or with FAILED_PRECONDITION MOD_REQUIRED for a mod that is only a dependency.
   */
  remove(
    server: ServerRow,
    mod: { source: string; projectId: string },
    { signal: caller, record }: Changing,
  ): Promise<void> {
    return this.#changing(server.id, caller, async (signal) => {
      this.#folders.lock.require(server.id);
      const rows = await listMods(this.#store, server.id);
      const row = rows.find(
        (each) => each.source === mod.source && (each.projectId === mod.projectId || each.slug === mod.projectId),
      );
      if (row === undefined) throw notInstalled(mod);
      const wishes = rows.filter((each) => each.wished && each !== row);
      const next = await resolveMods(server, wishes, rows, this.#registry, signal);
      const needed = next.find((each) => keyOf(each) === keyOf(row));
      if (needed && !row.wished) throw required(row, next);
      await this.#apply(server, next, { signal, record });
    });
  }

  /** Chooses versions again, for all or some projects and their dependencies. A dry run changes nothing. */
  update(
    server: ServerRow,
    { projectIds, dryRun }: { projectIds: readonly string[]; dryRun: boolean },
    { signal: caller, record }: Changing,
  ): Promise<ModChange[]> {
    return this.#changing(server.id, caller, async (signal) => {
      if (!dryRun) this.#folders.lock.require(server.id);
      const rows = await listMods(this.#store, server.id);
      const isSelected = (row: ServerModRow) =>
        projectIds.length === 0 || projectIds.includes(row.projectId) || projectIds.includes(row.slug);
      for (const projectId of projectIds) {
        if (!rows.some((row) => row.projectId === projectId || row.slug === projectId))
          throw notInstalled({ projectId });
      }
      if (rows.length === 0) return [];
      const kept = rows.filter((row) => !isSelected(row));
      const wishes = rows.filter(({ wished }) => wished);
      const next = await resolveMods(server, wishes, kept, this.#registry, signal);
      const changes = changesBetween(rows, next);
      if (!dryRun && changes.length > 0) await this.#apply(server, next, { signal, record });
      return changes;
    });
  }

  /** Called before a start. Completes an interrupted change and restores missing files. */
  settle(serverId: string, signal: AbortSignal): Promise<void> {
    return this.#withFilesLock(serverId, async () => {
      const { dataDir, owner, disk } = this.#folders;
      const rows = await listMods(this.#store, serverId);
      await using jail = await openJail(dataRoot(dataDir, serverId), { owner, secrets: 'open' });
      await placeMods(jail, serverId, rows, { disk, registry: this.#registry, signal });
    });
  }

  /** Cancels running changes of a server that is deleted. */
  async end(serverId: string): Promise<void> {
    for (const each of this.#inFlight.get(serverId) ?? []) each.abort();
    await this.#withLock(serverId, async () => {});
  }

  readonly #registry = (source: string): ModRegistry => {
    const found = this.#registries.find((each) => each.source === source);
    if (found) return found;
    const sentence = `Mods from ${source} are not available here. The operator must set an API key for it.`;
    throw new StatusError('UNIMPLEMENTED', 'NOT_SUPPORTED', sentence, { metadata: { source } });
  };

  /** Serializes a server's changes. Each is aborted when its caller or the server goes away. */
  async #changing<T>(id: string, caller: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const end = new AbortController();
    const signal = AbortSignal.any([caller, end.signal]);
    this.#inFlight.set(id, (this.#inFlight.get(id) ?? new Set()).add(end));
    try {
      return await this.#withLock(id, async () => {
        signal.throwIfAborted();
        return await work(signal);
      });
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new StatusError('CANCELLED', 'CANCELLED', 'The change was cancelled; nothing has changed.', {
        cause: error,
      });
    } finally {
      this.#inFlight.get(id)?.delete(end);
      if (this.#inFlight.get(id)?.size === 0) this.#inFlight.delete(id);
    }
  }

  async #apply(server: ServerRow, rows: readonly ServerModRow[], { signal, record }: Changing): Promise<void> {
    const store = this.#store;
    const { dataDir, owner, disk, lock } = this.#folders;
    const change = lock.of(server.id);
    const before = await listMods(store, server.id);
    const root = dataRoot(dataDir, server.id);
    await createFolder(root, owner);
    await using jail = await openJail(root, { owner, secrets: 'open' });
    const replace = async (put: () => Promise<void>) => {
      signal.throwIfAborted();
      await store.write(async (tx) => {
        await replaceMods(tx, server.id, rows);
        await record(tx);
      });
      try {
        await put();
      } catch (error) {
        // The mods folder may be a link, or the disk full. The next start must not fail for that, too.
        await store.write((tx) => replaceMods(tx, server.id, before));
        throw error;
      }
    };
    // A start waits for files being put in place, but not for downloads.
    const decide = (put: () => Promise<void>) => this.#withFilesLock(server.id, () => change(() => replace(put)));
    await placeMods(jail, server.id, rows, { disk, registry: this.#registry, signal, decide });
  }
}

function changesBetween(before: readonly ServerModRow[], after: readonly ServerModRow[]): ModChange[] {
  const rows = new Map([...before, ...after].map((row) => [keyOf(row), row]));
  const of = (all: readonly ServerModRow[], key: string) => all.find((row) => keyOf(row) === key);
  return [...rows].flatMap(([key, { name, projectId, source }]) => {
    const [from, to] = [of(before, key), of(after, key)];
    if (from?.versionId === to?.versionId && from?.path === to?.path) return [];
    return [{ name, projectId, source, from: from?.versionNumber ?? '', to: to?.versionNumber ?? '' }];
  });
}

function notInstalled({ projectId, source }: { projectId: string; source?: string }): StatusError {
  const sentence = `The server has no mod ${projectId}.`;
  const metadata = { ...(source !== undefined && { source }), projectId };
  return new StatusError('NOT_FOUND', 'MOD_NOT_INSTALLED', sentence, { metadata });
}

function required(row: ServerModRow, all: readonly ServerModRow[]): StatusError {
  const needs = ({ requires }: ServerModRow) => JSON.parse(requires) as ModVersion['requires'];
  const isIt = (need: ModVersion['requires'][number]) =>
    need.projectId === row.projectId || (need.versionId !== '' && need.versionId === row.versionId);
  const by = all.filter((each) => needs(each).some(isIt)).map(({ name }) => name);
  const sentence = `${row.name} is needed by ${by.join(', ') || 'another mod'}; remove that first.`;
  return new StatusError('FAILED_PRECONDITION', 'MOD_REQUIRED', sentence, { metadata: { projectId: row.projectId } });
}
