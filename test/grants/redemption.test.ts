import test from 'ava';
import { StatusError } from '../../src/kernel/status.ts';
import { disableClient } from '../../src/grants/clients.ts';
import { listKeys } from '../../src/access/key-rows.ts';
import type { Store, Tx } from '../../src/store/store.ts';
import { SECOND, USER, OPERATOR, bench, granted, answerOf } from './grant-bench.ts';

/** The ways in which a write can fail. */
type Failure = 'not begun' | 'undone' | 'done, but unacknowledged';

interface Faults {
  wrap: (store: Store) => Store;
  fail: (nth: number, how: Failure) => void;
  failed: () => boolean;
  /** The number of writes requested so far. */
  asked: () => number;
}

/** A store with one failing write: the n-th after `fail` is called. */
function failing(): Faults {
  let [left, how]: [number, Failure] = [0, 'undone'];
  let failed = false;
  let asked = 0;
  const crash = () => {
    failed = true;
    return new Error('killed');
  };
  const wrap = (store: Store): Store => ({
    ...store,
    query: (sql, parameters) => store.query(sql, parameters),
    async write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
      asked++;
      if (left === 0 || --left > 0) return store.write(work);
      if (how === 'not begun') throw crash();
      if (how === 'done, but unacknowledged') {
        await store.write(work);
        throw crash();
      }
      return store.write(async (tx) => {
        await work(tx);
        throw crash();
      });
    },
  });
  const fail = (nth: number, as: Failure) => ([left, how, failed] = [nth, as, false]);
  return { wrap, fail, failed: () => failed, asked: () => asked };
}

const HAPPY_WRITES = 4;
for (const how of ['not begun', 'undone', 'done, but unacknowledged'] as const) {
  for (let nth = 1; nth <= HAPPY_WRITES; nth++) {
    for (const killed of [true, false]) {
      const what = killed ? 'killed' : 'failed';
      test(`${what} at write ${nth} (${how}): a grant yields exactly one token, and only after approval`, async (t) => {
        const faults = failing();
        const it = await bench(t, faults.wrap);
        faults.fail(nth, how);
        let approved = false;
        const given: string[] = [];
        const recover = async <T>(step: () => Promise<T>): Promise<T> => {
          try {
            return await step();
          } catch (error) {
            if (!faults.failed()) throw error;
            if (killed) it.restart();
            await it.clock.advance(SECOND);
            t.true((await it.tokens()).length <= 1);
            if (!approved && how !== 'done, but unacknowledged') t.deepEqual(await it.tokens(), []);
            return step();
          }
        };
        const poll = async (deviceCode: string) => {
          const polled = await recover(() => it.grants.poll(deviceCode));
          if (!('error' in polled)) given.push(polled.token);
          return answerOf(polled);
        };
        const { id, deviceCode } = await recover(() => it.start());
        t.true(['authorization_pending', 'slow_down'].includes(await poll(deviceCode)));
        t.deepEqual(await it.tokens(), []);
        await recover(() => it.grants.approve(id, USER)).catch((error: unknown) => {
          // The first attempt had been stored after all.
          if (how !== 'done, but unacknowledged' || !(error instanceof StatusError)) throw error;
        });
        approved = true;
        const last = await poll(deviceCode);
        t.is(await poll(deviceCode), 'expired_token');
        t.true(faults.failed());
        t.is(last, 'app', 'also if the answer to the first attempt was lost');
        t.is(given.length, 1);
        t.is((await it.tokens()).length, 1);
      });
    }
  }
}

test('polls queued behind a rolled-back poll are answered from the stored state', async (t) => {
  const faults = failing();
  const it = await bench(t, faults.wrap);
  const { id, deviceCode } = await it.start();
  await it.grants.approve(id, USER);
  faults.fail(1, 'undone');
  const polled = await Promise.allSettled(Array.from({ length: 20 }, () => it.grants.poll(deviceCode)));
  const answers = polled.map((each) => (each.status === 'fulfilled' ? answerOf(each.value) : 'failed'));
  t.deepEqual(answers.sort(), ['app', ...Array<string>(18).fill('expired_token'), 'failed']);
  t.is((await it.tokens()).length, 1);
});

test('a poll queued behind a rolled-back denial still gets authorization_pending', async (t) => {
  const faults = failing();
  const it = await bench(t, faults.wrap);
  const { id, deviceCode } = await it.start();
  await it.grants.poll(deviceCode);
  await it.clock.advance(5 * SECOND);
  faults.fail(1, 'undone');
  const before = faults.asked();
  // Hold the writes, so that both wait for the same commit.
  const hold = Promise.withResolvers<void>();
  const held = it.store.write(() => hold.promise);
  const waiting = async (writes: number) => {
    while (faults.asked() < before + writes) await it.store.query('SELECT 1');
  };
  const denied = t.throwsAsync(it.grants.deny(id, USER), { message: 'killed' });
  await waiting(1);
  const polled = it.grants.poll(deviceCode);
  await waiting(2);
  hold.resolve();
  await Promise.all([held, denied]);
  t.is(answerOf(await polled), 'authorization_pending');
  await it.grants.approve(id, USER);
  t.is(answerOf(await it.grants.poll(deviceCode)), 'app');
});

