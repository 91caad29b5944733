import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { join } from 'node:path';
import { inspect } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { type Connection, type QueryError, type RowDataPacket, createConnection } from 'mysql2/promise';
import { type Databases, ServerDatabases } from '../../src/databases/databases.ts';
import { createMysqlDatabases } from '../../src/databases/mysql.ts';
import { databaseOf } from '../../src/databases/rows.ts';
import { createLog } from '../../src/kernel/log.ts';
import { insertServer } from '../../src/servers/rows.ts';
import type { Store } from '../../src/store/store.ts';
import { fakeClock } from '../fakes/clock.ts';
import { fakeDatabases } from '../fakes/databases.ts';
import { api } from '../support/api-harness.ts';
import { type Mariadb, startMariadb } from '../support/mariadb.ts';
import { isHere } from '../support/needs.ts';
import { freshStore, serverRow } from '../support/store.ts';

let mariadb: Promise<Mariadb> | undefined;
test.after.always(async () => (await mariadb)?.remove());

/** The databases under test, and a function that returns whether a user can sign in and use its database. */
interface Bench {
  databases: Databases;
  signsIn: (name: string, password: string) => Promise<boolean>;
}

function bothWays(title: string, run: (t: ExecutionContext, bench: Bench) => Promise<void>): void {
  test(`fake: ${title}`, (t) => {
    const databases = fakeDatabases();
    return run(t, { databases, signsIn: async (name, password) => databases.passwords.get(name) === password });
  });
  test.runIf(isHere('mariadb'))(`MariaDB: ${title}`, async (t) => {
    const { adminUrl, port } = await (mariadb ??= startMariadb());
    const databases = createMysqlDatabases(adminUrl, LOCAL);
    t.teardown(() => databases.close());
    const signsIn = async (name: string, password: string) => {
      try {
        await (await signIn(port, name, password)).end();
        return true;
      } catch (error) {
        t.regex((error as { code: string }).code, /^ER_(ACCESS_DENIED_ERROR|BAD_DB_ERROR|DBACCESS_DENIED_ERROR)$/);
        return false;
      }
    };
    await run(t, { databases, signsIn });
  });
}

function signIn(port: number, name: string, password: string): Promise<Connection> {
  return createConnection({ host: '127.0.0.1', port, user: name, password, database: name });
}

/** Signs in from the given local address of this machine. */
function signInFrom(localAddress: string, port: number, name: string, password: string): Promise<Connection> {
  const stream = () => connect({ host: '127.0.0.1', port, localAddress });
  return createConnection({ stream, user: name, password, database: name });
}

const LOCAL = { hosts: ['127.0.0.1'], tls: 'auto' } as const;
const newName = () => `dm_test_${randomBytes(5).toString('hex')}`;
const FIRST = 'first-password-1234';
const SECOND = 'second-password-1234';

bothWays('a database is created, rotated and removed; each call is idempotent', async (t, bench) => {
  const { databases, signsIn } = bench;
  const name = newName();
  await databases.provide(name, FIRST);
  await databases.provide(name, FIRST);
  t.true(await signsIn(name, FIRST));
  t.false(await signsIn(name, SECOND));
  await databases.provide(name, SECOND);
  t.false(await signsIn(name, FIRST));
  t.true(await signsIn(name, SECOND));
  await databases.remove(name);
  await databases.remove(name);
  t.false(await signsIn(name, SECOND));
});

test.runIf(isHere('mariadb'))(
  'MariaDB: a user reaches only its own database, and a new password ends its sessions',
  async (t) => {
    const { adminUrl, port } = await (mariadb ??= startMariadb());
    const databases = createMysqlDatabases(adminUrl, LOCAL);
    t.teardown(() => databases.close());
    const name = newName();
    // A grant with an unescaped `_` would include this database.
    const twin = name.replaceAll('_', 'x');
    await databases.provide(name, FIRST);
    await databases.provide(twin, FIRST);
    const session = await signIn(port, name, FIRST);
    session.on('error', () => {});
    await session.query('CREATE TABLE homes (player VARCHAR(16) PRIMARY KEY, x INT)');
    await session.query(`INSERT INTO homes VALUES ('Steve', 1)`);
    const [seen] = await session.query<RowDataPacket[]>('SHOW DATABASES');
    t.deepEqual(seen.map((row) => String(row['Database'])).toSorted(), [name, 'information_schema'].toSorted());
    for (const refused of [`USE ${twin}`, 'SELECT * FROM mysql.user', 'CREATE DATABASE mine', `CREATE USER eve`]) {
      const error = await t.throwsAsync(session.query(refused), undefined, refused);
      t.regex((error as QueryError).code, /^ER_.*(DENIED|PRIVILEGE)/, refused);
    }
    await databases.provide(name, SECOND);
    await t.throwsAsync(session.query('SELECT 1'));
    const next = await signIn(port, name, SECOND);
    next.on('error', () => {});
    t.deepEqual((await next.query('SELECT x FROM homes'))[0], [{ x: 1 }] as never);
    await databases.remove(name);
    await t.throwsAsync(next.query('SELECT 1'));
    await t.throwsAsync(databases.provide('dm`; DROP DATABASE mysql; --', FIRST), { instanceOf: TypeError });
    await t.throwsAsync(databases.provide(name, `x' OR '1'='1`), { instanceOf: TypeError });
  },
);

