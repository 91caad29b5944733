import {
  type PoolConnection,
  type QueryError,
  type RowDataPacket,
  type Pool,
  type SslOptions,
  createPool,
} from 'mysql2/promise';
import { StatusError } from '../kernel/status.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import type { Databases } from './databases.ts';

const CONNECT_MS = 5_000;
const QUERY_MS = 30_000;
/** Connections shared by the plugins of one game server. A leak in one must not starve other servers. */
const CONNECTIONS_PER_USER = 30;
/**
 * Longest statement, enforced by MariaDB. A game that waits longer has hung already. MySQL has no such limit per user.
 */
const STATEMENT_SECONDS = 600;
const BAD_SYNTAX = 1_064;
/** The session is already gone: https://mariadb.com/kb/en/e1094/ */
const NO_SUCH_THREAD = 1_094;
const NO_SUCH_USER = 1_396;
/** This account may not read that table. */
const NO_SELECT = 1_142;
const HOST = /^[0-9A-Za-z.:%_/-]{1,255}$/;

/**
 * `auto`: encrypted if the server offers it, with any certificate. `verify`: with a valid certificate. `off`: plain.
 */
export type MysqlTls = 'auto' | 'verify' | 'off';

/**
 * Creates databases on MySQL or MariaDB. The account needs `CREATE`, `DROP`, `CREATE USER`, `PROCESS`, `CONNECTION
 * ADMIN` (or `SUPER`), and all privileges that it grants, `WITH GRANT OPTION`. Connects on first use, with one
 * connection. Each user has one account per host that its games may come from: the configured hosts, and this service's
 * own host as the database server sees it, because games also run on this machine.
 *
 * `hosts`: addresses, names, patterns with `%`, or networks such as `10.0.0.0/255.0.0.0`. `%` matches any host.
 */
export function createMysqlDatabases(
  adminUrl: string,
  { hosts, tls }: { hosts: readonly string[]; tls: MysqlTls },
): Databases {
  const connections = openConnections(adminUrl, tls);

  async function onConnection<T>(work: (run: Run) => Promise<T>): Promise<T> {
    let connection: PoolConnection | undefined;
    try {
      connection = await connections.take();
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
        const { database, pattern } = quoted(name);
        const wanted = new Set([...hosts, ...(await ownHost(run))]);
        const users = [...wanted].map((host) => account(name, host));
        const secret = ` IDENTIFIED BY '${checkedPassword(password)}'`;
        const withSecret = users.map((user) => user + secret).join(', ');
        await run(`CREATE DATABASE IF NOT EXISTS ${database} CHARACTER SET utf8mb4`);
        await run(`CREATE USER IF NOT EXISTS ${withSecret}`);
        await run(`ALTER USER ${withSecret} WITH MAX_USER_CONNECTIONS ${CONNECTIONS_PER_USER}`);
        await run(`ALTER USER ${users.join(', ')} WITH MAX_STATEMENT_TIME ${STATEMENT_SECONDS}`).catch(
          unless(BAD_SYNTAX),
        );
        await run(`GRANT ALL PRIVILEGES ON ${pattern}.* TO ${users.join(', ')}`);
        const others = (await knownHosts(run, name)).filter((host) => !wanted.has(host));
        await dropUsers(run, name, others);
        await endConnections(run, name);
      }),
    remove: (name) =>
      onConnection(async (run) => {
        const { database } = quoted(name);
        // Drop the user first, so that no session can begin between the last two steps.
        await dropUsers(run, name, [...hosts, ...(await ownHost(run)), ...(await knownHosts(run, name))]);
        await endConnections(run, name);
        await run(`DROP DATABASE IF EXISTS ${database}`);
      }),
    close: () => connections.close(),
  };
}

type Run = (sql: string) => Promise<RowDataPacket[]>;

/**
 * Returns this service's host as the database server sees it: an address or, if the server resolves addresses, a name.
 */
async function ownHost(run: Run): Promise<string[]> {
  const [row] = await run('SELECT USER() AS me');
  const host = String(row?.['me']).split('@').at(-1) ?? '';
  return HOST.test(host) ? [host] : [];
}

