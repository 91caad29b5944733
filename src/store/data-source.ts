import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { MIGRATIONS, type Migration } from '../../migrations/index.ts';
import { DataSource, type DataSourceOptions, type EntitySchema } from 'typeorm';
import { copyInto } from './copies.ts';
import { exact } from './exact.ts';
import { type DatabaseSession, askSqlite, postgresSession, sqliteSession } from './session.ts';

export type Dialect = 'sqlite' | 'postgres';

/** The writing and the reading side of one database. All changes go through `writer`, one transaction at a time. */
export interface DataSources {
  dialect: Dialect;
  /** SQLite's database file. */
  file?: string;
  writer: DataSource;
  /** Refuses changes. Reads committed data. */
  reader: DataSource;
  /** Queries `reader`. */
  read(sql: string, parameters?: unknown[]): Promise<unknown[]>;
  /** Opens a session on a connection of `writer`. */
  session(): Promise<DatabaseSession>;
  /**
   * Queries the outcome of a session's transaction on a new connection. Absent if a session's own COMMIT always reports
   * it.
   */
  outcome?: (transaction: string) => Promise<Outcome>;
  /** Runs `work` on a connection without time limits, for changes of tables. */
  patiently<T>(work: (source: DataSource) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The outcome of a transaction; null if the database no longer knows it. */
export type Outcome = 'committed' | 'aborted' | 'in progress' | null;

/** The tables of an installation, as their rooms describe them. */
export type Tables = readonly EntitySchema<object>[];

const COMMON = {
  synchronize: false,
  // Otherwise TypeORM leaves out a condition whose value is undefined, and returns the first row of the table.
  invalidWhereValuesBehavior: { null: 'throw', undefined: 'throw' },
} satisfies Partial<DataSourceOptions>;

/** Needed only by the writer: the reader uses SQL alone, and building the metadata takes time. */
type Described = { migrations: Migration[]; entities: EntitySchema<object>[] };

/**
 * Time limits of one write and one read. An abandoned transaction is undone before a standby takes over, which needs
 * its locks.
 */
const LIMITS = {
  writer: { statementMs: 10_000, idleInTransactionMs: 7_000 },
  reader: { statementMs: 20_000, idleInTransactionMs: 7_000 },
} satisfies Record<string, PostgresLimits>;

/** Time limit of one query for a transaction's outcome. */
const OUTCOME_MS = 3_000;

/** Set on every SQLite connection and read back. https://www.sqlite.org/pragma.html */
const PRAGMAS = {
  journal_mode: 'wal',
  synchronous: 2,
  foreign_keys: 1,
  busy_timeout: 5_000,
  wal_autocheckpoint: 1_000,
  journal_size_limit: 67_108_864,
  trusted_schema: 0,
};

/**
 * Connects to `postgres://…`, `sqlite:<file>` (created if missing) or `sqlite::memory:`. Rejects if a connection cannot
 * be opened or a setting cannot be applied.
 */
export async function openDataSources(
  url: string,
  tables: Tables,
  {
    migrations = MIGRATIONS,
    patient = false,
  }: {
    /** The migrations to run. Default: all. */
    migrations?: readonly Migration[];
    /** Disables time limits. Default: PostgreSQL and this side abort statements that take too long. */
    patient?: boolean;
  } = {},
): Promise<DataSources> {
  const described = { migrations: [...migrations], entities: [...tables] };
  if (!url.startsWith('sqlite:')) return openPostgres(url, described, patient);
  const file = url.slice('sqlite:'.length);
  if (file !== ':memory:') return openSqlite(file, described, PRAGMAS);
  // Two connections cannot share a database in memory without locking each other out. A private file that is never synced is as fast and
  // behaves like a real one.
  const directory = await mkdtemp(join(tmpdir(), 'dormouse-memory-'));
  const sources = await openSqlite(join(directory, 'memory.db'), described, { ...PRAGMAS, synchronous: 0 });
  return {
    ...sources,
    async close() {
      await sources.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Copies an SQLite database to a new file. Others may use the database meanwhile. */
export async function copySqlite(file: string, target: string): Promise<void> {
  const source = await connect({ type: 'sqlite', database: file, driver: await untraced() });
  try {
    await copyInto(target, source);
  } finally {
    await source.destroy();
  }
}

/** Reports whether a PostgreSQL database has no tables yet. */
export async function isEmptyPostgres(url: string): Promise<boolean> {
  const extra = limitedPool(LIMITS.reader);
  const source = await connect({ type: 'postgres', url, connectTimeoutMS: 10_000, installExtensions: false, extra });
  try {
    return !(await source.createQueryRunner().hasTable('migrations'));
  } finally {
    await source.destroy();
  }
}

async function openSqlite(
  file: string,
  described: Described,
  pragmas: Record<string, string | number>,
): Promise<DataSources> {
  await mkdir(dirname(file), { recursive: true });
  // SQLite would create the file readable by every user. Its companions (-wal, -shm) get the same mode.
  await (await open(file, 'a', 0o600)).close();
  const options: DataSourceOptions = { ...COMMON, type: 'sqlite', database: file, driver: await untraced() };
  const sources = await openBoth(
    'sqlite',
    () => connect({ ...options, ...described }, (source) => setPragmas(source, pragmas)),
    () => connect(options, (source) => setPragmas(source, { ...pragmas, query_only: 1 })),
  );
  return { ...sources, file };
}

/**
 * Returns the driver, which keeps statements prepared and ignores TypeORM's call of `verbose()`. That would format each
 * query with its parameters in case it fails, which costs more than most queries and puts secrets into the stacks of
 * errors.
 */
async function untraced(): Promise<object> {
  const [{ default: sqlite3 }, { PreparedDatabase }] = await Promise.all([import('sqlite3'), import('./prepared.ts')]);
  const own = { verbose: () => driver, Database: PreparedDatabase };
  const driver: object = Object.assign(Object.create(sqlite3) as object, own);
  return driver;
}

async function openPostgres(url: string, described: Described, patient: boolean): Promise<DataSources> {
  const options: DataSourceOptions = {
    ...COMMON,
    type: 'postgres',
    url,
    applicationName: 'dormouse',
    connectTimeoutMS: 10_000,
    installExtensions: false,
    // Safe, because no number above 2^53 is ever written.
    parseInt8: true,
  };
  const limits = (of: keyof typeof LIMITS) => (patient ? KEEP_ALIVE : limitedPool(LIMITS[of]));
  const readOnly = { options: '-c default_transaction_read_only=on' };
  const sources = await openBoth(
    'postgres',
    () => connect({ ...options, ...described, poolSize: 1, extra: limits('writer') }),
    () => connect({ ...options, poolSize: 4, extra: { ...limits('reader'), ...readOnly } }),
  );
  return {
    ...sources,
    outcome: (transaction) => outcomeOf(url, transaction),
    async patiently(work) {
      const source = await connect({ ...options, ...described, poolSize: 1, extra: KEEP_ALIVE });
      try {
        return await work(source);
      } finally {
        await source.destroy();
      }
    },
  };
}

/** Queries a transaction's outcome on a new connection, because an existing one may have gone silent. */
async function outcomeOf(url: string, transaction: string): Promise<Outcome> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: OUTCOME_MS,
    query_timeout: OUTCOME_MS,
    application_name: 'dormouse',
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const sql = 'SELECT pg_xact_status($1::xid8) AS "outcome"';
    return (await client.query<{ outcome: Outcome }>(sql, [transaction])).rows[0]?.outcome ?? null;
  } finally {
    void client.end().catch(() => {});
  }
}

async function openBoth(
  dialect: Dialect,
  connectWriter: () => Promise<DataSource>,
  connectReader: () => Promise<DataSource>,
): Promise<DataSources> {
  const writer = await connectWriter();
  try {
    const reader = await connectReader();
    // SQLite merges its log into the database when the last connection closes. The reader may not do that, so it closes first.
    const close = async () => {
      await reader.destroy();
      await writer.destroy();
    };
    const both = {
      dialect,
      writer,
      reader,
      patiently: <T>(work: (source: DataSource) => Promise<T>) => work(writer),
      close,
    };
    if (dialect === 'postgres') {
      return { ...both, read: (...asked) => reader.query(...asked), session: () => postgresSession(writer) };
    }
    const read = (sql: string, parameters?: unknown[]) => askSqlite(reader, sql, parameters);
    return { ...both, read, session: () => sqliteSession(writer) };
  } catch (error) {
    await writer.destroy();
    throw error;
  }
}

async function connect(
  options: DataSourceOptions,
  prepare?: (source: DataSource) => Promise<void>,
): Promise<DataSource> {
  const source = await new DataSource(options).initialize();
  try {
    await prepare?.(source);
  } catch (error) {
    await source.destroy();
    throw error;
  }
  source.subscribers.push({ beforeQuery: ({ parameters }) => checkParameters(parameters) });
  return source;
}

async function setPragmas(source: DataSource, pragmas: Record<string, string | number>): Promise<void> {
  for (const [name, value] of Object.entries(pragmas)) {
    await source.query(`PRAGMA ${name} = ${value}`);
    const [row] = await source.query<Record<string, unknown>[]>(`PRAGMA ${name}`);
    const got = Object.values(row ?? {})[0];
    if (got !== value) throw new Error(`SQLite keeps ${name} at ${String(got)}, but it must be ${value}.`);
  }
}

function checkParameters(parameters: unknown): void {
  if (Array.isArray(parameters)) for (const value of parameters) exact(value as unknown);
}

/** Time limits of PostgreSQL. */
interface PostgresLimits {
  /** Limit of one statement. The database aborts a longer one and keeps the connection. */
  statementMs: number;
  /**
   * Limit between two statements of a transaction. After it, the database undoes the transaction and releases its
   * locks.
   */
  idleInTransactionMs: number;
}

/** A connection counts as dead this long after the database should have answered. */
const GRACE_MS = 2_000;
/** After this time without traffic, the kernel probes the other side. It gives up after minutes without a response. */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

/**
 * Options of a `pg` pool whose connections never block forever. The database aborts statements that take too long. If
 * the database itself is silent (a machine without power, a firewall that has dropped the connection), the connection
 * is closed, and pending queries fail. The kernel alone would retry for a quarter of an hour.
 */
function limitedPool({ statementMs, idleInTransactionMs }: PostgresLimits): object {
  return {
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    ...KEEP_ALIVE,
    stream: () => silenceEnds(new Socket(), statementMs + GRACE_MS),
  };
}

/** Closes a connection after this long without traffic, even if it is unused. */
function silenceEnds(socket: Socket, ms: number): Socket {
  socket.setTimeout(ms, () => {
    const error = new Error(`The connection to the database was silent for ${ms} ms.`);
    socket.destroy(Object.assign(error, { code: 'ETIMEDOUT' }));
  });
  return socket;
}
