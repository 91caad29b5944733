import assert from 'node:assert/strict';
import test from 'ava';
import * as fc from '../support/property.ts';
import { listLedger, refundedMicros } from '../../src/billing/ledger-rows.ts';
import { openWallet, post } from '../../src/billing/ledger.ts';
import { PERIOD_MS, chargeOf, hourlyMicros, monthOf } from '../../src/billing/prices.ts';
import {
  type AwakeSessionRow,
  endAwakeSession,
  insertAwakeSession,
  markReady,
  proveAwakeSessions,
  writeOff,
} from '../../src/billing/awake-session-rows.ts';
import { runwayMinutes } from '../../src/billing/spend-cap.ts';
import { chargeNext, purgeTicks } from '../../src/billing/tick-rows.ts';
import {
  listUnbalanced,
  getWallet,
  listSpentWallets,
  markCapNotified,
  setSpendCap,
} from '../../src/billing/wallet-rows.ts';
import type { Store } from '../../src/store/store.ts';
import { postgresUrl } from '../store/postgres.ts';
import { freshStore, awakeSessionRow } from '../support/store.ts';
import { isHere } from '../support/needs.ts';
import { ACCOUNT, PRICES, metered } from './metered.ts';

const START = 1_700_000_000_000;
const MINUTE_MS = 60_000;

/** One random event. */
const Happening = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant('minutes' as const), count: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 90_000 }) }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('start' as const), id: fc.constantFrom('one', 'two') }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('stop' as const), id: fc.constantFrom('one', 'two') }) },
  fc.record({ what: fc.constant('round' as const) }),
  fc.record({
    what: fc.constant('restart' as const),
    whole: fc.boolean(),
    awayMs: fc.integer({ min: 0, max: 400_000 }),
  }),
  fc.record({ what: fc.constant('jump' as const), byMs: fc.constantFrom(3_600_000, -3_600_000) }),
  fc.record({
    what: fc.constant('ram' as const),
    id: fc.constantFrom('one', 'two'),
    ramMb: fc.integer({ min: 256, max: 16_384 }),
  }),
  fc.record({ what: fc.constant('topUp' as const), micros: fc.integer({ min: 1, max: 1_000_000_000 }) }),
);

test('after any sequence of events the wallet matches its ledger, and each session costs its full minutes', async (t) => {
  const property = fc.asyncProperty(
    fc.array(Happening, { minLength: 4, maxLength: 14 }),
    fc.integer({ min: 1, max: 1_000_000 }),
    async (happenings, perGbHourMicros) => {
      const opening = 1_000_000_000_000;
      const it = await metered(t, { creditMicros: opening, prices: { ...PRICES, perGbHourMicros } });
      let toppedUp = 0;
      for (const id of ['one', 'two']) {
        await it.create(id);
        it.games.players.set(id, 1);
      }
      for (const happening of happenings) {
        const state = 'id' in happening ? (await it.servers.get(happening.id))?.state : undefined;
        if (happening.what === 'minutes') await it.minutes(happening.count);
        if (happening.what === 'wait') await it.clock.advance(happening.ms);
        if (happening.what === 'round') await it.meter.round();
        if (happening.what === 'jump') await it.setClock(happening.byMs);
        if (happening.what === 'restart' && happening.whole) await it.restart(happening.awayMs);
        if (happening.what === 'restart' && !happening.whole) await it.restartMeter(happening.awayMs);
        if (happening.what === 'ram') await it.servers.patch(happening.id, { ramMb: happening.ramMb });
        if (happening.what === 'start' && state === 'hibernated') {
          await it.wake(happening.id);
        }
        if (happening.what === 'stop' && state === 'running') {
          await it.command(happening.id, 'STOP');
          await it.reach(happening.id, 'hibernated', 7_300_000);
        }
        if (happening.what === 'topUp') {
          const posting = { kind: 'topup', amountMicros: happening.micros, note: '', at: it.clock.now() } as const;
          const ref = `paid/${toppedUp}`;
          await it.store.write((tx) => post(tx, { ...posting, accountId: ACCOUNT, ref }));
          toppedUp += happening.micros;
        }
        await holds(opening + toppedUp);
      }
      await it.meter.round();
      await holds(opening + toppedUp);
      // After a round, every full awake minute is charged, and no partial one.
      const { sessions } = await it.books();
      for (const { ticks, awakeMs } of sessions) assert.equal(ticks, Math.floor(awakeMs / MINUTE_MS));
      const awakeMs = sessions.reduce((sum, session) => sum + session.awakeMs, 0);
      assert.ok(awakeMs <= it.awakeMs() && awakeMs >= it.awakeMs() - it.unprovenMs(), `${awakeMs} of ${it.awakeMs()}`);
      await it.meter.close();
      await it.servers.close();

      async function holds(given: number): Promise<void> {
        const { sessions, balanceMicros, entries } = await it.books();
        for (const { ticks, rateMicros, ramMb, amountMicros } of sessions)
          assert.equal(amountMicros, chargeOf(ticks, rateMicros, ramMb));
        const spent = sessions.reduce((sum, { amountMicros }) => sum + amountMicros, 0);
        assert.equal(balanceMicros, given - spent);
        assert.equal(
          balanceMicros,
          entries.reduce((sum, { amountMicros }) => sum + amountMicros, 0),
        );
      }
    },
  );
  // The error message contains the seed and the smallest failing case.
  await t.notThrowsAsync(fc.assert(property, { numRuns: 60, endOnFailure: true, includeErrorInReport: true }));
});

