import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { APP_SCOPES, FULL_SCOPES, KEY_SCOPES, isScope } from '../../src/http/scopes.ts';
import { mintToken } from '../../src/kernel/ids.ts';
import { createLog } from '../../src/kernel/log.ts';
import { isAlive, thisProcess } from '../../src/kernel/process-identity.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { type FirstRun, firstRun, openFirstRunFile } from '../../src/people/first-run.ts';
import { authenticate, mintKey, revokeKey } from '../../src/people/keys/keys.ts';
import { getKeyByHash, insertKey, listKeys } from '../../src/people/keys/rows.ts';
import { hashPassword, verifyPassword } from '../../src/people/passwords.ts';
import { getUserByEmail } from '../../src/people/rows.ts';
import { type LeaseOptions, acquireLease } from '../../src/store/lease.ts';
import { getMeta, setMeta } from '../../src/store/meta.ts';
import { openSecret } from '../../src/store/secret.ts';
import { type Store, openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { fakeClock } from '../fakes/clock.ts';
import { postgresUrl } from '../store/postgres.ts';
import { openEmptyStore } from '../support/empty-store.ts';
import { chance } from '../support/random.ts';
import { addPerson, freshStore } from '../support/store.ts';

const log = createLog({ level: 'silent' });

async function directory(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'access-'));
  t.teardown(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function emptyStore(t: ExecutionContext, url?: string): Promise<Store> {
  const store = await (url === undefined ? openEmptyStore() : openStore(url, TABLES));
  t.teardown(() => store.close());
  return store;
}

async function refused(t: ExecutionContext, attempt: Promise<unknown>, reason: string): Promise<StatusError> {
  const error = await t.throwsAsync(attempt, { instanceOf: StatusError });
  t.is(error.reason, reason, error.message);
  t.regex(error.message, /^[^\n]+\.$/);
  return error;
}

/** A control process of its own that holds the lease and writes. */
interface Child {
  process: ChildProcess;
  acknowledged: number[];
  /** Resolves once so many writes are acknowledged; rejects if the process ends before. */
  reaches(count: number): Promise<void>;
}

async function startChild(t: ExecutionContext, url: string): Promise<Child> {
  const program = join(import.meta.dirname, '..', 'store', 'crash-child.ts');
  const child = spawn(process.execPath, [program, url], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const acknowledged: number[] = [];
  const lines = createInterface(child.stdout);
  lines.on('line', (line) => acknowledged.push(Number(line)));
  const ended = once(lines, 'close').then(() => 'ended');
  const reaches = async (count: number) => {
    while (acknowledged.length < count) {
      const event = await Promise.race([once(lines, 'line'), ended]);
      if (event === 'ended') throw new Error('the child ended early');
    }
  };
  await reaches(1);
  return { process: child, acknowledged, reaches };
}

async function kill(child: Child): Promise<void> {
  const closed = once(child.process, 'close');
  child.process.kill('SIGKILL');
  await closed;
}

test('killed again and again: what was acknowledged is there, nothing by halves, and the next one starts at once', async (t) => {
  const dice = chance(t);
  const file = join(await directory(t), 'store.db');
  const url = `sqlite:${file}`;
  for (let round = 0; round < 5; round++) {
    const child = await startChild(t, url);
    await child.reaches(1 + Math.floor(dice() * 300));
    await kill(child);
    const store = await openStore(url, TABLES);
    try {
      const startedAt = Date.now();
      const lease = await acquireLease(store, { clock: systemClock, log, onLost: () => t.fail() });
      t.true(Date.now() - startedAt < 20_000);
      const found = await store.query<{ key: string }>('SELECT "key" FROM "meta" ORDER BY "key"');
      const keys = new Set(found.map(({ key }) => key));
      for (const n of child.acknowledged) t.true(keys.has(`a${n}`) && keys.has(`b${n}`), `write ${n}`);
      t.is(
        [...keys].filter((key) => keys.has(key.replace('a', 'b')) && keys.has(key.replace('b', 'a'))).length,
        keys.size,
      );
      t.deepEqual(await store.query('PRAGMA integrity_check'), [{ integrity_check: 'ok' }]);
      await lease.release();
    } finally {
      await store.close();
    }
  }
});

test('lease: a second start is refused while the first one lives, whichever way it is asked', async (t) => {
  const url = `sqlite:${join(await directory(t), 'store.db')}`;
  const child = await startChild(t, url);
  const store = await emptyStore(t, url);
  const options = { clock: systemClock, log, onLost: () => t.fail() };
  const error = await refused(t, acquireLease(store, options), 'LEASE_HELD');
  t.true(error.message.includes(String(child.process.pid)));
  await kill(child);
  const lease = await acquireLease(store, options);
  await refused(t, acquireLease(store, options), 'LEASE_HELD');
  await lease.release();
  const other = await emptyStore(t, url);
  await (await acquireLease(other, options)).release();
});

test('lease: a living process of this machine keeps it while it is stopped, whatever any clock says', async (t) => {
  const url = `sqlite:${join(await directory(t), 'store.db')}`;
  const child = await startChild(t, url);
  const store = await emptyStore(t, url);
  child.process.kill('SIGSTOP');
  const late = fakeClock(Date.now() + 3_600_000);
  await refused(t, acquireLease(store, { clock: late, log, onLost: () => t.fail() }), 'LEASE_HELD');
  const before = child.acknowledged.length;
  child.process.kill('SIGCONT');
  await child.reaches(before + 20);
  await kill(child);
  await (await acquireLease(store, { clock: late, log, onLost: () => t.fail() })).release();
});

/** Two machines, `north` and `south`, on one database; the clock of `south` is an hour ahead. */
async function twoMachines(t: ExecutionContext, url?: string) {
  const database = url ?? `sqlite:${join(await directory(t), 'store.db')}`;
  const lost: string[] = [];
  const machine = async (hostname: string, now: number) => {
    const store = await emptyStore(t, database);
    const self = { hostname, scope: 'boot 1', pid: 1, startedAt: '1' };
    const options: LeaseOptions = { clock: fakeClock(now), log, onLost: () => lost.push(hostname), self };
    return { store, options };
  };
  const south = await machine('south', 1_700_003_600_000);
  const waiting: (() => void)[] = [];
  const asked: (() => void)[] = [];
  south.options.pause = (ms) => {
    t.is(ms, 500);
    asked.shift()?.();
    return new Promise<void>((resolve) => waiting.push(resolve));
  };
  /** Lets `south` look so many times; between two of them half a second passes. */
  const looksAt = async (times: number) => {
    for (let look = 0; look < times; look++) {
      const next = new Promise<void>((resolve) => asked.push(resolve));
      waiting.shift()?.();
      await next;
    }
  };
  const goOn = () => waiting.shift()?.();
  return { lost, north: await machine('north', 1_700_000_000_000), south, looksAt, goOn };
}

for (const dialect of ['sqlite', 'postgres']) {
  test(`lease (${dialect}): one of another machine is taken when nothing was heard of it for 30 s, and its old holder cannot write any more`, async (t) => {
    const url = dialect === 'postgres' ? await postgresUrl(t) : undefined;
    if (dialect === 'postgres' && url === undefined) return;
    const { lost, north, south, looksAt, goOn } = await twoMachines(t, url);
    const first = await acquireLease(north.store, north.options);
    let taken = false;
    const waiting = acquireLease(south.store, south.options).then((lease) => {
      taken = true;
      return lease;
    });
    await looksAt(60);
    t.false(taken);
    await north.store.write((tx) => setMeta(tx, 'still mine', ''));
    goOn();
    const second = await waiting;
    await refused(
      t,
      north.store.write((tx) => setMeta(tx, 'late', '')),
      'LEASE_LOST',
    );
    await refused(t, first.renew(), 'LEASE_LOST');
    await first.release();
    t.deepEqual(lost, ['north']);
    await south.store.write((tx) => setMeta(tx, 'mine', ''));
    t.is(await getMeta(south.store, 'late'), undefined);
    await second.release();
  });
}

test('lease: one of another machine that is renewed refuses, although that machine has set its clock back', async (t) => {
  const { lost, north, south, looksAt, goOn } = await twoMachines(t);
  const first = await acquireLease(north.store, north.options);
  const second = acquireLease(south.store, south.options);
  await looksAt(59);
  // To the very instant of the renewal before.
  await first.renew();
  goOn();
  await refused(t, second, 'LEASE_HELD');
  await north.store.write((tx) => setMeta(tx, 'mine', ''));
  t.deepEqual(lost, []);
  await first.release();
});

test('lease: a process that could not do its work takes none', async (t) => {
  const { lost, north, south, looksAt, goOn } = await twoMachines(t);
  const first = await acquireLease(north.store, north.options);
  const beforeTaking = () => Promise.reject(new Error('my port is taken'));
  const second = acquireLease(south.store, { ...south.options, beforeTaking });
  await looksAt(60);
  goOn();
  await t.throwsAsync(second, { message: 'my port is taken' });
  await first.renew();
  await north.store.write((tx) => setMeta(tx, 'mine', ''));
  t.deepEqual(lost, []);
  await first.release();
});

test('process identity: alive, ended, reborn under the same pid, out of sight', async (t) => {
  const here = await thisProcess();
  t.is(here.pid, process.pid);
  t.true(await isAlive(here, here));
  t.is(await isAlive({ ...here, hostname: 'north' }, here), undefined);
  t.is(await isAlive({ ...here, scope: 'other' }, here), undefined);
  const child = spawn(process.execPath, ['-e', '0']);
  await once(child, 'exit');
  t.false(await isAlive({ ...here, pid: child.pid ?? 0 }, here));
  if (process.platform === 'linux') {
    t.regex(here.startedAt, /^\d+$/);
    t.false(await isAlive({ ...here, startedAt: '1' }, here));
  }
});

test('first run: an operator who can sign in and whose key opens everything; later starts say nothing', async (t) => {
  const dataDir = join(await directory(t), 'data');
  const store = await emptyStore(t);
  const clock = fakeClock();
  const options = { clock, dataDir, baseUrl: 'http://localhost:8080' };
  const made = await firstRun(store, options);
  t.truthy(made);
  await works(t, store, made);
  t.is(await firstRun(store, options), undefined);
  t.deepEqual(JSON.parse(await readFile(join(dataDir, 'first-run.json'), 'utf8')), made);
  t.is((await stat(join(dataDir, 'first-run.json'))).mode & 0o777, 0o600);
  t.deepEqual(await readdir(dataDir), ['first-run.json']);
});

async function works(t: ExecutionContext, store: Store, made: FirstRun | undefined): Promise<void> {
  const user = await getUserByEmail(store, made?.email ?? '');
  t.true(await verifyPassword(user?.passwordHash, made?.password ?? ''));
  const principal = await authenticate(store, fakeClock(), made?.apiKey ?? '');
  t.like(principal, { kind: 'key', accountId: made?.accountId, userId: user?.id, operator: true });
  t.deepEqual([...(principal?.scopes ?? [])], [...KEY_SCOPES]);
}

test('first run: the file with the password goes when its account has signed in, and with nobody else', async (t) => {
  const dataDir = await directory(t);
  const store = await emptyStore(t);
  const made = await firstRun(store, { clock: fakeClock(), dataDir, baseUrl: '' });
  const there = () => readdir(dataDir);
  const file = await openFirstRunFile(dataDir, log);
  await file.signedIn('acc_other');
  t.deepEqual(await there(), ['first-run.json']);
  // Another start before anybody has signed in.
  const later = await openFirstRunFile(dataDir, log);
  await later.signedIn(made?.accountId ?? '');
  t.deepEqual(await there(), []);
  await later.signedIn(made?.accountId ?? '');
  await (await openFirstRunFile(dataDir, log)).signedIn(made?.accountId ?? '');
  await works(t, store, made);
});

test('first run: killed between file and commit, the next start leaves a file that fits', async (t) => {
  const dataDir = await directory(t);
  const store = await emptyStore(t);
  const options = { clock: fakeClock(), dataDir, baseUrl: '' };
  const dying: Store = {
    ...store,
    write: (work) =>
      store.write(async (tx) => {
        await work(tx);
        throw new Error('killed');
      }),
  };
  await t.throwsAsync(firstRun(dying, options), { message: 'killed' });
  const file = async () => JSON.parse(await readFile(join(dataDir, 'first-run.json'), 'utf8')) as FirstRun;
  const orphan = await file();
  t.is(await authenticate(store, options.clock, orphan.apiKey), undefined);
  await firstRun(store, options);
  t.not((await file()).apiKey, orphan.apiKey);
  await works(t, store, await file());
});

test('first run: two at once make one operator', async (t) => {
  const dataDir = await directory(t);
  const store = await emptyStore(t);
  const options = { clock: fakeClock(), dataDir, baseUrl: '' };
  const made = (await Promise.all([firstRun(store, options), firstRun(store, options)])).filter(Boolean);
  t.is(made.length, 1);
  t.deepEqual(JSON.parse(await readFile(join(dataDir, 'first-run.json'), 'utf8')), made[0]);
});

test('secret: the same after a restart, other for each purpose and id', async (t) => {
  const dataDir = join(await directory(t), 'data');
  const store = await emptyStore(t);
  const secret = await openSecret(store, dataDir);
  const password = secret.derive('rcon', 'amber');
  t.regex(password, /^[\w-]{43}$/);
  t.is((await openSecret(store, dataDir)).derive('rcon', 'amber'), password);
  t.is(new Set([password, secret.derive('rcon', 'birch'), secret.derive('user-code', 'amber')]).size, 3);
  t.is((await stat(join(dataDir, 'secret.key'))).mode & 0o777, 0o600);
  t.is((await readFile(join(dataDir, 'secret.key'))).length, 32);
  t.deepEqual(Object.keys(secret), ['derive']);
});

test('secret: lost or foreign stops the start; an empty file asks for a new one', async (t) => {
  const dataDir = await directory(t);
  const path = join(dataDir, 'secret.key');
  const store = await emptyStore(t);
  const first = (await openSecret(store, dataDir)).derive('rcon', 'amber');
  const bytes = await readFile(path);
  await rm(path);
  await refused(t, openSecret(store, dataDir), 'SECRET_MISSING');
  await t.throwsAsync(stat(path), { code: 'ENOENT' });
  for (const wrong of [Buffer.alloc(32), bytes.subarray(1)]) {
    await writeFile(path, wrong);
    await refused(t, openSecret(store, dataDir), 'SECRET_MISSING');
  }
  await writeFile(path, bytes);
  t.is((await openSecret(store, dataDir)).derive('rcon', 'amber'), first);
  await writeFile(path, '');
  // Killed after the new file is there, before the database knows it.
  let writes = 0;
  const dying: Store = {
    ...store,
    write: (work) => (writes++ === 0 ? store.write(work) : Promise.reject(new Error('killed'))),
  };
  await t.throwsAsync(openSecret(dying, dataDir), { message: 'killed' });
  t.is((await readFile(path)).length, 32);
  const renewed = (await openSecret(store, dataDir)).derive('rcon', 'amber');
  t.not(renewed, first);
  t.is((await openSecret(store, dataDir)).derive('rcon', 'amber'), renewed);
});

test('passwords: argon2id with the recommended cost; no user takes as long and never matches', async (t) => {
  const hash = await hashPassword('correct horse');
  t.regex(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  const tries = await Promise.all([
    verifyPassword(hash, 'correct horse'),
    verifyPassword(hash, 'correct horse '),
    verifyPassword(undefined, 'a password nobody has'),
    verifyPassword(hash, 'x'.repeat(2_000)),
  ]);
  t.deepEqual(tries, [true, false, false, false]);
  await t.throwsAsync(hashPassword('ü'.repeat(513)), { instanceOf: RangeError });
});

test('scopes: apps and keys share none, the command line gets all but the operator', (t) => {
  t.deepEqual(
    KEY_SCOPES.filter((scope) => APP_SCOPES.includes(scope)),
    [],
  );
  t.deepEqual(
    KEY_SCOPES.filter((scope) => !FULL_SCOPES.includes(scope)),
    ['operator'],
  );
  t.true(isScope('files:read'));
  for (const bad of ['', 'files', 'toString', '__proto__']) t.false(isScope(bad), bad);
});

async function withKey(t: ExecutionContext, fields: { expiresAt?: number; operator?: boolean } = {}) {
  const clock = fakeClock(1_000_000);
  const store = await freshStore(t);
  await addPerson(store, 'mia', fields.operator);
  const wanted = {
    name: 'k',
    userId: 'usr_mia',
    accountId: 'acc_mia',
    createdAt: 0,
    expiresAt: fields.expiresAt ?? null,
  };
  const { key, row } = mintKey({ ...wanted, scopes: ['servers:read', 'operator'] });
  await store.write((tx) => insertKey(tx, row));
  return { clock, store, key, row };
}

test('keys: the principal of a key; anything else is nobody', async (t) => {
  const { clock, store, key, row } = await withKey(t);
  const principal = await authenticate(store, clock, key);
  t.like(principal, { kind: 'key', keyId: row.id, userId: 'usr_mia', accountId: 'acc_mia', operator: false });
  t.deepEqual([...(principal?.scopes ?? [])], ['servers:read', 'operator']);
  t.is(row.last4, key.slice(-4));
  t.false(JSON.stringify(row).includes(key.slice(4, -4)));
  for (const bad of ['', `${key}, ${key}`, mintToken('key'), mintToken('app'), mintToken('device'), row.hash]) {
    t.is(await authenticate(store, clock, bad), undefined);
  }
  const operator = await withKey(t, { operator: true });
  t.true((await authenticate(operator.store, clock, operator.key))?.operator);
});

test('keys: what cannot be a key asks the database nothing, and a known key asks it once', async (t) => {
  const { clock, store, key } = await withKey(t);
  let queries = 0;
  const counting: Store = { ...store, query: (sql, parameters) => (queries++, store.query(sql, parameters)) };
  await authenticate(counting, clock, key.slice(0, -1));
  await authenticate(counting, clock, `${key.slice(0, -1)}${key.endsWith('0') ? 1 : 0}`);
  t.is(queries, 0);
  for (let call = 0; call < 5; call++) t.truthy(await authenticate(counting, clock, key));
  t.is(queries, 1);
});

test('keys: expire on time, also when remembered', async (t) => {
  const { clock, store, key } = await withKey(t, { expiresAt: 1_010_000 });
  t.truthy(await authenticate(store, clock, key));
  await clock.advance(9_999);
  t.truthy(await authenticate(store, clock, key));
  await clock.advance(1);
  t.is(await authenticate(store, clock, key), undefined);
});

test('keys: a revoked key passes nowhere once that is confirmed, whatever was being read meanwhile', async (t) => {
  const { clock, store, key, row } = await withKey(t);
  t.truthy(await authenticate(store, clock, key));
  t.false(await revokeKey(store, clock, 'acc_test', row.id));
  t.truthy(await authenticate(store, clock, key));
  t.true(await revokeKey(store, clock, 'acc_mia', row.id));
  t.is(await authenticate(store, clock, key), undefined);
  t.false(await revokeKey(store, clock, 'acc_mia', row.id));
  t.is((await listKeys(store, 'acc_mia'))[0]?.revokedAt, 1_000_000);

  const slow = await withKey(t);
  const read = Promise.withResolvers<void>();
  const slowly: Store = {
    ...slow.store,
    async query<Row>(sql: string, parameters?: unknown[]) {
      const rows = await slow.store.query<Row>(sql, parameters);
      await read.promise;
      return rows;
    },
  };
  const calling = authenticate(slowly, slow.clock, slow.key);
  await revokeKey(slowly, slow.clock, 'acc_mia', slow.row.id);
  read.resolve();
  t.is(await calling, undefined);
  t.is(await authenticate(slowly, slow.clock, slow.key), undefined);
});

test('keys: what others change is noticed within half a minute; use is noted once a minute', async (t) => {
  const { clock, store, key, row } = await withKey(t, { operator: true });
  const lastUse = async () => (await getKeyByHash(store, row.hash))?.lastUsedAt;
  const call = async () => {
    const principal = await authenticate(store, clock, key);
    // Behind it in the line of writes.
    await store.write(async () => {});
    return principal;
  };
  await call();
  t.is(await lastUse(), 1_000_000);
  await store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [false, 'usr_mia']));
  await clock.advance(29_999);
  t.true((await call())?.operator);
  await clock.advance(1);
  t.false((await call())?.operator);
  await clock.advance(29_999);
  await call();
  t.is(await lastUse(), 1_000_000);
  await clock.advance(1);
  await call();
  t.is(await lastUse(), 1_060_000);
});