/** Returns the hosts that a user has accounts for; none if the service's own account may not read them. */
async function knownHosts(run: Run, name: string): Promise<string[]> {
  try {
    const rows = await run(`SELECT Host AS host FROM mysql.user WHERE User = '${checkedName(name)}'`);
    return rows.map((row) => String(row['host']));
  } catch (error) {
    if ((error as { errno?: number }).errno === NO_SELECT) return [];
    throw error;
  }
}

async function dropUsers(run: Run, name: string, hosts: readonly string[]): Promise<void> {
  for (const host of new Set(hosts)) {
    await run(`DROP USER IF EXISTS ${account(name, host)}`).catch(unless(NO_SUCH_USER));
  }
}

/** Ends a user's open connections, because neither a changed password nor a dropped user ends them. */
async function endConnections(run: Run, name: string): Promise<void> {
  const connections = await run(
    `SELECT ID AS id FROM information_schema.PROCESSLIST WHERE USER = '${checkedName(name)}'`,
  );
  for (const connection of connections) await run(`KILL ${Number(connection['id'])}`).catch(unless(NO_SUCH_THREAD));
}

/**
 * Quotes a name, because names and patterns cannot be parameters of a statement. In a grant, an unescaped `_` matches
 * any character.
 */
function quoted(name: string) {
  const checked = checkedName(name);
  return { database: `\`${checked}\``, pattern: `\`${checked.replaceAll('_', '\\_')}\`` };
}

function account(name: string, host: string): string {
  if (!HOST.test(host)) throw new TypeError(`invalid account host: ${host}`);
  return `'${checkedName(name)}'@'${host}'`;
}

function checkedName(name: string): string {
  if (!/^[a-z0-9_]{1,32}$/.test(name)) throw new TypeError(`invalid database name: ${name}`);
  return name;
}

function checkedPassword(password: string): string {
  if (!/^[\w-]{16,128}$/.test(password)) throw new TypeError('invalid database password');
  return password;
}

function unless(errno: number): (error: unknown) => RowDataPacket[] {
  return (error) => {
    if ((error as { errno?: number }).errno === errno) return [];
    throw error;
  };
}

/**
 * Converts connection errors to UNAVAILABLE. Answers to statements have a SQL state; all other errors are about the
 * connection.
 */
function asStatus(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof TypeError) return error;
  // The statement contains the password, and errors are logged.
  Object.assign(error, { sql: undefined });
  const { sqlState, errno = 0 } = error as QueryError;
  // Too many connections, access denied, shutting down, read-only: the caller cannot fix any of these.
  const unreachable =
    sqlState === undefined || sqlState.startsWith('08') || [1_040, 1_045, 1_053, 1_290].includes(errno);
  return unreachable
    ? new StatusError('UNAVAILABLE', 'DATABASE_SERVER_UNAVAILABLE', 'The database server is unreachable. Try again.', {
        cause: error,
      })
    : error;
}

/**
 * Opens connections to a database server, one at a time, on first use. `auto` encrypts if the server offers it and
 * accepts any certificate, because most servers create their own: this protects against eavesdroppers, but not against
 * impostors. `verify` protects against both.
 */
function openConnections(adminUrl: string, tls: MysqlTls) {
  let pool = open(
    adminUrl,
    tls === 'off' ? undefined : { rejectUnauthorized: tls === 'verify', verifyIdentity: tls === 'verify' },
  );
  return {
    /** Returns the connection; the caller releases it. Rejects if the server is unreachable or refuses this account. */
    async take(): Promise<PoolConnection> {
      const asked = pool;
      try {
        return await asked.getConnection();
      } catch (error) {
        if (tls !== 'auto' || (error as { code?: string }).code !== 'HANDSHAKE_NO_SSL_SUPPORT') throw error;
        // If several callers fail at once, only the first replaces the pool. The next run of the service tries
        // encryption again.
        if (pool === asked) {
          pool = open(adminUrl, undefined);
          void asked.end().catch(() => {});
        }
        return pool.getConnection();
      }
    },
    close: () => pool.end(),
  };
}

function open(adminUrl: string, ssl: SslOptions | undefined): Pool {
  const { hostname, port, username, password } = new URL(adminUrl);
  return createPool({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 3_306 : Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    ...(ssl !== undefined && { ssl }),
    connectionLimit: 1,
    queueLimit: 1_000,
    connectTimeout: CONNECT_MS,
    enableKeepAlive: true,
    idleTimeout: MINUTE_MS,
    maxIdle: 0,
  });
}