async function anAwakeSession(store: Store, fields: Partial<AwakeSessionRow>): Promise<AwakeSessionRow> {
  const times = { startedAt: START, provenAt: START, serverCreatedAt: START };
  const row = awakeSessionRow({ id: `ses_${fields.serverId}`, ramMb: 700, rateMicros: 9_973, ...times, ...fields });
  await store.write(async (tx) => {
    await insertAwakeSession(tx, row);
    await markReady(tx, row.serverId, START, START);
  });
  return row;
}

for (const dialect of ['sqlite', 'postgres'] as const) {
  test.runIf(dialect === 'sqlite' || isHere('postgres'))(
    `ticks, ledger entries, wallets, spend caps, refunds and purges work on ${dialect}`,
    async (t) => {
      const url = dialect === 'postgres' ? await postgresUrl(t) : 'sqlite::memory:';
      const store = await freshStore(t, url);
      await store.write((tx) => openWallet(tx, 'acc_test', START, 1_000_000));
      await store.write((tx) => openWallet(tx, 'acc_test', START, 1_000_000));
      await anAwakeSession(store, { serverId: 'abc' });
      await anAwakeSession(store, { serverId: 'free', billable: 0 });
      await anAwakeSession(store, { serverId: 'gone' });
      const month = monthOf(START);
      const charge = (at: number) =>
        store.write(async (tx) => {
          await proveAwakeSessions(tx, at, ['gone']);
          let all = 0;
          for (let some = -1; some !== 0; all += some) some = await chargeNext(tx, at, month);
          return all + 1;
        });
      t.is((await charge(START + 61.5 * MINUTE_MS)) - 1, 61);
      await store.write((tx) => writeOff(tx, START + 61.5 * MINUTE_MS, ['gone']));
      t.is((await charge(START + 61.5 * MINUTE_MS)) - 1, 0);
      const [second, first, credit, ...rest] = await listLedger(store, 'acc_test', 10);
      t.deepEqual(rest, []);
      t.like(first, { amountMicros: -chargeOf(60, 9_973, 700), ref: 'ses_abc/0', id: 2 });
      t.like(second, { ref: 'ses_abc/1', closedAt: null, id: 3 });
      t.like(credit, { kind: 'credit', amountMicros: 1_000_000, id: 1 });
      t.is(typeof first?.closedAt, 'number');
      const spent = chargeOf(61, 9_973, 700);
      t.like(await getWallet(store, 'acc_test'), { balanceMicros: 1_000_000 - spent, spentMicros: spent });
      t.deepEqual(await listUnbalanced(store), []);
      t.deepEqual(await listSpentWallets(store, month), []);
      await store.write((tx) => setSpendCap(tx, 'acc_test', spent, 'notify'));
      t.is((await listSpentWallets(store, month)).length, 1);
      t.is((await listSpentWallets(store, '2999-01')).length, 0);
      const told = () => store.write((tx) => markCapNotified(tx, 'acc_test', month));
      t.deepEqual([await told(), await told()], [true, false]);
      await store.write((tx) => endAwakeSession(tx, 'ses_abc', START + 62 * MINUTE_MS, 'stopped'));
      t.is(await store.write((tx) => purgeTicks(tx, START, 1_000)), 0);
      const purge = (most: number) => store.write((tx) => purgeTicks(tx, START + 100 * MINUTE_MS, most));
      t.deepEqual([await purge(50), await purge(50), await purge(50)], [50, 11, 0]);
      const refund = { accountId: 'acc_test', kind: 'refund', note: '', at: START } as const;
      for (const [ref, amountMicros] of [
        ['chk_1/30', -30],
        ['chk_1/50', -20],
        ['chk_10/5', -5],
      ] as const)
        await store.write((tx) => post(tx, { ...refund, ref, amountMicros }));
      t.is(await refundedMicros(store, 'acc_test', 'chk_1/'), 50);
      t.is(await refundedMicros(store, 'acc_test', 'chk_2/'), 0);
      await store.write(async (tx) => void (await tx.run('UPDATE "wallets" SET "balanceMicros" = 1')));
      t.deepEqual(await listUnbalanced(store), [
        { accountId: 'acc_test', balanceMicros: 1, ledgerMicros: 1_000_000 - spent - 55 },
      ]);
    },
  );
}

