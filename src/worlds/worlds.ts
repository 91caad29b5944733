import { posix } from 'node:path';
import type { Cause, Failure } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import type { Archives } from '../backups/archives.ts';
import type { Backups } from '../backups/backups.ts';
import { exists, siblingsOf } from '../backups/files.ts';
import { type DoJob, type Tools, type Work, attempt, keepFiles } from '../backups/job.ts';
import {
  type World,
  isLinked,
  isWorldName,
  levelNameOf,
  loadedLevelName,
  removeWorld,
  withLevelName,
  worldBytes,
  worldsIn,
} from '../game/worlds.ts';
import type { ChangeLock } from '../jail/change-lock.ts';
import { type Jail, openJail } from '../jail/jail.ts';
import type { Disk } from '../jail/space.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import { type AuditActor, recordAudit } from '../audit/audit.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';

export interface WorldsOptions {
  servers: Servers;
  backups: Backups;
  archives: Archives;
  clock: Clock;
  dataDir: string;
  owner: FileOwner | undefined;
  disk: Disk;
  /** Excludes concurrent changes and restores. */
  lock: ChangeLock;
}

/** A world as its owner sees it. */
interface WorldView extends World {
  /** The world is open in the running game. */
  loaded: boolean;
  sizeBytes: number;
}

/** The requester, for the audit log and the server's machine. */
interface By {
  actor: AuditActor;
  cause: Cause;
}

/** The worlds in servers' folders. Rejects with WORLD_NOT_FOUND for unknown names. */
export class Worlds {
  readonly #options: WorldsOptions;

  constructor(options: WorldsOptions) {
    this.#options = options;
  }

  /** Lists worlds by name, including the active one even if the next start has yet to create it. */
  async list(id: string): Promise<WorldView[]> {
    const { worlds, loaded } = await this.#look(id);
    return await this.#inFolder(id, async (jail) => {
      const views: WorldView[] = [];
      for (const world of worlds) {
        const sizeBytes = jail ? await worldBytes(jail, world) : 0;
        views.push({ ...world, loaded: world.name === loaded, sizeBytes });
      }
      return views;
    });
  }

  /** Sets the world of the next start; the running game keeps its own. */
  async setActive(id: string, name: string, { actor }: By): Promise<void> {
    const { servers, clock } = this.#options;
    // Waits for a removal to finish.
    await this.#withServerLock(id, async () => {
      const { now, world } = await this.#find(id, name);
      if (world.active) return;
      const { accountId } = now.row;
      const entry = { action: 'world.setActive', accountId, serverId: id, detail: name, at: clock.now() };
      const chosen = ({ properties }: ServerRow) => ({ properties: withLevelName(properties, name) });
      await servers.patch(id, chosen, (tx) => recordAudit(tx, actor, entry));
    });
  }

  /**
   * Removes a world with its nether and end. Rejects with WORLD_ACTIVE if the game has it open, or is about to open it.
   */
  async remove(id: string, name: string, { actor, cause }: By, signal: AbortSignal): Promise<void> {
    const { servers, backups, clock, disk, lock } = this.#options;
    lock.require(id);
    const { now, world, active } = await this.#find(id, name);
    if (world.folders.length === 0) throw worldNotFound(name);
    if (!world.active && liesIn(active, world)) throw worldActive(name);
    if (isTagged(now.state, 'at-rest')) {
      return await backups.maintain(id, { kind: 'world.delete', target: name }, cause, signal);
    }
    await this.#withServerLock(id, async () => {
      const again = await this.#find(id, name);
      if (again.inUse) throw worldActive(name);
      await this.#inFolder(id, async (jail) => {
        if (jail) await removeWorld(jail, name);
      });
      disk.freed(id);
      const { accountId } = again.now.row;
      const entry = { action: 'world.delete', accountId, serverId: id, detail: name, at: clock.now() };
      await servers.patch(id, {}, (tx) => recordAudit(tx, actor, entry));
    });
  }

  /**
   * Adds a world, whose files `put` moves into place. Rejects with ALREADY_EXISTS WORLD_EXISTS, or with WORLD_ACTIVE if
   * an awake server is about to create it.
   */
  async add(id: string, name: string, { actor }: By, put: () => Promise<unknown>): Promise<void> {
    const { servers, clock, archives } = this.#options;
    await archives.withFilesLock(id, async () => {
      const { now, active } = await this.#look(id);
      const names = [name, `${name}_nether`, `${name}_the_end`];
      const there = await this.#inFolder(id, async (jail) => {
        for (const each of jail ? names : []) if (await jail?.stat(each).catch(() => undefined)) return each;
        return undefined;
      });
      if (there !== undefined) throw worldExists(there);
      if (!isTagged(now.state, 'at-rest') && names.includes(active)) throw worldActive(name);
      await put();
      const entry = {
        action: 'world.import',
        accountId: now.row.accountId,
        serverId: id,
        detail: name,
        at: clock.now(),
      };
      await servers.patch(id, {}, (tx) => recordAudit(tx, actor, entry));
    });
  }

  /**
   * Creates a backup before a change that the world might not survive, and resolves with its id when it is ready; ''
   * for a server without a world. Rejects with FAILED_PRECONDITION BACKUP_FAILED.
   */
  async backUp(server: ServerRow, actor: AuditActor, signal: AbortSignal, label = ''): Promise<string> {
    const { backups } = this.#options;
    if ((await this.list(server.id)).every(({ sizeBytes }) => sizeBytes === 0)) return '';
    const { id } = await backups.create(server, { kind: 'install', label, actor });
    const { state, error } = await backups.finished({ serverId: server.id, id }, signal);
    if (state !== 'ready') throw noBackup(error);
    return id;
  }

  /**
   * Creates a backup and removes the active world; the next start creates a new one. A running server is stopped and
   * started again.
   */
  async reset(id: string, { cause }: By, signal: AbortSignal): Promise<void> {
    const { backups, lock } = this.#options;
    lock.require(id);
    const { now, worlds } = await this.#look(id);
    const active = worlds.find((each) => each.active);
    if (active === undefined) throw outside();
    if (await this.#inFolder(id, async (jail) => jail !== undefined && (await isLinked(jail, active.name))))
      throw linked(active.name);
    if (active.folders.length === 0 && isTagged(now.state, 'at-rest')) return;
    await backups.maintain(id, { kind: 'world.reset', target: active.name }, cause, signal);
  }

  async #inFolder<T>(id: string, work: (jail: Jail | undefined) => Promise<T>): Promise<T> {
    const { dataDir, owner } = this.#options;
    const { root } = siblingsOf(dataDir, id);
    if (!(await exists(root))) return await work(undefined);
    await using jail = await openJail(root, { owner });
    return await work(jail);
  }

  /** Reads the worlds. `loaded`: the world that an awake game has open. */
  #look(id: string): Promise<{ now: ServerNow; active: string; loaded: string | undefined; worlds: World[] }> {
    return this.#inFolder(id, async (jail) => {
      const now = await this.#options.servers.get(id);
      if (now === undefined) throw serverNotFound(id);
      const active = await levelNameOf(now.row, jail);
      // The file is written before each boot, and the game reads it once.
      const awake = jail !== undefined && !isTagged(now.state, 'at-rest');
      const loaded = awake ? await loadedLevelName(jail) : undefined;
      return { now, active, loaded, worlds: await worldsIn(jail, active) };
    });
  }

  async #find(id: string, name: string) {
    const { now, active, loaded, worlds } = await this.#look(id);
    const world = worlds.find((each) => each.name === name);
    if (world === undefined) throw worldNotFound(name);
    return { now, world, active, inUse: [active, loaded].some((each) => each !== undefined && liesIn(each, world)) };
  }

  async #withServerLock(id: string, work: () => Promise<void>): Promise<void> {
    const { archives, lock } = this.#options;
    lock.require(id);
    await archives.withFilesLock(id, () => lock.change(id, work));
  }
}

