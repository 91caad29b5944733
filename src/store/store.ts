/**
 * Written data is safe on disk, in order, and written by the process that holds the lease. Never a write of a process
 * that has lost the lease, and never half a write.
 */
import { MIGRATIONS, type Migration } from '../../migrations/index.ts';
import { StatusError } from '../kernel/status.ts';
import { copyBefore, copyFor } from './copies.ts';
import { type DataSources, type Dialect, type Tables, openDataSources } from './data-source.ts';
import { storeError } from './errors.ts';
import { type Sql, type Tx, Writer } from './writer.ts';

export type { Sql, Tx } from './writer.ts';

/** All that is kept. The queries of a table lie in the `rows.ts` of its room. */
export interface Store extends Sql {
  readonly dialect: Dialect;
  /** Reads what has been committed. UNAVAILABLE where the database is busy or out of reach. */
  query<Row>(sql: string, parameters?: unknown[]): Promise<Row[]>;
  /**
   * Changes something: one atomic step, in the order of the calls. Resolves once it is safe on disk, whatever then
   * happens to the process. Rejects with what `work` rejects with, and nothing has changed; with UNAVAILABLE where the
   * database is busy, full or out of reach, or the store closed, and nothing has changed either. If the database goes away
   * during a commit and stays away, its fate is unknown: it rejects with UNAVAILABLE STORE_UNCONFIRMED, at a time when a process
   * that holds the lease has ended. Inside, use `tx` only: a write within a write waits for itself.
   */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** How many writes wait to be safe on disk. */
  waiting(): number;
  /** From now on `check` runs first in every commit, and where it rejects the commit does not happen. */
  fence(check: (tx: Sql) => Promise<void>): void;
  /** FAILED_PRECONDITION STORE_NEWER where the database has been brought up to date by a newer version since it was opened. */
  requireKnown(): Promise<void>;
  /**
   * Brings the tables up to date; to be called by the one process that runs the installation. A file of SQLite is copied first,
   * for who wants to go back to the release before. Rejects as `requireKnown` does.
   */
  migrate(): Promise<void>;
  /** Lets the writes that wait finish, refuses new ones, and closes the connections. */
  close(): Promise<void>;
}

/** The advisory lock that PostgreSQL takes while tables are created: an arbitrary, otherwise unused number. */
export const MIGRATING = 740_161_826;

/**
 * Opens the database at `postgres://…`, `sqlite:<file>` or `sqlite::memory:`; `tables` are those that code here asks for by
 * their schema. An empty one gets its tables at once; an older one keeps working until `migrate()`. FAILED_PRECONDITION
 * STORE_NEWER if a newer version made it, STORE_PRERELEASE if a development version before 0.1.0 did; it is unchanged then.
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

/** The migrations of this release that the database has had. */
async function knownMigrations(sources: DataSources, migrations: readonly Migration[]): Promise<string[]> {
  const done = await migrationsOf(sources);
  await requireKnown(new Set(done), migrations, sources.file);
  return done;
}

/** Every database of a development version before 0.1.0 has had this migration. */
const PRERELEASE = 'Initial1795132800000';

/**
 * FAILED_PRECONDITION STORE_NEWER or STORE_PRERELEASE if a database has had a migration that this release does not have.
 * `file`: its SQLite file. The message names the copy beside it that fits this release.
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
  const orBack = copy === undefined ? '' : `, or put back ${copy}, which it made before its changes`;
  throw new StatusError(
    'FAILED_PRECONDITION',
    'STORE_NEWER',
    `The database belongs to a newer version: start that${orBack}.`,
  );
}

function prerelease(): StatusError {
  return new StatusError(
    'FAILED_PRECONDITION',
    'STORE_PRERELEASE',
    'The database is from a development version before 0.1.0. This version cannot read it, nor a service backup of it, and has ' +
      'not changed it. Start with an empty DATA_DIR and DATABASE_URL, create the servers anew, and upload the files that you ' +
      'download from them with the old version. docs/upgrade-and-backup.md has the steps.',
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
    // On PostgreSQL by a connection of its own, so that the lease is renewed meanwhile.
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

/** Several services may meet an empty database at the same time: on SQLite by its own lock, on PostgreSQL by this one. */
async function migrateEmpty(sources: DataSources, migrations: readonly Migration[]): Promise<void> {
  if (sources.dialect === 'sqlite') return migrate(sources);
  await sources.patiently(async (source) => {
    // Held by its only connection.
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
