import { migrations } from '../../migrations/index.ts';
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
   * database is busy, full or out of reach, or the store closed. Inside, use `tx` only: a write within a write waits for
   * itself.
   */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** How many writes wait to be safe on disk. */
  waiting(): number;
  /** From now on `check` runs first in every commit, and where it rejects the commit does not happen. */
  fence(check: (tx: Sql) => Promise<void>): void;
  /**
   * Brings the tables up to date; to be called by the one process that runs the installation. A file of SQLite is copied first,
   * for who wants to go back to the release before.
   */
  migrate(): Promise<void>;
  /** Lets the writes that wait finish, refuses new ones, and closes the connections. */
  close(): Promise<void>;
}

/**
 * Opens the database at `postgres://…`, `sqlite:<file>` or `sqlite::memory:`; `tables` are those that code here asks for by
 * their schema. An empty one gets its tables at once; an older one keeps working until `migrate()`. FAILED_PRECONDITION where it was made by a newer version.
 */
export async function openStore(url: string, tables: Tables): Promise<Store> {
  const sources = await openDataSources(url, tables);
  try {
    const known = new Set(migrations.map(({ name }) => name));
    const done = await migrationsOf(sources);
    if (done.some((name) => !known.has(name))) throw newer(sources.file && (await copyFor(sources.file, known)));
    if (done.length === 0) await migrate(sources);
    return storeOn(sources);
  } catch (error) {
    await sources.close();
    throw error;
  }
}

function newer(copy: string | undefined): StatusError {
  const orBack = copy === undefined ? '' : `, or put back ${copy}, which it made before its changes`;
  return new StatusError(
    'FAILED_PRECONDITION',
    'STORE_NEWER',
    `The database belongs to a newer version: start that${orBack}.`,
  );
}

function storeOn(sources: DataSources): Store {
  const writer = new Writer(sources.writer, sources.dialect);
  let closing: Promise<void> | undefined;
  return {
    dialect: sources.dialect,
    query: <Row>(sql: string, parameters?: unknown[]) =>
      sources.reader.query<Row[]>(sql, parameters).catch((error: unknown) => {
        throw storeError(error);
      }),
    write: (work) => writer.write(work),
    waiting: () => writer.waiting,
    fence: (check) => writer.fence(check),
    migrate: () => writer.withLock(() => migrateWithCopy(sources)),
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

async function migrateWithCopy(sources: DataSources): Promise<void> {
  const done = new Set(await migrationsOf(sources));
  const next = migrations.find(({ name }) => !done.has(name));
  if (next === undefined) return;
  if (sources.file !== undefined) await copyBefore(sources.file, next.name, sources.writer);
  await migrate(sources);
}

async function migrate({ writer }: DataSources): Promise<void> {
  await writer.runMigrations({ transaction: 'all' });
}
