/**
 * The database. Written data is safe on disk, in order of the calls. Each write is atomic. A process that has lost the
 * lease cannot write.
 */
import { MIGRATIONS, type Migration } from '../../migrations/index.ts';
import { StatusError } from '../kernel/status.ts';
import { copyBefore, copyFor } from './copies.ts';
import { type DataSources, type Dialect, type Tables, openDataSources } from './data-source.ts';
import { storeError } from './errors.ts';
import { type Sql, type Tx, Writer } from './writer.ts';

export type { Sql, Tx } from './writer.ts';

/** All stored data. The queries of a table are in the `rows.ts` of its room. */
export interface Store extends Sql {
  readonly dialect: Dialect;
  /** Reads committed data. Rejects with UNAVAILABLE if the database is busy or unreachable. */
  query<Row>(sql: string, parameters?: unknown[]): Promise<Row[]>;
  /**
   * Runs one atomic change, in order of the calls. Resolves once the change is safe on disk, even if the process ends
   * then. Rejects with the error of `work`, or with UNAVAILABLE if the database is busy, full or unreachable, or if the
   * store is closed; the data is then unchanged. If the database becomes unreachable during a commit and stays so, the
   * outcome is unknown: rejects with UNAVAILABLE STORE_UNCONFIRMED, but only after a time in which a process that holds
   * the lease has ended. Inside, use `tx` only: a write within a write waits for itself.
   */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Returns the number of writes that are not on disk yet. */
  waiting(): number;
  /** Runs `check` first in every later commit. If it rejects, the commit does not happen. */
  fence(check: (tx: Sql) => Promise<void>): void;
  /** Rejects with FAILED_PRECONDITION STORE_NEWER if a newer version has migrated the database since it was opened. */
  requireKnown(): Promise<void>;
  /**
   * Migrates the tables. Only the process that runs the installation may call it. Copies an SQLite file first, so that
   * an operator can go back to the previous release. Rejects like `requireKnown`.
   */
  migrate(): Promise<void>;
  /** Refuses new writes, waits for pending ones, and closes the connections. */
  close(): Promise<void>;
}

/** The advisory lock for creating tables on PostgreSQL: an arbitrary, otherwise unused number. */
export const MIGRATING = 740_161_826;

/**
 * Opens the database at `postgres://…`, `sqlite:<file>` or `sqlite::memory:`. `tables`: the tables that code uses by
 * their schema. An empty database gets its tables at once; an older one keeps its tables until `migrate()`. Rejects
 * with FAILED_PRECONDITION STORE_NEWER if a newer version created the database, and STORE_PRERELEASE if a development
 * version before 0.1.0 did; the database is then unchanged.
 */
export async function openStore(
  url: string,
  tables: Tables,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<Store> {
  const sources = await openDataSources(url, tables, { migrations });
  try {
    if ((await knownMigrations(sources, migrations)).length === 0) await migrateEmpty(sources, migrations);
    return storeOn(sources, migrations);
  } catch (error) {
    await sources.close();
    throw error;
  }
}

/** Returns the migrations that the database has had. Rejects if this release does not know one of them. */
async function knownMigrations(sources: DataSources, migrations: readonly Migration[]): Promise<string[]> {
  const done = await migrationsOf(sources);
  await requireKnown(new Set(done), migrations, sources.file);
  return done;
}

/** Every database of a development version before 0.1.0 has had this migration. */
const PRERELEASE = 'Initial1795132800000';

/**
 * Rejects with FAILED_PRECONDITION STORE_NEWER or STORE_PRERELEASE if a database has had a migration that this release
 * does not have. `file`: its SQLite file. The message names the copy beside it that fits this release.
 */
export async function requireKnown(
  done: ReadonlySet<string>,
  migrations: readonly Migration[],
  file?: string,
): Promise<void> {
  if (done.has(PRERELEASE)) throw prerelease();
  const known = new Set(migrations.map(({ name }) => name));
  if ([...done].every((name) => known.has(name))) return;
  const copy = file && (await copyFor(file, known));
  const orBack = copy === undefined ? '' : ` or restore ${copy}, the copy from before the change`;
  throw new StatusError(
    'FAILED_PRECONDITION',
    'STORE_NEWER',
    `A newer version has changed the database. Start that version${orBack}.`,
  );
}

function prerelease(): StatusError {
  return new StatusError(
    'FAILED_PRECONDITION',
    'STORE_PRERELEASE',
    'The database is from a development version before 0.1.0. This version cannot read it or a ' +
      'service backup of it, and has not changed it. Start with an empty DATA_DIR and DATABASE_URL, ' +
      'create the servers again, and upload the files that you download from them with the old version. ' +
      'docs/upgrade-and-backup.md describes the steps.',
  );
}

function storeOn(sources: DataSources, migrations: readonly Migration[]): Store {
  const writer = new Writer(() => sources.session(), sources.outcome);
  let closing: Promise<void> | undefined;
  return {
    dialect: sources.dialect,
    async query<Row>(sql: string, parameters?: unknown[]) {
      try {
        return (await sources.read(sql, parameters)) as Row[];
      } catch (error) {
        throw storeError(error);
      }
    },
    write: (work) => writer.write(work),
    waiting: () => writer.waiting,
    fence: (check) => writer.fence(check),
    requireKnown: () => writer.withLock(async () => void (await knownMigrations(sources, migrations))),
    // PostgreSQL uses a separate connection, so that the lease can be renewed meanwhile.
    migrate: () =>
      sources.dialect === 'sqlite'
        ? writer.withLock(() => migrateWithCopy(sources, migrations))
        : migrateWithCopy(sources, migrations),
    close: () => (closing ??= writer.close().then(() => sources.close())),
  };
}

async function migrationsOf({ writer }: DataSources): Promise<string[]> {
  const runner = writer.createQueryRunner();
  try {
    if (!(await runner.hasTable('migrations'))) return [];
    const rows = (await runner.query('SELECT name FROM migrations')) as { name: string }[];
    return rows.map(({ name }) => name);
  } finally {
    await runner.release();
  }
}

async function migrateWithCopy(sources: DataSources, migrations: readonly Migration[]): Promise<void> {
  const done = new Set(await knownMigrations(sources, migrations));
  const next = migrations.find(({ name }) => !done.has(name));
  if (next === undefined) return;
  if (sources.file !== undefined) await copyBefore(sources.file, next.name, sources.writer);
  await migrate(sources);
}

/**
 * Creates the tables of an empty database. If several services try at once, SQLite's own lock or PostgreSQL's advisory
 * lock makes them take turns.
 */
async function migrateEmpty(sources: DataSources, migrations: readonly Migration[]): Promise<void> {
  if (sources.dialect === 'sqlite') return migrate(sources);
  await sources.patiently(async (source) => {
    // The lock belongs to the source's only connection.
    await source.query('SELECT pg_advisory_lock($1)', [MIGRATING]);
    try {
      if ((await knownMigrations(sources, migrations)).length === 0) await source.runMigrations({ transaction: 'all' });
    } finally {
      await source.query('SELECT pg_advisory_unlock($1)', [MIGRATING]);
    }
  });
}

async function migrate(sources: DataSources): Promise<void> {
  await sources.patiently((source) => source.runMigrations({ transaction: 'all' }));
}
