import { randomBytes } from 'node:crypto';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { createMutex } from '../kernel/mutex.ts';
import { StatusError } from '../kernel/status.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import { requireServer } from '../servers/rows.ts';
import type { Secret } from '../store/secret.ts';
import type { Store, Tx } from '../store/store.ts';
import {
  type ServerDatabaseRow,
  databaseOf,
  getDatabase,
  insertDatabase,
  listUnsettled,
  releaseDatabase,
  renewDatabase,
  settleDatabase,
} from './rows.ts';

/**
 * A server of MySQL databases. `name` names a database and its user: at most 32 lower-case letters, digits and
 * underscores. Rejects with StatusError UNAVAILABLE if the server cannot be reached.
 */
export interface Databases {
  /**
   * Creates or updates the database and its user. The user has all privileges in it and none elsewhere, and signs in
   * with this password only. Open sessions end.
   */
  provide(name: string, password: string): Promise<void>;
  /** Removes the database and its user if they exist, and ends the user's sessions. */
  remove(name: string): Promise<void>;
  close(): Promise<void>;
}

/** The credentials of a server's plugins. */
export interface DatabaseAccess {
  /** The name of the database and its user. */
  name: string;
  password: string;
}

/** Adds the audit entry, in the write of the change. */
type Record = (tx: Tx) => Promise<void>;

const RETRY_MS = MINUTE_MS;
const READABLE_CHARS = 18;
/** Some database servers refuse passwords without a digit, a capital, a small letter and a sign. */
const ALL_KINDS = '-Aa1';

/**
 * At most one MySQL database per server. A change is first committed as a row with the desired state. Then the database
 * server is brought to agree with it: at once, or when it can be reached again, possibly in a later run of the service.
 */
export class ServerDatabases {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #databases: Databases;
  readonly #secret: Secret;
  readonly #log: Log;
  readonly #withLock = createMutex();
  #cancelRetry: (() => void) | undefined;
  #closed = false;

  /**
   * Starts to settle changes that an earlier run left unsettled, without waiting for it. Passwords are derived from
   * `secret`, so that none is stored.
   */
  constructor({ store, clock, log }: { store: Store; clock: Clock; log: Log }, databases: Databases, secret: Secret) {
    this.#store = store;
    this.#clock = clock;
    this.#databases = databases;
    this.#secret = secret;
    this.#log = log;
    void this.#settleAll();
  }

