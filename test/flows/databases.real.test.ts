import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type RowDataPacket, createConnection } from 'mysql2/promise';
import { startMariadb } from '../support/mariadb.ts';
import { isHere } from '../support/needs.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

interface Database {
  present: boolean;
  port: number;
  dbName: string;
  dbPassword: string;
}

const PATH = '/v1/servers/castle/database';

/** Starts a MariaDB and a service with one server, `castle`. */
async function hosting(t: ExecutionContext) {
  const mariadb = await startMariadb();
  t.teardown(() => mariadb.remove());
  const program = [join(import.meta.dirname, 'hurried-main.ts'), String(Date.now())];
  const service = await startService(t, { MYSQL_ADMIN_URL: mariadb.adminUrl }, program);
  await service.create('castle', '1.21.4');

  async function admin() {
    const connection = await createConnection(mariadb.adminUrl);
    connection.on('error', () => {});
    return connection;
  }
  /** Returns the names of servers' databases and users in MariaDB. A user has an account for each host. */
  async function kept(): Promise<string[]> {
    const connection = await admin();
    const [rows] = await connection.query<RowDataPacket[]>(
      `SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'dm\\_%'
       UNION ALL SELECT DISTINCT User FROM mysql.user WHERE User LIKE 'dm\\_%'`,
    );
    await connection.end();
    return rows.map(({ name }) => String(name)).toSorted();
  }
  async function signIn({ port, dbName, dbPassword: password }: Database): Promise<void> {
    await (await createConnection({ host: '127.0.0.1', port, user: dbName, password, database: dbName })).end();
  }
  return { mariadb, service, admin, kept, signIn };
}

test.runIf(isHere('mariadb'))(
  'a server deleted while MariaDB is down disappears at once, and its database is dropped once MariaDB is back',
  async (t) => {
    const { mariadb, service, kept, signIn } = await hosting(t);
    const first = await service.call<Database>('POST', PATH, {});
    await signIn(first);
    t.deepEqual(await kept(), [first.dbName, first.dbName]);
    await mariadb.stop();
    await service.call('DELETE', '/v1/servers/castle');
    await t.throwsAsync(service.call('GET', '/v1/servers/castle'), { message: /404.*SERVER_NOT_FOUND/ });
    const orphans = async () =>
      (await service.call<{ orphans: { kind: string; id: string }[] }>('GET', '/v1/operator/orphans')).orphans;
    await until(async () => (await orphans()).some(({ kind, id }) => kind === 'database' && id === first.dbName));
    // A new server with the same id does not get the old database.
    await until(() =>
      service.create('castle', '1.21.4', { id: 'castle' }).then(
        () => true,
        () => false,
      ),
    );
    t.like(await service.call('GET', PATH), { present: false });
    await mariadb.start();
    await until(async () => (await kept()).length === 0);
    await until(async () => (await orphans()).length === 0);
    const second = await service.call<Database>('POST', PATH, {});
    t.not(second.dbName, first.dbName);
    await signIn(second);
    t.deepEqual(await kept(), [second.dbName, second.dbName]);
  },
);

test.runIf(isHere('mariadb'))(
  'a failed database creation leaves no database, and one interrupted by a crash is completed afterwards',
  async (t) => {
    const { mariadb, service, admin, kept, signIn } = await hosting(t);
    await mariadb.stop();
    await t.throwsAsync(service.call('POST', PATH, {}), { message: /503/ });
    t.like(await service.call('GET', PATH), { present: false });
    await mariadb.start();

    // The lock stops MariaDB in the middle of the creation.
    const holder = await admin();
    await holder.query('FLUSH TABLES WITH READ LOCK');
    const made = service.call('POST', PATH, {}).then(
      () => 'made',
      () => 'cut off',
    );
    await until(async () => {
      const [rows] = await holder.query<RowDataPacket[]>('SHOW FULL PROCESSLIST');
      return rows.some(({ Info: info }) => /^CREATE (DATABASE|USER)/i.test(String(info)));
    });
    await service.kill();
    t.is(await made, 'cut off');
    await holder.end();
    await service.start();
    const database = await service.call<Database>('GET', PATH);
    t.true(database.present);
    await signIn(database);
    await until(async () => (await kept()).length === 2);
    t.deepEqual(await kept(), [database.dbName, database.dbName]);
  },
);