interface Kept {
  store: Store;
  clock: ReturnType<typeof fakeClock>;
  port: ReturnType<typeof fakeDatabases>;
  open: () => ServerDatabases;
}

async function kept(t: ExecutionContext): Promise<Kept> {
  const store = await freshStore(t);
  await store.write((tx) => insertServer(tx, serverRow('abc')));
  const clock = fakeClock();
  const port = fakeDatabases();
  const secret = { derive: (purpose: string, id: string) => `${purpose}-${id}` };
  const log = createLog({ level: 'silent' });
  return { store, clock, port, open: () => new ServerDatabases({ store, clock, log }, port, secret) };
}

const nothing = async () => {};

test('deleting a server while the database server is away removes its database later and lists it as an orphan', async (t) => {
  const { clock, port, open } = await kept(t);
  const databases = open();
  const { name } = await databases.create('abc', nothing);
  port.away = true;
  await databases.erase('abc');
  t.is(await databases.find('abc'), undefined);
  t.deepEqual(await databases.orphans(), [{ name, createdAt: clock.now() }]);
  await clock.advance(60_000);
  t.true(port.passwords.has(name));
  port.away = false;
  // A new server with the same id gets another database, which the late removal does not touch.
  const again = await databases.create('abc', nothing);
  t.not(again.name, name);
  await clock.advance(60_000);
  while ((await databases.orphans()).length > 0) await clock.advance(1_000);
  t.deepEqual([...port.passwords.keys()], [again.name]);
  await databases.close();
});

test('a create that fails half-way on the database server leaves no database behind', async (t) => {
  const { clock, port, store, open } = await kept(t);
  const databases = open();
  const provide = port.provide.bind(port);
  port.provide = async (name, password) => {
    await provide(name, password);
    port.away = true;
    throw new Error('lost after it was done');
  };
  await t.throwsAsync(databases.create('abc', nothing), { message: 'lost after it was done' });
  t.is(port.passwords.size, 1);
  t.is(await databases.find('abc'), undefined);
  port.provide = provide;
  port.away = false;
  await clock.advance(60_000);
  while ((await databases.orphans()).length > 0) await clock.advance(1_000);
  t.is(port.passwords.size, 0);
  t.deepEqual(await store.query('SELECT * FROM "server_databases"'), []);
  await databases.close();
});

test('a create that fails late does not remove the database that the server got meanwhile', async (t) => {
  const { port, store, open } = await kept(t);
  const databases = open();
  const reached = Promise.withResolvers<void>();
  const failure = Promise.withResolvers<never>();
  const provide = port.provide.bind(port);
  port.provide = async () => {
    reached.resolve();
    await failure.promise;
  };
  const late = t.throwsAsync(databases.create('abc', nothing), { message: 'timed out' });
  await reached.promise;
  port.provide = provide;
  const dropped = databases.drop('abc', nothing);
  while ((await databases.orphans()).length === 0);
  const second = databases.create('abc', nothing);
  while ((await databaseOf(store, 'abc')) === undefined);
  failure.reject(new Error('timed out'));
  await late;
  await dropped;
  const { name, password } = await second;
  t.deepEqual(await databases.find('abc'), { name, password });
  t.deepEqual([...port.passwords], [[name, password]]);
  await databases.close();
});

