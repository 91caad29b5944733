import { MIGRATIONS, type Migration } from '../../migrations/index.ts';
import { MigrationExecutor, type QueryRunner } from 'typeorm';
import { StatusError } from '../kernel/status.ts';
import { type DataSources, type Dialect, openDataSources } from './data-source.ts';
import type { DatabaseSession } from './session.ts';
import { MIGRATING, requireKnown } from './store.ts';

/** A table. Its name and columns are the same in both databases. */
interface Shape {
  name: string;
  columns: string[];
}

type Ask = DatabaseSession['query'];
type Row = Record<string, unknown>;

/** Rows per statement. */
const AT_ONCE = 250;
/**
 * `migrations` is created with the copy's tables. `leases` has no meaning in the copy, because the lease holder does
 * not run it.
 */
const NOT_COPIED = new Set(['migrations', 'leases']);

/**
 * Copies an installation's database into an empty one of the other kind, from SQLite to PostgreSQL or back: all tables,
 * and the migrations that they have had, as of one instant. Other processes may write to PostgreSQL meanwhile. The copy
 * is complete or absent. A refusal is a StatusError that says what to do.
 */
export async function copyDatabase(
  from: string,
  to: string,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const source = await openDataSources(from, [], { patient: true });
  try {
    const session = await source.session();
    try {
      // Read everything at one instant.
      await session.query(source.dialect === 'sqlite' ? 'BEGIN' : 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const done = await migrationsOf(session, migrations);
      const target = await openDataSources(to, [], { migrations: done, patient: true });
      try {
        await fill(target, (sql, parameters) => session.query(sql, parameters), source.dialect);
      } finally {
        await target.close();
      }
      await session.query('ROLLBACK');
    } finally {
      await session.release();
    }
  } finally {
    await source.close();
  }
}

/** Returns the migrations of the source. This release must know all of them, because it creates the copy's tables. */
async function migrationsOf(session: DatabaseSession, migrations: readonly Migration[]): Promise<Migration[]> {
  const rows = (await session.query('SELECT "name" FROM "migrations"')) as { name: string }[];
  const done = new Set(rows.map(({ name }) => name));
  await requireKnown(done, migrations);
  return migrations.filter(({ name }) => done.has(name));
}

/** Creates and fills the tables in one transaction. */
async function fill({ dialect, writer }: DataSources, ask: Ask, from: Dialect): Promise<void> {
  const runner = writer.createQueryRunner();
  try {
    await runner.startTransaction();
    // A service that starts now waits, and then finds the whole copy.
    if (dialect === 'postgres') await runner.query('SELECT pg_advisory_xact_lock($1)', [MIGRATING]);
    if (await runner.hasTable('migrations')) throw backupRefusal('The target database is not empty. Use an empty one.');
    const executor = new MigrationExecutor(writer, runner);
    executor.transaction = 'none';
    await executor.executePendingMigrations();
    const askTarget: Ask = async (sql) => (await runner.query(sql)) as unknown[];
    for (const shape of await shapesOf(from === 'sqlite' ? ask : askTarget)) await copyTable(shape);
    await runner.commitTransaction();
  } catch (error) {
    // If the connection is lost, the database undoes its work.
    await runner.rollbackTransaction().catch(() => {});
    throw error;
  } finally {
    await runner.release();
  }

  async function copyTable(shape: Shape): Promise<void> {
    const insert = INSERTS[dialect](shape);
    for await (const rows of READS[from](ask, shape)) await insertRows(runner, insert, rows, shape.name);
  }
}

async function insertRows(runner: QueryRunner, insert: string, rows: Row[], table: string): Promise<void> {
  try {
    await runner.query(insert, [JSON.stringify(rows, storable)]);
  } catch (error) {
    throw backupRefusal(`The table ${table} cannot be copied: ${(error as Error).message}.`, error);
  }
}

/** Replaces NUL, which PostgreSQL cannot store in text. */
function storable(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\u{FFFD}') : value;
}

/** Returns SQLite's tables, each after those it refers to. */
async function shapesOf(ask: Ask): Promise<Shape[]> {
  const columns = (await ask(
    `SELECT m."name" AS "table", c."name" AS "column" FROM sqlite_master m, pragma_table_info(m."name") c
     WHERE m."type" = 'table' AND m."name" NOT LIKE 'sqlite%' ORDER BY m."name", c."cid"`,
  )) as { table: string; column: string }[];
  const references = (await ask(
    `SELECT m."name" AS "table", f."table" AS "to" FROM sqlite_master m, pragma_foreign_key_list(m."name") f
     WHERE m."type" = 'table' AND f."table" <> m."name"`,
  )) as { table: string; to: string }[];
  const left = Map.groupBy(
    columns.filter(({ table }) => !NOT_COPIED.has(table)),
    ({ table }) => table,
  );
  const shapes: Shape[] = [];
  while (left.size > 0) {
    const next = [...left].filter(([name]) => !references.some(({ table, to }) => table === name && left.has(to)));
    if (next.length === 0) throw new Error(`Tables refer to one another in a circle: ${[...left.keys()].join(', ')}.`);
    for (const [name, of] of next) {
      shapes.push({ name, columns: of.map(({ column }) => column) });
      left.delete(name);
    }
  }
  return shapes;
}

/** Read a table's rows in batches. */
const READS: Record<Dialect, (ask: Ask, shape: Shape) => AsyncGenerator<Row[]>> = {
  async *sqlite(ask, { name, columns }) {
    const sql = `SELECT rowid AS "rowid", ${quoted(columns)} FROM "${name}" WHERE rowid > $1 ORDER BY rowid LIMIT ${AT_ONCE}`;
    // An integer key is the rowid, and may be 0 or negative.
    for (let after = Number.MIN_SAFE_INTEGER; ;) {
      const rows = (await ask(sql, [after])) as (Row & { rowid: number })[];
      if (rows.length > 0) yield rows;
      if (rows.length < AT_ONCE) return;
      after = rows.at(-1)!.rowid;
    }
  },
  async *postgres(ask, { name, columns }) {
    await ask(`DECLARE "copied" NO SCROLL CURSOR FOR SELECT ${quoted(columns)} FROM "${name}"`);
    for (let rows: Row[] = []; ;) {
      rows = (await ask(`FETCH ${AT_ONCE} FROM "copied"`)) as Row[];
      if (rows.length > 0) yield rows;
      if (rows.length < AT_ONCE) break;
    }
    await ask('CLOSE "copied"');
  },
};

/** Insert a batch that is passed as one JSON text. The database converts its values to the types of the columns. */
const INSERTS: Record<Dialect, (shape: Shape) => string> = {
  sqlite: ({ name, columns }) =>
    `INSERT INTO "${name}" (${quoted(columns)})
     SELECT ${columns.map((column) => `json_extract("value", '$."${column}"')`).join(', ')} FROM json_each($1)`,
  postgres: ({ name, columns }) =>
    `INSERT INTO "${name}" (${quoted(columns)})
     SELECT ${quoted(columns)} FROM json_populate_recordset(NULL::"${name}", $1)`,
};

function quoted(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(', ');
}

/** Returns the error for a refused backup or restore. `message` says what to do. */
export function backupRefusal(message: string, cause?: unknown): StatusError {
  return new StatusError('FAILED_PRECONDITION', 'SERVICE_BACKUP', message, { cause });
}