  /**
   * Returns the access to a server's database; undefined without one. Rejects with UNAVAILABLE if a change is in
   * progress and the database server cannot be reached.
   */
  async find(serverId: string): Promise<DatabaseAccess | undefined> {
    const row = await databaseOf(this.#store, serverId);
    if (row === undefined) return undefined;
    if (!row.settled) await this.#settle(row.name);
    return this.#accessTo(serverId);
  }

  /**
   * Creates a server's database. Rejects with NOT_FOUND, ALREADY_EXISTS DATABASE_EXISTS, or UNAVAILABLE. After
   * UNAVAILABLE, anything that was created is removed later.
   */
  async create(serverId: string, record: Record): Promise<DatabaseAccess> {
    const createdAt = this.#clock.now();
    const row = { name: nameFor(serverId), serverId, generation: 1, settled: false, createdAt };
    const inserted = await this.#store.write(async (tx) => {
      await requireServer(tx, serverId);
      const done = await insertDatabase(tx, row);
      if (done) await record(tx);
      return done;
    });
    if (!inserted) {
      throw new StatusError('ALREADY_EXISTS', 'DATABASE_EXISTS', 'The server already has a database. Drop it first.');
    }
    try {
      await this.#settle(row.name);
    } catch (error) {
      // Parts of the database may exist. Release only this one, because the server may have another by now.
      await this.#store.write((tx) => releaseDatabase(tx, row.name));
      this.#retryLater();
      throw error;
    }
    return this.#accessOf(row);
  }

  /**
   * Changes the password and ends all sessions. Rejects with NOT_FOUND, or with UNAVAILABLE if the change is delayed
   * until the database server can be reached.
   */
  async rotate(serverId: string, record: Record): Promise<DatabaseAccess> {
    const row = (await databaseOf(this.#store, serverId)) ?? notFound();
    await this.#store.write(async (tx) => {
      await renewDatabase(tx, row.name);
      await record(tx);
    });
    try {
      await this.#settle(row.name);
    } catch (error) {
      this.#retryLater();
      throw error;
    }
    return this.#accessTo(serverId);
  }

  /**
   * Deletes the database permanently. If the database server cannot be reached, this happens later. Rejects with
   * NOT_FOUND DATABASE_NOT_FOUND.
   */
  async drop(serverId: string, record: Record): Promise<void> {
    if (!(await this.#release(serverId, record))) notFound();
  }

  /**
   * Deletes the database of a server that is being deleted. If the database server cannot be reached, this happens
   * later.
   */
  async erase(serverId: string): Promise<void> {
    await this.#release(serverId);
  }

  /** Databases without a server that may still exist on the database server. */
  async orphans(): Promise<{ name: string; createdAt: number }[]> {
    const unsettled = await listUnsettled(this.#store);
    return unsettled.filter(({ serverId }) => serverId === null).map(({ name, createdAt }) => ({ name, createdAt }));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelRetry?.();
    await this.#withLock(async () => {});
    await this.#databases.close();
  }

  /** Brings the database server to agree with the current row. Serialized, so that password changes apply in order. */
  #settle(name: string): Promise<void> {
    return this.#withLock(async () => {
      const row = await getDatabase(this.#store, name);
      if (row === undefined || row.settled) return;
      if (row.serverId === null) await this.#databases.remove(name);
      else await this.#databases.provide(name, this.#accessOf(row).password);
      await this.#store.write((tx) => settleDatabase(tx, row));
    });
  }

  /** Settles. Logs a failure and tries again later. */
  async #settleSoon(name: string): Promise<void> {
    await this.#settle(name).catch((err: unknown) => {
      this.#log.warn({ database: name, err }, 'could not change the database server; trying again in a minute');
      this.#retryLater();
    });
  }

  async #settleAll(): Promise<void> {
    try {
      for (const { name } of await listUnsettled(this.#store)) await this.#settle(name);
    } catch (error) {
      this.#log.warn({ err: error }, 'could not apply changes to the database server; trying again in a minute');
      this.#retryLater();
    }
  }

  #retryLater(): void {
    if (this.#closed || this.#cancelRetry !== undefined) return;
    this.#cancelRetry = this.#clock.at(this.#clock.now() + RETRY_MS, () => {
      this.#cancelRetry = undefined;
      void this.#settleAll();
    });
  }

  #accessOf({ name, generation }: ServerDatabaseRow): DatabaseAccess {
    return { name, password: this.#secret.derive('mysql', `${name}:${generation}`) + ALL_KINDS };
  }

  async #accessTo(serverId: string): Promise<DatabaseAccess> {
    const row = await databaseOf(this.#store, serverId);
    return row === undefined ? notFound() : this.#accessOf(row);
  }

  async #release(serverId: string, record?: Record): Promise<boolean> {
    const released = await this.#store.write(async (tx) => {
      const row = await databaseOf(tx, serverId);
      if (row === undefined) return undefined;
      await releaseDatabase(tx, row.name);
      await record?.(tx);
      return row.name;
    });
    if (released === undefined) return false;
    await this.#settleSoon(released);
    return true;
  }
}

/**
 * Returns a name with a random end, so that a later server with this id, or one of another installation, gets another
 * name.
 */
function nameFor(serverId: string): string {
  const readable = serverId.replaceAll('-', '_').slice(0, READABLE_CHARS);
  return `dm_${readable}_${randomBytes(5).toString('hex')}`;
}

function notFound(): never {
  throw new StatusError('NOT_FOUND', 'DATABASE_NOT_FOUND', 'The server has no database. Create one first.');
}