for (const moment of ['before', 'after'] as const) {
  test(`a service killed ${moment} a call to the database server is consistent again after the next start`, async (t) => {
    const { port, clock, open } = await kept(t);
    const provide = port.provide.bind(port);
    const remove = port.remove.bind(port);
    /** Runs `act` and ends that run at its next call to the database server, whose result it never receives. */
    const dieIn = (act: (databases: ServerDatabases) => Promise<unknown>) =>
      new Promise<void>((died) => {
        const dies = (work: typeof provide) => async (name: string, password: string) => {
          if (moment === 'after') await work(name, password);
          died();
          await new Promise<never>(() => {});
        };
        Object.assign(port, { provide: dies(provide), remove: dies(remove as typeof provide) });
        void act(open());
      });
    const restart = () => {
      Object.assign(port, { provide, remove });
      return open();
    };

    await dieIn((databases) => databases.create('abc', nothing));
    let databases = restart();
    const first = await databases.find('abc');
    t.is(port.passwords.get(first?.name ?? ''), first?.password);
    await databases.close();

    await dieIn((doomed) => doomed.rotate('abc', nothing));
    databases = restart();
    const second = await databases.find('abc');
    t.not(second?.password, first?.password);
    t.deepEqual([...port.passwords], [[second?.name, second?.password]] as never);
    await databases.close();

    await dieIn((doomed) => doomed.drop('abc', nothing));
    databases = restart();
    t.is(await databases.find('abc'), undefined);
    while ((await databases.orphans()).length > 0) await clock.advance(1_000);
    t.is(port.passwords.size, 0);
    await databases.close();
  });
}

test('the database API shows the password only to the owner, and every rotation sets a new one', async (t) => {
  const it = await api(t);
  const { ok, call, share, stranger, store } = it;
  await it.create('abc');
  const path = '/v1/servers/abc/database';
  t.like(await ok('GET', path), { serverId: 'abc', present: false, dbName: '', dbPassword: '' });
  t.is((await call('POST', `${path}:rotatePassword`, { body: {} })).reason, 'DATABASE_NOT_FOUND');
  const made = await ok('POST', path, {});
  t.like(made, { serverId: 'abc', present: true, host: 'mysql.example', port: 3_306 });
  t.regex(String(made['dbName']), /^dm_abc_[0-9a-f]{10}$/);
  t.is(made['dbUser'], made['dbName']);
  t.deepEqual(await ok('GET', path), made);
  t.is((await call('POST', path, { body: {} })).reason, 'DATABASE_EXISTS');
  const rotated = await ok('POST', `${path}:rotatePassword`, {});
  t.not(rotated['dbPassword'], made['dbPassword']);
  t.deepEqual(await ok('GET', path), rotated);
  t.regex(String(rotated['dbPassword']), /^[\w-]{40,}$/);
  const dump = JSON.stringify(await store.query('SELECT * FROM "server_databases"'));
  t.false(dump.includes(String(rotated['dbPassword'])));
  const key = await stranger();
  t.is((await call('GET', path, { key })).reason, 'SERVER_NOT_FOUND');
  await share('abc', 'member');
  t.is((await call('GET', path, { key })).json['dbPassword'], '');
  t.is((await call('POST', `${path}:rotatePassword`, { key, body: {} })).reason, 'ROLE_TOO_LOW');
  t.deepEqual(await ok('POST', `${path}:drop`, {}), {});
  t.like(await ok('GET', path), { present: false });
  t.is((await call('POST', `${path}:drop`, { body: {} })).reason, 'DATABASE_NOT_FOUND');
});

test('only one of 50 simultaneous database creations succeeds', async (t) => {
  const it = await api(t);
  const { call } = it;
  await it.create('abc');
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => call('POST', '/v1/servers/abc/database', { body: {} })),
  );
  t.is(answers.filter(({ status }) => status === 200).length, 1);
  t.true(answers.every(({ status, reason }) => status === 200 || reason === 'DATABASE_EXISTS'));
});

test('without a database server the API reports no database and refuses to create one', async (t) => {
  const it = await api(t, { databases: null });
  await it.create('abc');
  t.like(await it.ok('GET', '/v1/servers/abc/database'), { serverId: 'abc', present: false });
  const answer = await it.call('POST', '/v1/servers/abc/database', { body: {} });
  t.deepEqual([answer.status, answer.reason], [501, 'NOT_SUPPORTED']);
});

