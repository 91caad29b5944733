import { mkdir, readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { LeftOver } from '../backups/offsite/uploads.ts';
import type { ServerDatabases } from '../databases/databases.ts';
import type { Engine } from '../engines/engine.ts';
import { removeTree } from '../jail/remove-tree.ts';
import { randomBase62 } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import { removeGame } from '../servers/reconcile.ts';
import { listServerIds } from '../servers/rows.ts';
import type { Store, Tx } from '../store/store.ts';

/** A resource on this node without a server. */
export interface Orphan {
  /**
   * `game`: a container or process; `database`; `data`, `backups`: a folder of a server; `offsite`: a backup off site.
   */
  kind: string;
  /**
   * The id of the former server, with a suffix for a staged or replaced folder; a database's own name;
   * `<server>/<backup>` off site.
   */
  id: string;
  /** Whether it is a running game. */
  up: boolean;
  /** When it was last changed, or began; null if unknown. */
  at: number | null;
}

interface OrphansOptions {
  store: Store;
  engine: Pick<Engine, 'list' | 'kill' | 'erase'>;
  log: Log;
  dataDir: string;
  /** Databases that wait for removal; absent if no database server is configured. */
  databases?: ServerDatabases | undefined;
  /** Absent if backups are only stored in the folder. */
  leftOver?: LeftOver;
}

const GAME = 'game';
const DATABASE = 'database';
const OFF_SITE = 'offsite';
/** A prefix that no server id has. */
const REMOVING = '.removing-';

/**
 * Finds and removes leftovers of servers: after a lost database, a manual removal, or an engine that was unreachable.
 */
export class Orphans {
  readonly #options: OrphansOptions;
  /** By kind: the directory with a folder per server, named after its id. */
  readonly #folders: Record<string, string>;
  readonly #kinds: ReadonlyMap<string, () => Promise<Orphan[]>>;

  private constructor(options: OrphansOptions) {
    const { dataDir } = options;
    this.#options = options;
    this.#folders = { data: join(dataDir, 'servers'), backups: join(dataDir, 'backups') };
    this.#kinds = new Map([
      [GAME, () => this.#games()],
      [DATABASE, () => this.#databases()],
      [OFF_SITE, () => this.#offSite()],
      ...Object.entries(this.#folders).map(([kind, dir]) => [kind, () => this.#foldersIn(kind, dir)] as const),
    ]);
  }

  /** Completes removals that an earlier run had begun. */
  static async open(options: OrphansOptions): Promise<Orphans> {
    const orphans = new Orphans(options);
    for (const dir of Object.values(orphans.#folders)) {
      for (const { name } of await entriesOf(dir)) if (name.startsWith(REMOVING)) orphans.#clear(join(dir, name));
    }
    return orphans;
  }

  /** Returns all orphans. `unread`: kinds that cannot be listed now. */
  list(): Promise<{ orphans: Orphan[]; unread: string[] }> {
    return this.#list([...this.#kinds.keys()]);
  }

  /**
   * Removes an orphan named by `list`; `also` runs in the write of the decision, after which a folder is gone for good
   * even if this process dies. NOT_FOUND ORPHAN_NOT_FOUND; FAILED_PRECONDITION ORPHAN_IN_USE for the files of a running
   * game, ORPHAN_GOES for a database; UNAVAILABLE NODE_UNREACHABLE, or BACKUP_STORE_AWAY off site.
   */
  async remove(kind: string, id: string, also: (tx: Tx) => Promise<void>): Promise<void> {
    const { store, engine, leftOver } = this.#options;
    // A game may use local files. Other kinds are not listed, because an unreachable store takes long to fail.
    const { orphans, unread } = await this.#list(kind === OFF_SITE ? [kind] : [...new Set([GAME, kind])]);
    if (unread.length > 0) throw kind === OFF_SITE ? storeIsAway() : nodeIsAway();
    const found = orphans.find((orphan) => orphan.kind === kind && orphan.id === id);
    if (found === undefined) throw notFound();
    if (kind === DATABASE) throw goes();
    if (kind === OFF_SITE) {
      if (!(await leftOver?.remove(id, also))) throw notFound();
      return;
    }
    const dir = this.#folders[kind];
    if (dir === undefined) {
      await store.write(also);
      return removeGame(engine, id);
    }
    if (orphans.some((orphan) => orphan.kind === GAME && orphan.id === serverOf(id) && orphan.up)) {
      const message = 'A game is running on these files. Remove the game first.';
      throw new StatusError('FAILED_PRECONDITION', 'ORPHAN_IN_USE', message, { metadata: { id } });
    }
    await this.#removeFolder(dir, id, also);
  }

  async #list(of: readonly string[]): Promise<{ orphans: Orphan[]; unread: string[] }> {
    const unread: string[] = [];
    const parts = of.map(async (kind) => {
      try {
        return (await this.#kinds.get(kind)?.()) ?? [];
      } catch (error) {
        this.#options.log.warn({ kind, err: error }, 'orphans cannot be listed now');
        unread.push(kind);
        return [];
      }
    });
    return { orphans: (await Promise.all(parts)).flat(), unread };
  }

  async #games(): Promise<Orphan[]> {
    const games = await this.#options.engine.list();
    const known = await this.#knownServers();
    const orphaned = games.filter(({ serverId }) => !known.has(serverId));
    return orphaned.map(({ serverId, up, startedAt }) => ({ kind: GAME, id: serverId, up, at: startedAt }));
  }

  async #foldersIn(kind: string, dir: string): Promise<Orphan[]> {
    const entries = await entriesOf(dir);
    const known = await this.#knownServers();
    const orphaned = entries.filter(({ name }) => !name.startsWith('.') && !known.has(serverOf(name)));
    const found = orphaned.map(async ({ name: id }) => {
      const at = await stat(join(dir, id)).then(
        ({ mtimeMs }) => Math.floor(mtimeMs),
        () => null,
      );
      return { kind, id, up: false, at };
    });
    return Promise.all(found);
  }

  async #databases(): Promise<Orphan[]> {
    const waiting = (await this.#options.databases?.orphans()) ?? [];
    return waiting.map(({ name, createdAt }) => ({ kind: DATABASE, id: name, up: false, at: createdAt }));
  }

  async #offSite(): Promise<Orphan[]> {
    const found = (await this.#options.leftOver?.list()) ?? [];
    return found.map(({ id, at }) => ({ kind: OFF_SITE, id, up: false, at }));
  }

  /** Queried after the engine and the folders, because a server's row is created before either. */
  async #knownServers(): Promise<Set<string>> {
    return new Set(await listServerIds(this.#options.store));
  }

  /** Removes a folder. Within the write, a server with this id cannot be created. */
  async #removeFolder(dir: string, id: string, also: (tx: Tx) => Promise<void>): Promise<void> {
    const removing = join(dir, `${REMOVING}${id}-${randomBase62(8)}`);
    await this.#options.store.write(async (tx) => {
      const rows = await tx.query('SELECT "id" FROM "servers" WHERE "id" = $1', [serverOf(id)]);
      if (rows.length > 0) throw notFound();
      await also(tx);
      await rename(join(dir, id), removing);
    });
    this.#clear(removing);
  }

  #clear(removing: string): void {
    const { log } = this.#options;
    removeTree(removing).catch((error: unknown) => {
      log.warn({ folder: removing, err: error }, 'an orphan could not be removed yet; the next start tries again');
    });
  }
}

async function entriesOf(dir: string) {
  await mkdir(dir, { recursive: true, mode: 0o750 });
  return (await readdir(dir, { withFileTypes: true })).filter((entry) => entry.isDirectory());
}

/**
 * Returns the server of a folder: folders kept beside a server's own are named after its id and a dot, which no id
 * contains.
 */
function serverOf(folder: string): string {
  return folder.split('.', 1)[0]!;
}

function nodeIsAway(): StatusError {
  return new StatusError('UNAVAILABLE', 'NODE_UNREACHABLE', 'The engine cannot be reached now. Try again.');
}

function storeIsAway(): StatusError {
  return new StatusError('UNAVAILABLE', 'BACKUP_STORE_AWAY', 'The off-site store cannot be reached now. Try again.');
}

function goes(): StatusError {
  const sentence = 'The database is removed automatically as soon as its database server responds.';
  return new StatusError('FAILED_PRECONDITION', 'ORPHAN_GOES', sentence);
}

function notFound(): StatusError {
  return new StatusError('NOT_FOUND', 'ORPHAN_NOT_FOUND', 'There is no such orphan. List the orphans again.');
}