for (const clientId of [undefined, null]) {
  const what = clientId === null ? 'a key' : 'an app’s token';
  test(`${what} is returned again for a minute if its response was lost, until a poll receives it`, async (t) => {
    const it = await bench(t);
    const lost = Promise.resolve(false);
    const { id, deviceCode } = await it.start(clientId);
    await it.grants.approve(id, USER);
    const { token } = granted(await it.grants.poll(deviceCode, undefined, lost));
    for (const restarted of [false, true, false]) {
      if (restarted) it.restart();
      await it.clock.advance(10 * SECOND);
      t.is(granted(await it.grants.poll(deviceCode, undefined, lost)).token, token);
    }
    const kept = JSON.stringify(await it.store.query('SELECT * FROM "sealed_tokens"'));
    t.true(kept.includes(id));
    for (const code of [token, deviceCode, token.slice(4), deviceCode.slice(4)]) t.false(kept.includes(code));
    await it.clock.advance(10 * SECOND);
    t.is(granted(await it.grants.poll(deviceCode)).token, token);
    // Wait for the write that deletes the received token.
    await it.store.write(async () => {});
    t.deepEqual(await it.store.query('SELECT * FROM "sealed_tokens"'), []);
    it.restart();
    await it.clock.advance(SECOND);
    t.is(answerOf(await it.grants.poll(deviceCode)), 'expired_token');
    t.is((await it.tokens()).length + (await listKeys(it.store, 'acc_test')).length, 1);
  });
}

test('the sealed copy of an undelivered token is deleted after a minute, even after a restart', async (t) => {
  const it = await bench(t);
  const redeemed = async (received: Promise<boolean>) => {
    const { id, deviceCode } = await it.start();
    await it.grants.approve(id, USER);
    await it.grants.poll(deviceCode, undefined, received);
    return deviceCode;
  };
  // Wait for the writes requested so far.
  const count = () => it.store.write(async (tx) => (await tx.query('SELECT * FROM "sealed_tokens"')).length);
  const lost = await redeemed(Promise.resolve(false));
  t.is(await count(), 1);
  await it.clock.advance(60 * SECOND);
  t.is(await count(), 0);
  t.is(answerOf(await it.grants.poll(lost)), 'expired_token');

  const unknown = await redeemed(new Promise(() => {}));
  it.restart().sweepLater();
  t.is(await count(), 1);
  await it.clock.advance(60 * SECOND);
  t.is(await count(), 0);
  t.is(answerOf(await it.grants.poll(unknown)), 'expired_token');
});

test('a second poll gets no token if the first is still in transit, the token is damaged or the app is disabled', async (t) => {
  const it = await bench(t);
  const begin = async () => {
    const { id, deviceCode } = await it.start();
    await it.grants.approve(id, USER);
    t.is(answerOf(await it.grants.poll(deviceCode, undefined, new Promise(() => {}))), 'app');
    await it.clock.advance(5 * SECOND);
    return deviceCode;
  };
  t.is(answerOf(await it.grants.poll(await begin())), 'expired_token');
  const damaged = await begin();
  await it.store.write((tx) => tx.run(`UPDATE "sealed_tokens" SET "sealed" = 'AAAA'`));
  t.is(answerOf(await it.restart().poll(damaged)), 'expired_token');
  const disabled = await begin();
  await disableClient(it, OPERATOR, it.clientId);
  t.is(answerOf(await it.restart().poll(disabled)), 'expired_token');
});

test('a grant evicted from memory while its poll waits for a write is loaded again', async (t) => {
  const faults = failing();
  const it = await bench(t, faults.wrap);
  const [first, second] = [await it.start(), await it.start()];
  await it.grants.approve(first.id, USER);
  const hold = Promise.withResolvers<void>();
  const held = it.store.write(() => hold.promise);
  const asked = faults.asked();
  const polled = it.grants.poll(first.deviceCode);
  while (faults.asked() === asked) await it.store.query('SELECT 1');
  await it.clock.advance(60 * SECOND);
  const other = it.grants.poll(second.deviceCode);
  while (faults.asked() === asked + 1) await it.store.query('SELECT 1');
  t.deepEqual(
    it.grants.live().map(({ context }) => context.id),
    [second.id],
  );
  hold.resolve();
  await held;
  t.is(answerOf(await polled), 'app');
  t.is(answerOf(await other), 'authorization_pending');
});
