import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { acquireLease } from '../../src/store/lease.ts';
import { getMeta, setMeta } from '../../src/store/meta.ts';
import { openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { isHere } from '../support/needs.ts';
import { fakeClock } from '../fakes/clock.ts';
import { until } from '../support/until.ts';
import { postgresUrl } from './postgres.ts';
import { type SilentLine, silentLine } from './silent-line.ts';
import { log, emptyStore, refused } from './support.ts';

/** A database, and a line to it that can go silent. */
async function line(t: ExecutionContext): Promise<SilentLine & { direct: string }> {
  t.timeout(300_000);
  const direct = await postgresUrl(t);
  return { direct, ...(await silentLine(t, direct)) };
}

test.runIf(isHere('postgres'))(
  'a silent connection fails its pending calls with UNAVAILABLE, and later calls use a new connection',
  async (t) => {
    const db = await line(t);
    const store = await emptyStore(t, db.url);
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const write = store.write(async (tx) => {
      await setMeta(tx, 'lost', '');
      begun.resolve();
      await goOn.promise;
      await setMeta(tx, 'lost too', '');
    });
    await begun.promise;
    await store.query('SELECT 1');
    db.silence();
    goOn.resolve();
    const read = refused(t, store.query('SELECT 1'), 'STORE_UNAVAILABLE');
    const behind = store.write((tx) => setMeta(tx, 'behind', ''));
    const lost = await refused(t, write, 'STORE_UNAVAILABLE');
    t.is(lost.code, 'UNAVAILABLE');
    t.regex(String(lost.cause), /silent for 12000 ms/, 'early enough to renew a lease of 30 s');
    await behind;
    t.regex(String((await read).cause), /silent for 22000 ms/);
    t.is(await getMeta(store, 'lost'), undefined);
    t.is(await getMeta(store, 'behind'), '');
  },
);

test.runIf(isHere('postgres'))('a silent database fails every call, and the store can still close', async (t) => {
  const db = await line(t);
  const store = await openStore(db.url, TABLES);
  await store.query('SELECT 1');
  db.silence('new ones');
  const put = () => store.write((tx) => setMeta(tx, 'lost', ''));
  await refused(t, put(), 'STORE_UNAVAILABLE');
  await refused(t, put(), 'STORE_UNAVAILABLE');
  await store.close();
  t.pass();
});

test.runIf(isHere('postgres'))(
  'a cut-off transaction blocks other writers no longer than a standby waits',
  async (t) => {
    const db = await line(t);
    const cutOff = await emptyStore(t, db.url);
    const other = await emptyStore(t, db.direct);
    await cutOff.write(async (tx) => {
      await setMeta(tx, 'key', 'old');
      const limit = await tx.query('SHOW idle_in_transaction_session_timeout');
      t.deepEqual(limit, [{ idle_in_transaction_session_timeout: '7s' }], 'shorter than the 8 s of a standby');
    });
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const write = cutOff.write(async (tx) => {
      await setMeta(tx, 'key', 'lost');
      begun.resolve();
      await goOn.promise;
    });
    await begun.promise;
    db.silence();
    await other.write((tx) => setMeta(tx, 'key', 'new'));
    goOn.resolve();
    await refused(t, write, 'STORE_UNAVAILABLE');
    t.is(await getMeta(other, 'key'), 'new');
  },
);

test.runIf(isHere('postgres'))('a lease holder ends itself when its database goes silent', async (t) => {
  const db = await line(t);
  const program = join(import.meta.dirname, 'lease-child.ts');
  const child = spawn(process.execPath, [program, db.url], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const ended = once(child, 'close');
  db.silence('new ones');
  const [code, signal] = (await ended) as [number | null, string | null];
  t.true(signal === 'SIGKILL' || code === 3, `${code} ${signal}`);
});

test.runIf(isHere('postgres'))(
  'a process that waits for the lease abandons a silent connection and uses a new one',
  async (t) => {
    const db = await line(t);
    const holding = await emptyStore(t, db.direct);
    const first = await acquireLease(holding, {
      clock: systemClock,
      log,
      onLost: () => t.fail(),
      deadlineOf: () => ({ extend: () => {}, stop: async () => {} }),
    });
    const store = await emptyStore(t, db.url);
    const told: (string | undefined)[] = [];
    const waiting = {
      signal: new AbortController().signal,
      onHeld: (holder?: { hostname: string }) => {
        told.push(holder?.hostname);
      },
    };
    const realTime = fakeClock();
    const second = acquireLease(store, { clock: systemClock, log, onLost: () => t.fail(), waiting, realTime });
    const waitsFor = (ms: number) => until(() => realTime.nextAt() === realTime.now() + ms);
    await waitsFor(500);
    await realTime.advance(500);
    await waitsFor(500);
    db.silence();
    await first.release();
    // A check ends after 3 s of silence, long before the connection itself times out.
    await realTime.advance(500);
    await waitsFor(3_000);
    await realTime.advance(3_000);
    await waitsFor(500);
    t.deepEqual(told, [hostname(), hostname(), undefined], 'a check without an answer reports no holder');
    let isTaken = false;
    void second.then(() => (isTaken = true));
    // The connection for writes is silent too: acquiring the lease fails until a new connection replaces it.
    await until(async () => {
      if (realTime.nextAt() === realTime.now() + 500) await realTime.advance(500);
      return isTaken;
    });
    await (await second).release();
  },
);