/** Whether a level is a world, or inside one of its folders. */
function liesIn(level: string, { name, folders }: World): boolean {
  const path = posix.normalize(level);
  return [name, ...folders].some((folder) => path === folder || path.startsWith(`${folder}/`));
}

function worldNotFound(name: string): StatusError {
  const sentence = isWorldName(name)
    ? 'The server has no world with this name.'
    : 'The name of a world must be a plain folder name.';
  return new StatusError('NOT_FOUND', 'WORLD_NOT_FOUND', sentence, { metadata: { name } });
}

function worldActive(name: string): StatusError {
  const sentence =
    'The game uses this world now, or will at its next start. Stop the server first, or choose another world.';
  return new StatusError('FAILED_PRECONDITION', 'WORLD_ACTIVE', sentence, { metadata: { name } });
}

function worldExists(name: string): StatusError {
  const sentence = `${name} exists already. Choose another name, or delete that world first.`;
  return new StatusError('ALREADY_EXISTS', 'WORLD_EXISTS', sentence, { metadata: { name } });
}

function noBackup(error: string): StatusError {
  const sentence = `The backup failed, so nothing was changed: ${error}`;
  return new StatusError('FAILED_PRECONDITION', 'BACKUP_FAILED', sentence);
}

function outside(): StatusError {
  const sentence = 'The property level-name is not a plain folder name. Set it to one first.';
  return new StatusError('FAILED_PRECONDITION', 'WORLD_OUTSIDE', sentence);
}

function linked(name: string): StatusError {
  const sentence = `${name} is a symbolic link, so its files are not changed. Replace it with the folder itself first.`;
  return new StatusError('FAILED_PRECONDITION', 'WORLD_OUTSIDE', sentence, { metadata: { name } });
}

/** Creates the jobs that remove a world: `world.delete`, and `world.reset`, which first backs up the whole server. */
export function createWorldJobs(tools: Tools): Record<'world.delete' | 'world.reset', DoJob> {
  const { archives, dataDir, owner, disk, log, at } = tools;

  /** Backs up the whole server and removes the active world. The next start creates a new one. */
  async function reset(work: Work): Promise<Failure | null> {
    const { job, signal } = work;
    if (job.step === '') {
      await at('asked');
      const failure = await attempt(log, signal, () => keepFiles(tools, work, 'reset'));
      if (failure !== null) return failure;
      await at('kept');
    }
    return await remove(work);
  }

  function remove(work: Work): Promise<Failure | null> {
    return archives.withFilesLock(work.job.serverId, async () => {
      work.signal.throwIfAborted();
      return await removeNow(work);
    });
  }

  async function removeNow({ job: { serverId, target }, signal }: Work): Promise<Failure | null> {
    const { root } = siblingsOf(dataDir, serverId);
    await at('asked');
    if (await exists(root)) {
      await using jail = await openJail(root, { owner });
      await removeWorld(jail, target, async () => {
        await at('removed');
        signal.throwIfAborted();
      });
    }
    disk.freed(serverId);
    await at('cleaned');
    return null;
  }

  return { 'world.delete': remove, 'world.reset': reset };
}
