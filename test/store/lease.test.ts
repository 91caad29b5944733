import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { isAlive, thisProcess } from '../../src/kernel/process-identity.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { type LeaseOptions, acquireLease } from '../../src/store/lease.ts';
import { getMeta, setMeta } from '../../src/store/meta.ts';
import { type Store, openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { type FakeClock, fakeClock } from '../fakes/clock.ts';
import { postgresUrl, startPostgres } from './postgres.ts';
import { isHere } from '../support/needs.ts';
import { chance } from '../support/random.ts';
import { until } from '../support/until.ts';
import { log, directory, emptyStore, refused } from './support.ts';

/** A separate control process that holds the lease and writes. */
interface Child {
  process: ChildProcess;
  acknowledged: number[];
  /** Resolves once `count` writes are acknowledged; rejects if the process ends first. */
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

test('repeated kills lose no acknowledged write, leave no partial write, and do not delay the next start', async (t) => {
  const dice = chance(t);
  const file = join(await directory(t), 'store.db');
  const url = `sqlite:${file}`;
  for (let round = 0; round < 5; round++) {
    const child = await startChild(t, url);
    await child.reaches(1 + Math.floor(dice() * 300));
    await kill(child);
    const store = await openStore(url, TABLES);
    try {
      // Time stands still, so a start that waits would never finish.
      const options = { clock: systemClock, log, onLost: () => t.fail(), realTime: fakeClock() };
      const lease = await acquireLease(store, options);
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

test('lease: a second start is refused while the first process lives, even within that process', async (t) => {
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

test('lease: a stopped but living process on this machine keeps its lease, whatever the clock says', async (t) => {
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

/** The time between two checks of a waiting process. */
const LOOK_MS = 500;
const isBetweenLooks = (realTime: FakeClock) => realTime.nextAt() === realTime.now() + LOOK_MS;

/** The time after which a process would end itself, and how often it was extended. */
interface Limit {
  limitMs: number;
  extended: number;
}

/** Two machines, `north` and `south`, on one database; the clock of `south` is an hour ahead. */
async function twoMachines(t: ExecutionContext, url?: string) {
  const database = url ?? `sqlite:${join(await directory(t), 'store.db')}`;
  const lost: string[] = [];
  const machine = async (hostname: string, now: number) => {
    const store = await emptyStore(t, database);
    const self = { hostname, scope: 'boot 1', pid: 1, startedAt: '1' };
    const deadlines: Limit[] = [];
    // The thread of a real deadline would end this process.
    const deadlineOf: LeaseOptions['deadlineOf'] = ({ limitMs }) => {
      const limit: Limit = { limitMs, extended: 0 };
      deadlines.push(limit);
      return { extend: () => void limit.extended++, stop: async () => {} };
    };
    const onLost = () => lost.push(hostname);
    const realTime = fakeClock(0);
    const options: LeaseOptions = { clock: fakeClock(now), log, onLost, self, deadlineOf, realTime };
    return { store, options, deadlines, realTime };
  };
  const south = await machine('south', 1_700_003_600_000);
  /** Lets `south` check the lease `times` times, half a second apart. */
  const looksAt = async (times: number) => {
    for (let look = 0; look < times; look++) {
      if (isBetweenLooks(south.realTime)) await goOn();
      await until(() => isBetweenLooks(south.realTime));
    }
  };
  const goOn = () => south.realTime.advance(LOOK_MS);
  return { lost, north: await machine('north', 1_700_000_000_000), south, looksAt, goOn };
}

for (const dialect of ['sqlite', 'postgres']) {
  test.runIf(dialect === 'sqlite' || isHere('postgres'))(
    `lease (${dialect}): another machine’s lease is taken after 30 s of silence, and its old holder can no longer write`,
    async (t) => {
      const url = dialect === 'postgres' ? await postgresUrl(t) : undefined;
      const { lost, north, south, looksAt, goOn } = await twoMachines(t, url);
      const first = await acquireLease(north.store, north.options);
      let taken = false;
      const waiting = acquireLease(south.store, south.options).then((lease) => {
        taken = true;
        return lease;
      });
      await looksAt(60);
      t.false(taken);
      // Only a shared database needs a deadline, because its holder may be cut off while others reach it.
      t.deepEqual(north.deadlines, url === undefined ? [] : [{ limitMs: 29_000, extended: 0 }]);
      await north.store.write((tx) => setMeta(tx, 'still mine', ''));
      await goOn();
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
    },
  );
}

test('lease: another machine that renews its lease keeps it, even if its clock was set back', async (t) => {
  const { lost, north, south, looksAt, goOn } = await twoMachines(t);
  const first = await acquireLease(north.store, north.options);
  const second = acquireLease(south.store, south.options);
  await looksAt(59);
  // Renew at the same time of the clock as before.
  await first.renew();
  await goOn();
  await refused(t, second, 'LEASE_HELD');
  await north.store.write((tx) => setMeta(tx, 'mine', ''));
  t.deepEqual(lost, []);
  await first.release();
});

/** Options for a process that waits for the lease and records the reported holders. */
function standby(told: unknown[]): Required<Pick<LeaseOptions, 'waiting'>> {
  const { signal } = new AbortController();
  return { waiting: { signal, onHeld: (holder) => void told.push(holder?.hostname) } };
}

test('standby: it waits while the holder renews the lease, and takes over at once after a release', async (t) => {
  const { lost, north, south, looksAt, goOn } = await twoMachines(t);
  const told: unknown[] = [];
  const first = await acquireLease(north.store, north.options);
  await first.require();
  const waiting = acquireLease(south.store, { ...south.options, ...standby(told) });
  await looksAt(60);
  await first.renew();
  await looksAt(60);
  t.deepEqual([...new Set(told)], ['north']);
  t.is(told.length, 120, 'each check reports the holder');
  await first.release();
  await refused(t, first.require(), 'LEASE_LOST');
  await goOn();
  const second = await waiting;
  await second.require();
  t.true(second.isSure());
  await second.release();
  t.deepEqual(lost, []);
});

test.runIf(isHere('postgres'))(
  'lease (postgres): a holder without a standby also ends itself when it is cut off from the database',
  async (t) => {
    const postgres = await startPostgres();
    const program = join(import.meta.dirname, 'lease-child.ts');
    const child = spawn(process.execPath, [program, await postgres.database()], { stdio: ['ignore', 'pipe', 'pipe'] });
    t.teardown(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    const ended = once(child, 'close');
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await postgres.stop();
    // Either of its threads may notice first.
    const [code, signal] = (await ended) as [number | null, string | null];
    t.true(signal === 'SIGKILL' || code === 3, `${code} ${signal}`);
    if (signal !== null) t.regex(said, /lease was not renewed for \d{5} ms/);
  },
);

test.runIf(isHere('postgres'))(
  'standby (postgres): it takes over an unrenewed 8 s lease after 8 s, and the old holder cannot renew it',
  async (t) => {
    const url = await postgresUrl(t);
    const { lost, north, south, looksAt, goOn } = await twoMachines(t, url);
    const told: unknown[] = [];
    const first = await acquireLease(north.store, north.options);
    await north.store.write((tx) => tx.run(`UPDATE "leases" SET "token" = "token" || '.8000'`));
    const waiting = acquireLease(south.store, { ...south.options, ...standby(told) });
    await looksAt(16);
    await goOn();
    const second = await waiting;
    t.is(told.length, 16);
    await refused(t, first.renew(), 'LEASE_LOST');
    await refused(t, first.require(), 'LEASE_LOST');
    t.false(first.isSure());
    t.deepEqual(lost, ['north']);
    await second.release();
  },
);

test('standby: it refuses a database that a newer version has migrated, and stops waiting when aborted', async (t) => {
  const { north, south } = await twoMachines(t);
  const newer = "INSERT INTO migrations (timestamp, name) VALUES (9, 'Later9')";
  const beforeTaking = () => south.store.requireKnown();
  await beforeTaking();
  await north.store.write((tx) => tx.run(newer));
  await refused(t, acquireLease(south.store, { ...south.options, ...standby([]), beforeTaking }), 'STORE_NEWER');
  await refused(t, south.store.migrate(), 'STORE_NEWER');
  const told = new Error('told so');
  const waiting = { signal: AbortSignal.abort(told), onHeld: () => t.fail() };
  await t.throwsAsync(acquireLease(south.store, { ...south.options, waiting }), { is: told });
});

test('lease: a process that fails its own check does not take the lease', async (t) => {
  const { lost, north, south, looksAt, goOn } = await twoMachines(t);
  const first = await acquireLease(north.store, north.options);
  const beforeTaking = () => Promise.reject(new Error('my port is taken'));
  const second = acquireLease(south.store, { ...south.options, beforeTaking });
  await looksAt(60);
  await goOn();
  await t.throwsAsync(second, { message: 'my port is taken' });
  await first.renew();
  await north.store.write((tx) => setMeta(tx, 'mine', ''));
  t.deepEqual(lost, []);
  await first.release();
});

test('lease: a holder renews the lease within a second after its database is back', async (t) => {
  const store = await emptyStore(t);
  let isAway = false;
  const leaving: Store = {
    ...store,
    write: (work) => (isAway ? Promise.reject(new Error('connection refused')) : store.write(work)),
  };
  const realTime = fakeClock();
  /** Lets the next renewal happen. Returns the time until the one after it is due. */
  const renewed = async () => {
    const due = realTime.nextAt();
    await realTime.advance(due - realTime.now());
    await until(() => realTime.nextAt() < Infinity);
    return realTime.nextAt() - due;
  };
  const lease = await acquireLease(leaving, { clock: systemClock, log, onLost: () => t.fail(), realTime });
  t.is(realTime.nextAt() - realTime.now(), 10_000);
  isAway = true;
  t.is(await renewed(), 1_000);
  t.is(await renewed(), 1_000);
  isAway = false;
  t.is(await renewed(), 10_000);
  await lease.release();
});

test('lease: an acquisition whose confirmation was lost still belongs to the process that wrote it', async (t) => {
  const store = await emptyStore(t);
  const away = new StatusError('UNAVAILABLE', 'STORE_UNAVAILABLE', 'The database is unavailable. Try again.');
  let isAnswering = false;
  const deaf: Store = {
    ...store,
    async write(work) {
      const result = await store.write(work);
      if (isAnswering) return result;
      isAnswering = true;
      throw away;
    },
  };
  const told: unknown[] = [];
  const realTime = fakeClock();
  const taking = acquireLease(deaf, { clock: systemClock, log, onLost: () => t.fail(), realTime, ...standby(told) });
  await until(() => isBetweenLooks(realTime));
  await realTime.advance(LOOK_MS);
  const lease = await taking;
  await lease.require();
  t.deepEqual(told, [undefined]);
  await lease.release();
});

test('process identity distinguishes a live process, an ended one, a reused pid and an unknown machine', async (t) => {
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
