import { createPool } from 'mysql2/promise';
import type { Pool, PoolConnection, QueryError, RowDataPacket } from 'mysql2/promise';
import type { Databases } from '../ports.ts';
import { StatusError } from '../status.ts';

const CONNECT_MS = 5_000;
const QUERY_MS = 30_000;
/** A game server's plugins share these; a leak in one must not starve the others' servers. */
const CONNECTIONS_PER_USER = 30;
/** The session is already gone: https://mariadb.com/kb/en/e1094/ */
const NO_SUCH_THREAD = 1_094;
/** There is no such user. */
const NO_SUCH_USER = 1_396;

/**
 * MySQL or MariaDB by way of an account that may create databases and users, grant, and end sessions: `CREATE`, `DROP`,
 * `CREATE USER`, `PROCESS`, `CONNECTION ADMIN` (or `SUPER`), and what it is to grant, `WITH GRANT OPTION`. Connects when
 * first used, with one connection.
 */
export function createMysqlDatabases(adminUrl: string): Databases {
  const pool = open(adminUrl);

  async function onConnection<T>(work: (run: Run) => Promise<T>): Promise<T> {
    let connection: PoolConnection | undefined;
    try {
      connection = await pool.getConnection();
      const run: Run = async (sql) => {
        const [rows] = await connection!.query<RowDataPacket[]>({ sql, timeout: QUERY_MS });
        return rows;
      };
      return await work(run);
    } catch (error) {
      throw asStatus(error);
    } finally {
      connection?.release();
    }
  }

  return {
    provide: (name, password) =>
      onConnection(async (run) => {
        const { database, pattern, user } = quoted(name);
        const secret = `IDENTIFIED BY '${checkedPassword(password)}'`;
        await run(`CREATE DATABASE IF NOT EXISTS ${database} CHARACTER SET utf8mb4`);
        await run(`CREATE USER IF NOT EXISTS ${user} ${secret}`);
        await run(`ALTER USER ${user} ${secret} WITH MAX_USER_CONNECTIONS ${CONNECTIONS_PER_USER}`);
        await run(`GRANT ALL PRIVILEGES ON ${pattern}.* TO ${user}`);
        await endSessions(run, name);
      }),
    remove: (name) =>
      onConnection(async (run) => {
        const { database, user } = quoted(name);
        // First the user, so that no session can begin between the last two steps.
        await run(`DROP USER IF EXISTS ${user}`).catch(unless(NO_SUCH_USER));
        await endSessions(run, name);
        await run(`DROP DATABASE IF EXISTS ${database}`);
      }),
    close: () => pool.end(),
  };
}

type Run = (sql: string) => Promise<RowDataPacket[]>;

function open(adminUrl: string): Pool {
  const { hostname, port, username, password } = new URL(adminUrl);
  return createPool({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 3_306 : Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    connectionLimit: 1,
    queueLimit: 1_000,
    connectTimeout: CONNECT_MS,
    enableKeepAlive: true,
    idleTimeout: 60_000,
    maxIdle: 0,
  });
}

/** Changing a password or dropping a user leaves the sessions that are open alone. */
async function endSessions(run: Run, name: string): Promise<void> {
  const sessions = await run(`SELECT ID AS id FROM information_schema.PROCESSLIST WHERE USER = '${checkedName(name)}'`);
  for (const session of sessions) await run(`KILL ${Number(session['id'])}`).catch(unless(NO_SUCH_THREAD));
}

/** Names and patterns cannot be parameters of a statement. In a grant `_` stands for any character unless escaped. */
function quoted(name: string) {
  const checked = checkedName(name);
  return { database: `\`${checked}\``, pattern: `\`${checked.replaceAll('_', '\\_')}\``, user: `'${checked}'@'%'` };
}

function checkedName(name: string): string {
  if (!/^[a-z0-9_]{1,32}$/.test(name)) throw new TypeError(`no name for a database: ${name}`);
  return name;
}

function checkedPassword(password: string): string {
  if (!/^[\w-]{16,128}$/.test(password)) throw new TypeError('no password for a database');
  return password;
}

function unless(errno: number): (error: unknown) => RowDataPacket[] {
  return (error) => {
    if ((error as { errno?: number }).errno === errno) return [];
    throw error;
  };
}

/** What the server answers to a statement has a SQL state; everything else is about reaching it. */
function asStatus(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof TypeError) return error;
  // It holds the password, and errors are logged.
  Object.assign(error, { sql: undefined });
  const { sqlState, errno = 0 } = error as QueryError;
  // Full of connections, shutting down, access denied, read-only: nothing the caller can help.
  const unreachable =
    sqlState === undefined || sqlState.startsWith('08') || [1_040, 1_045, 1_053, 1_290].includes(errno);
  return unreachable
    ? new StatusError('UNAVAILABLE', 'DATABASE_SERVER_UNAVAILABLE', 'The database server is out of reach; try again.', {
        cause: error,
      })
    : error;
}
