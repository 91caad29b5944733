import { type DataSource, type EntityManager, QueryFailedError, type QueryRunner } from 'typeorm';
import { exact } from './exact.ts';

/**
 * One connection to a database, for as long as something is changed by it. What is asked by text goes to the driver itself:
 * TypeORM's way there costs more than most queries do.
 */
export interface DatabaseSession {
  /**
   * Begins a transaction, and a savepoint in it. Returns the id by which another connection can ask what came of the
   * transaction; undefined if a COMMIT that fails has surely committed nothing.
   */
  begin(savepoint?: string): Promise<string | undefined>;
  query(sql: string, parameters?: unknown[]): Promise<unknown[]>;
  /** An INSERT, UPDATE or DELETE; gives the number of rows it touched. */
  run(sql: string, parameters?: unknown[]): Promise<number>;
  /** Runs several statements at once and returns no result. */
  script(sql: string): Promise<void>;
  /** Rejects with QueryFailedError if no answer says what came of it, with another error if nothing was committed. */
  commit(): Promise<void>;
  /** Takes part in the transaction that has been begun. */
  readonly manager: EntityManager;
  release(): Promise<void>;
}

/** The part of the driver of SQLite that is used here; what it calls back has the number of rows on `this`. */
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

/** Asks a connection of SQLite. */
export function askSqlite(source: DataSource, sql: string, parameters: unknown[] = []): Promise<unknown[]> {
  parameters.forEach(exact);
  return new Promise((resolve, reject) => {
    connectionOf(source).all(sql, parameters, (error, rows) => {
      if (error === null) resolve(rows);
      else reject(failed(sql, error));
    });
  });
}

/** On the one connection that a source has. */
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

/** On a connection of the pool. */
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
      // A transaction in which something failed is rolled back by it, and that is no error to PostgreSQL.
      if ((await ask('COMMIT')).command !== 'COMMIT')
        throw new Error('The transaction had failed, and was rolled back.');
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

/** Without what the query was given: errors are logged. */
function failed(sql: string, error: Error): QueryFailedError {
  return new QueryFailedError(sql, undefined, error);
}

/**
 * Lets a runner know that a transaction is open, or will be before it is used, so that its manager takes part in it rather than
 * opening its own.
 */
function enlisted(runner: QueryRunner): QueryRunner {
  return Object.assign(runner, { isTransactionActive: true, transactionDepth: 1 });
}