test.runIf(isHere('mariadb'))(
  'MariaDB: users can sign in only from the hosts of games and of the service',
  async (t) => {
    const { adminUrl, port } = await (mariadb ??= startMariadb());
    const databases = createMysqlDatabases(adminUrl, {
      hosts: ['127.0.0.3', '10.%', '172.16.0.0/255.240.0.0'],
      tls: 'auto',
    });
    t.teardown(() => databases.close());
    const admin = await createConnection(adminUrl);
    t.teardown(() => admin.end());
    const hostsOf = async (name: string) => {
      const [rows] = await admin.query<RowDataPacket[]>('SELECT Host FROM mysql.user WHERE User = ? ORDER BY Host', [
        name,
      ]);
      return rows.map((row) => String(row['Host']));
    };
    const name = newName();
    // An account for any host, as earlier settings created it.
    await admin.query(`CREATE USER '${name}'@'%' IDENTIFIED BY '${FIRST}'`);
    await databases.provide(name, FIRST);
    t.deepEqual(
      await hostsOf(name),
      ['10.%', '127.0.0.1', '127.0.0.3', '172.16.0.0/255.240.0.0'],
      'the hosts of games and of the service',
    );
    for (const address of ['127.0.0.1', '127.0.0.3']) await (await signInFrom(address, port, name, FIRST)).end();
    const limits = 'SELECT DISTINCT max_user_connections, max_statement_time FROM mysql.user WHERE User = ?';
    const [bounds] = await admin.query<RowDataPacket[]>(limits, [name]);
    t.deepEqual(bounds.map(Object.values), [[30, '600.000000']], 'connections and statement time are limited');
    const refusal = await t.throwsAsync(signInFrom('127.0.0.2', port, name, FIRST));
    t.is((refusal as QueryError).code, 'ER_ACCESS_DENIED_ERROR');
    const narrower = createMysqlDatabases(adminUrl, LOCAL);
    t.teardown(() => narrower.close());
    await narrower.provide(name, SECOND);
    t.deepEqual(await hostsOf(name), ['127.0.0.1'], 'accounts of former hosts are removed');
    await narrower.remove(name);
    t.deepEqual(await hostsOf(name), []);
    const odd = createMysqlDatabases(adminUrl, { hosts: [`x' OR '1`], tls: 'auto' });
    t.teardown(() => odd.close());
    await t.throwsAsync(odd.provide(name, FIRST), { instanceOf: TypeError });
  },
);

test.runIf(isHere('mariadb'))(
  'MariaDB: connections are encrypted if possible, and tls=verify refuses an untrusted or unencrypted server',
  async (t) => {
    const tls = join(import.meta.dirname, '../fixtures/tls');
    const own = await startMariadb([`--ssl-cert=${join(tls, 'cert.pem')}`, `--ssl-key=${join(tls, 'key.pem')}`]);
    t.teardown(() => own.remove());
    const plain = await createConnection(own.adminUrl);
    await plain.query(`ALTER USER admin@'%' REQUIRE SSL`);
    await plain.end();
    const name = newName();
    const open = (kind: 'auto' | 'verify' | 'off') => {
      const databases = createMysqlDatabases(own.adminUrl, { ...LOCAL, tls: kind });
      t.teardown(() => databases.close());
      return databases;
    };
    await open('auto').provide(name, FIRST);
    await (await signIn(own.port, name, FIRST)).end();
    await t.throwsAsync(open('off').provide(name, SECOND), { code: 'UNAVAILABLE' });
    await t.throwsAsync(open('verify').provide(name, SECOND), { code: 'UNAVAILABLE' });
    await (await signIn(own.port, name, FIRST)).end();
    // The MariaDB of the other tests has no encryption.
    const { adminUrl } = await (mariadb ??= startMariadb());
    const verifying = createMysqlDatabases(adminUrl, { ...LOCAL, tls: 'verify' });
    t.teardown(() => verifying.close());
    await t.throwsAsync(verifying.provide(newName(), FIRST), { code: 'UNAVAILABLE' });
  },
);

test.runIf(isHere('mariadb'))(
  'MariaDB: an unreachable server fails with UNAVAILABLE, without a password in the error',
  async (t) => {
    const own = await startMariadb();
    t.teardown(() => own.remove());
    const databases = createMysqlDatabases(own.adminUrl, LOCAL);
    t.teardown(() => databases.close());
    const name = newName();
    await databases.provide(name, FIRST);
    await own.stop();
    const refusal = await t.throwsAsync(databases.provide(name, SECOND), { code: 'UNAVAILABLE' });
    t.false(inspect(refusal, { depth: 9, showHidden: true }).includes(SECOND));
    await own.start();
    await databases.provide(name, SECOND);
    await (await signIn(own.port, name, SECOND)).end();
  },
);
