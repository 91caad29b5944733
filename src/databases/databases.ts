import { randomBytes } from 'node:crypto';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { createMutex } from '../kernel/mutex.ts';
import { StatusError } from '../kernel/status.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import { requireServer } from '../servers/rows.ts';
import type { Store, Tx } from '../store/store.ts';
import type { Databases } from './database-server.ts';
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

/** What a server's plugins sign in with. */
export interface DatabaseAccess {
  /** Of the database and of its user. */
  name: string;
  password: string;
}

/** Writes what is done into the audit log, in the write of what is done. */
type Record = (tx: Tx) => Promise<void>;

/**
 * One MySQL database for each server that wants one. What is wished for is a row, committed before anything is done about
 * it; the database server is then brought to agree, now or as soon as it can be reached, also by a later run of the service.
 */
export interface ServerDatabases {
  /** UNAVAILABLE where a change is in progress that the database server cannot be asked about. */
  find(serverId: string): Promise<DatabaseAccess | undefined>;
  /** NOT_FOUND; ALREADY_EXISTS DATABASE_EXISTS; UNAVAILABLE, and then nothing is left of it. */
  create(serverId: string, record: Record): Promise<DatabaseAccess>;
  /** Ends all sessions. NOT_FOUND; UNAVAILABLE where the new password holds only later. */
  rotate(serverId: string, record: Record): Promise<DatabaseAccess>;
  /** For good. NOT_FOUND DATABASE_NOT_FOUND. Where the database server is out of reach it is done later. */
  drop(serverId: string, record: Record): Promise<void>;
  /** Drops it with its server, which waits for nobody. */
  erase(serverId: string): Promise<void>;
  /** Those that are nobody's any more, and that the database server may still have. */
  orphans(): Promise<{ name: string; createdAt: number }[]>;
  close(): Promise<void>;
}

export interface ServerDatabasesOptions {
  store: Store;
  clock: Clock;
  databases: Databases;
  /** A secret that can be had again from what it is for, so that none is stored. */
  secret: { derive(purpose: string, id: string): string };
  log: Log;
}

const RETRY_MS = MINUTE_MS;
const READABLE_CHARS = 18;
/** Some database servers refuse passwords without a digit, a capital, a small letter and a sign. */
const ALL_KINDS = '-Aa1';

/** Begins by settling what an earlier run left unsettled, without waiting for it. */
export function createServerDatabases(options: ServerDatabasesOptions): ServerDatabases {
  const { store, clock, databases, secret, log } = options;
  const withLock = createMutex();
  let cancelRetry: (() => void) | undefined;
  let closed = false;
  void settleAll();

  /** Brings the database server to agree with the row as it is now; two changes of a password in the order of their rows. */
  const settle = (name: string) =>
    withLock(async () => {
      const row = await getDatabase(store, name);
      if (row === undefined || row.settled) return;
      if (row.serverId === null) await databases.remove(name);
      else await databases.provide(name, accessOf(row).password);
      await store.write((tx) => settleDatabase(tx, row));
    });

  /** Settles in the background; a failure is tried again. */
  async function settleSoon(name: string): Promise<void> {
    await settle(name).catch((error: unknown) => {
      log.warn({ database: name, err: error }, 'the database server does not agree yet; trying again in a minute');
      retryLater();
    });
  }

  async function settleAll(): Promise<void> {
    try {
      for (const { name } of await listUnsettled(store)) await settle(name);
    } catch (error) {
      log.warn({ err: error }, 'databases are waiting for their server; trying again in a minute');
      retryLater();
    }
  }

  function retryLater(): void {
    if (closed || cancelRetry !== undefined) return;
    cancelRetry = clock.at(clock.now() + RETRY_MS, () => {
      cancelRetry = undefined;
      void settleAll();
    });
  }

  function accessOf({ name, generation }: ServerDatabaseRow): DatabaseAccess {
    return { name, password: secret.derive('mysql', `${name}:${generation}`) + ALL_KINDS };
  }

  async function accessTo(serverId: string): Promise<DatabaseAccess> {
    const row = await databaseOf(store, serverId);
    return row === undefined ? notFound() : accessOf(row);
  }

  async function release(serverId: string, record?: Record): Promise<boolean> {
    const released = await store.write(async (tx) => {
      const row = await databaseOf(tx, serverId);
      if (row === undefined) return undefined;
      await releaseDatabase(tx, row.name);
      await record?.(tx);
      return row.name;
    });
    if (released === undefined) return false;
    await settleSoon(released);
    return true;
  }

  return {
    async find(serverId) {
      const row = await databaseOf(store, serverId);
      if (row === undefined) return undefined;
      if (!row.settled) await settle(row.name);
      return accessTo(serverId);
    },

    async create(serverId, record) {
      const row = { name: nameFor(serverId), serverId, generation: 1, settled: false, createdAt: clock.now() };
      const inserted = await store.write(async (tx) => {
        await requireServer(tx, serverId);
        const done = await insertDatabase(tx, row);
        if (done) await record(tx);
        return done;
      });
      if (!inserted) {
        throw new StatusError('ALREADY_EXISTS', 'DATABASE_EXISTS', 'The server has a database; drop that first.');
      }
      try {
        await settle(row.name);
      } catch (error) {
        // Half of it may be there. Only this one: the server may have got another meanwhile.
        await store.write((tx) => releaseDatabase(tx, row.name));
        retryLater();
        throw error;
      }
      return accessOf(row);
    },

    async rotate(serverId, record) {
      const row = (await databaseOf(store, serverId)) ?? notFound();
      await store.write(async (tx) => {
        await renewDatabase(tx, row.name);
        await record(tx);
      });
      try {
        await settle(row.name);
      } catch (error) {
        retryLater();
        throw error;
      }
      return accessTo(serverId);
    },

    async drop(serverId, record) {
      if (!(await release(serverId, record))) notFound();
    },

    erase: async (serverId) => void (await release(serverId)),

    async orphans() {
      const unsettled = await listUnsettled(store);
      return unsettled.filter(({ serverId }) => serverId === null).map(({ name, createdAt }) => ({ name, createdAt }));
    },

    async close() {
      closed = true;
      cancelRetry?.();
      await withLock(async () => {});
      await databases.close();
    },
  };
}

/** Ends in something random, so that a later server of the same id, or of another installation, gets another one. */
function nameFor(serverId: string): string {
  const readable = serverId.replaceAll('-', '_').slice(0, READABLE_CHARS);
  return `dm_${readable}_${randomBytes(5).toString('hex')}`;
}

function notFound(): never {
  throw new StatusError('NOT_FOUND', 'DATABASE_NOT_FOUND', 'The server has no database; create one first.');
}