for (const dialect of ['sqlite', 'postgres'] as const) {
  test.runIf(dialect === 'sqlite' || isHere('postgres'))(
    `a server awake for more than 24 days without a stop is still charged on ${dialect}`,
    async (t) => {
      const url = dialect === 'postgres' ? await postgresUrl(t) : 'sqlite::memory:';
      const store = await freshStore(t, url);
      await store.write((tx) => openWallet(tx, 'acc_test', START, 1_000_000));
      // This number of minutes does not fit into 32 bits as milliseconds.
      const ticks = 36_000;
      await anAwakeSession(store, { serverId: 'abc', ticks, awakeMs: (ticks + 1) * MINUTE_MS });
      t.is(await store.write((tx) => chargeNext(tx, START, monthOf(START))), 1);
      const [newest] = await listLedger(store, 'acc_test', 1);
      t.is(newest?.ref, 'ses_abc/600');
    },
  );
}

test('a wallet that runs out with several servers due falls below zero by at most one tick', async (t) => {
  const store = await freshStore(t);
  const tick = chargeOf(1, 60_000, 1_024);
  await store.write((tx) => openWallet(tx, 'acc_test', START, tick * 2 + 1));
  for (const serverId of ['a', 'b', 'c', 'd', 'e'])
    await anAwakeSession(store, { serverId, rateMicros: 60_000, ramMb: 1_024 });
  const at = START + MINUTE_MS;
  const charge = () =>
    store.write(async (tx) => {
      await proveAwakeSessions(tx, at, []);
      return chargeNext(tx, at, monthOf(at));
    });
  t.is(await charge(), 3);
  t.like(await getWallet(store, 'acc_test'), { balanceMicros: 1 - tick });
  t.is(await charge(), 0);
  const posting = { accountId: 'acc_test', kind: 'credit', amountMicros: tick * 9, note: '', ref: 'x', at } as const;
  await store.write((tx) => post(tx, posting));
  t.is(await charge(), 2, 'the postponed minutes are charged');
});

test('a spend cap with stop is exceeded by at most one tick, even with several servers due', async (t) => {
  const store = await freshStore(t);
  const tick = chargeOf(1, 60_000, 1_024);
  await store.write(async (tx) => {
    await openWallet(tx, 'acc_test', START, tick * 100);
    await setSpendCap(tx, 'acc_test', tick * 2 + 1, 'stop');
  });
  for (const serverId of ['a', 'b', 'c', 'd', 'e'])
    await anAwakeSession(store, { serverId, rateMicros: 60_000, ramMb: 1_024 });
  const at = START + MINUTE_MS;
  const charge = () =>
    store.write(async (tx) => {
      await proveAwakeSessions(tx, at, []);
      return chargeNext(tx, at, monthOf(at));
    });
  t.is(await charge(), 3);
  t.like(await getWallet(store, 'acc_test'), { spentMicros: tick * 3 });
  t.is(await charge(), 0);
  await store.write((tx) => setSpendCap(tx, 'acc_test', tick * 2 + 1, 'notify'));
  t.is(await charge(), 2, 'a cap with notify postpones no charge');
});

test('the runway is correct for metered, flat and mixed plans', (t) => {
  const DAY = 1_440;
  const at = START;
  const runway = (
    balanceMicros: number,
    meteredMicros: number,
    renewals: { at: number; amountMicros: number }[] = [],
  ) => runwayMinutes({ balanceMicros, meteredMicros, renewals, at });
  t.is(runway(5, 0), -1);
  t.is(runway(hourlyMicros(10_000, 1_024) * 24, 10_000), DAY);
  t.is(runway(0, 10_000), 0);
  const tenth = { at: at + 10 * 86_400_000, amountMicros: 3_000_000 };
  t.is(runway(2_999_999, 0, [tenth]), 10 * DAY);
  t.is(runway(3_000_000, 0, [tenth]), 40 * DAY);
  t.is(runway(240_000, 10_000, [tenth]), DAY, 'metered use empties the wallet before the renewal');
  t.is(runway(2_400_000 + 3_000_000 + 240_000, 10_000, [tenth]), 11 * DAY);
  t.is(runway(2_400_000 + 2_999_999, 10_000, [tenth]), 10 * DAY);
  t.is(runway(Number.MAX_SAFE_INTEGER, 1), 2 ** 31 - 1);
  t.true(runway(Number.MAX_SAFE_INTEGER, 0, [{ at: at + PERIOD_MS, amountMicros: 1 }]) > 50 * 365 * DAY);
});
