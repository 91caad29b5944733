import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { acquireLease } from '../../src/store/lease.ts';
import { getMeta, setMeta } from '../../src/store/meta.ts';
import { openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { isHere } from '../support/needs.ts';
import { postgresUrl } from './postgres.ts';
import { type SilentLine, silentLine } from './silent-line.ts';
import { log, emptyStore, refused } from './support.ts';

/** A database, and a line to it that can go silent. */
async function line(t: ExecutionContext): Promise<SilentLine & { direct: string }> {
  t.timeout(120_000);
  const direct = await postgresUrl(t);
  return { direct, ...(await silentLine(t, direct)) };
}

const secondsSince = (at: number) => (performance.now() - at) / 1_000;

test.runIf(isHere('postgres'))(
  'a line that goes silent fails what is in flight with UNAVAILABLE, and what comes later takes another one',
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
    const at = performance.now();
    db.silence();
    goOn.resolve();
    const read = refused(t, store.query('SELECT 1'), 'STORE_UNAVAILABLE');
    const behind = store.write((tx) => setMeta(tx, 'behind', ''));
    t.is((await refused(t, write, 'STORE_UNAVAILABLE')).code, 'UNAVAILABLE');
    await behind;
    t.true(secondsSince(at) < 20, 'the lease of 30 s can still be renewed');
    await read;
    t.true(secondsSince(at) < 40);
    t.is(await getMeta(store, 'lost'), undefined);
    t.is(await getMeta(store, 'behind'), '');
  },
);

test.runIf(isHere('postgres'))(
  'a database that says nothing at all fails everything, and lets the store close',
  async (t) => {
    const db = await line(t);
    const store = await openStore(db.url, TABLES);
    await store.query('SELECT 1');
    const at = performance.now();
    db.silence('new ones');
    const put = () => store.write((tx) => setMeta(tx, 'lost', ''));
    await refused(t, put(), 'STORE_UNAVAILABLE');
    await refused(t, put(), 'STORE_UNAVAILABLE');
    await store.close();
    t.true(secondsSince(at) < 60);
  },
);

test.runIf(isHere('postgres'))(
  'a transaction of one that is cut off holds nothing back for longer than a standby waits',
  async (t) => {
    const db = await line(t);
    const cutOff = await emptyStore(t, db.url);
    const other = await emptyStore(t, db.direct);
    await cutOff.write((tx) => setMeta(tx, 'key', 'old'));
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const write = cutOff.write(async (tx) => {
      await setMeta(tx, 'key', 'lost');
      begun.resolve();
      await goOn.promise;
    });
    await begun.promise;
    db.silence();
    const at = performance.now();
    await other.write((tx) => setMeta(tx, 'key', 'new'));
    t.true(secondsSince(at) < 9.5, String(secondsSince(at)));
    goOn.resolve();
    await refused(t, write, 'STORE_UNAVAILABLE');
    t.is(await getMeta(other, 'key'), 'new');
  },
);

test.runIf(isHere('postgres'))('one that holds the lease ends when its database goes silent', async (t) => {
  const db = await line(t);
  const program = join(import.meta.dirname, 'lease-child.ts');
  const child = spawn(process.execPath, [program, db.url], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const ended = once(child, 'close');
  const at = performance.now();
  db.silence('new ones');
  const [code, signal] = (await ended) as [number | null, string | null];
  t.true(signal === 'SIGKILL' || code === 3, `${code} ${signal}`);
  t.true(secondsSince(at) < 40);
});

test.runIf(isHere('postgres'))('one that waits for the lease does not wait for a line that is silent', async (t) => {
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
  const looked = Promise.withResolvers<void>();
  const waiting = {
    signal: new AbortController().signal,
    onHeld: (holder?: { hostname: string }) => {
      told.push(holder?.hostname);
      if (told.length === 2) looked.resolve();
    },
  };
  const second = acquireLease(store, { clock: systemClock, log, onLost: () => t.fail(), waiting });
  await looked.promise;
  db.silence();
  const at = performance.now();
  await first.release();
  await (await second).release();
  t.true(secondsSince(at) < 25, String(secondsSince(at)));
  t.true(told.includes(undefined), 'it says that it cannot see');
});
