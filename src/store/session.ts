import { type DataSource, type EntityManager, QueryFailedError, type QueryRunner } from 'typeorm';
import { exact } from './exact.ts';

/**
 * One database connection for the duration of a change. SQL text goes to the driver directly, because TypeORM's way
 * costs more than most queries.
 */
export interface DatabaseSession {
  /**
   * Begins a transaction, and the savepoint in it if one is named. Returns the id with which another connection can
   * query the transaction's outcome; undefined if a failed COMMIT has certainly committed no change.
   */
  begin(savepoint?: string): Promise<string | undefined>;
  query(sql: string, parameters?: unknown[]): Promise<unknown[]>;
  /** Runs an INSERT, UPDATE or DELETE and returns the number of affected rows. */
  run(sql: string, parameters?: unknown[]): Promise<number>;
  /** Runs several statements at once and returns no result. */
  script(sql: string): Promise<void>;
  /**
   * Rejects with QueryFailedError if the outcome is unknown, and with another error if the transaction was not
   * committed.
   */
  commit(): Promise<void>;
  /** Takes part in the open transaction. */
  readonly manager: EntityManager;
  release(): Promise<void>;
}

/** The part of the SQLite driver that is used here. The callback of `run` has the number of changed rows on `this`. */
interface Sqlite {
  all(sql: string, values: unknown[], done: (error: Error | null, rows: unknown[]) => void): void;
  run(sql: string, values: unknown[], done: (this: { changes: number }, error: Error | null) => void): void;
  exec(sql: string, done: (error: Error | null) => void): void;
}

interface PostgresClient {
  query(sql: string, values?: unknown[]): Promise<PostgresResult>;
}

interface PostgresResult {
  rows: unknown[];
  rowCount: number | null;
  command: string;
}

/** Runs a query on an SQLite connection. */
export function askSqlite(source: DataSource, sql: string, parameters: unknown[] = []): Promise<unknown[]> {
  parameters.forEach(exact);
  return new Promise((resolve, reject) => {
    connectionOf(source).all(sql, parameters, (error, rows) => {
      if (error === null) resolve(rows);
      else reject(failed(sql, error));
    });
  });
}

/** Opens a session on the only connection of an SQLite source. */
export async function sqliteSession(source: DataSource): Promise<DatabaseSession> {
  let runner: QueryRunner | undefined;
  return {
    async begin(savepoint) {
      if (savepoint === undefined) await askSqlite(source, 'BEGIN IMMEDIATE');
      else await scriptSqlite(source, `BEGIN IMMEDIATE; SAVEPOINT ${savepoint}`);
      return undefined;
    },
    query: (sql, parameters) => askSqlite(source, sql, parameters),
    run: (sql, parameters = []) => changeSqlite(source, sql, parameters),
    script: (sql) => scriptSqlite(source, sql),
    commit: async () => void (await askSqlite(source, 'COMMIT')),
    get manager() {
      return (runner ??= enlisted(source.createQueryRunner())).manager;
    },
    release: async () => runner?.release(),
  };
}

/** Opens a session on a connection of PostgreSQL's pool. */
export async function postgresSession(source: DataSource): Promise<DatabaseSession> {
  const runner = enlisted(source.createQueryRunner());
  const client = (await runner.connect()) as PostgresClient;
  const ask = async (sql: string, parameters: unknown[] = []) => {
    parameters.forEach(exact);
    return client.query(sql, parameters).catch((error: Error) => Promise.reject(failed(sql, error)));
  };
  return {
    async begin(savepoint) {
      const more = savepoint === undefined ? '' : `; SAVEPOINT ${savepoint}`;
      const begun = await ask(`START TRANSACTION; SELECT pg_current_xact_id()::text AS "id"${more}`);
      // Several statements in one text have a result each.
      const [, { rows }] = begun as unknown as [PostgresResult, PostgresResult];
      return (rows as { id: string }[])[0]?.id;
    },
    query: async (sql, parameters) => (await ask(sql, parameters)).rows,
    run: async (sql, parameters) => (await ask(sql, parameters)).rowCount ?? 0,
    script: async (sql) => void (await ask(sql)),
    async commit() {
      // After a failed statement, COMMIT rolls the transaction back, which PostgreSQL does not report as an error.
      if ((await ask('COMMIT')).command !== 'COMMIT') throw new Error('The transaction failed and was rolled back.');
    },
    manager: runner.manager,
    release: () => runner.release(),
  };
}

function changeSqlite(source: DataSource, sql: string, parameters: unknown[]): Promise<number> {
  parameters.forEach(exact);
  return new Promise((resolve, reject) => {
    connectionOf(source).run(sql, parameters, function done(error) {
      if (error === null) resolve(this.changes);
      else reject(failed(sql, error));
    });
  });
}

function scriptSqlite(source: DataSource, sql: string): Promise<void> {
  return new Promise((resolve, reject) => {
    connectionOf(source).exec(sql, (error) => {
      if (error === null) resolve();
      else reject(failed(sql, error));
    });
  });
}

function connectionOf({ driver }: DataSource): Sqlite {
  return (driver as unknown as { databaseConnection: Sqlite }).databaseConnection;
}

/** Returns an error without the query's parameters, because errors are logged. */
function failed(sql: string, error: Error): QueryFailedError {
  return new QueryFailedError(sql, undefined, error);
}

/**
 * Marks a runner's transaction as open (or about to be, before it is used), so that its manager takes part in it rather
 * than opening its own.
 */
function enlisted(runner: QueryRunner): QueryRunner {
  return Object.assign(runner, { isTransactionActive: true, transactionDepth: 1 });
}
