import assert from 'node:assert/strict';
import test from 'ava';
import * as fc from '../support/property.ts';
import { flatDue } from '../../src/billing/flat.ts';
import type { LedgerRow } from '../../src/billing/ledger-rows.ts';
import { post } from '../../src/billing/ledger.ts';
import { PERIOD_MS, type Prices, chargeOf, tickCeilingMicros } from '../../src/billing/prices.ts';
import type { AwakeSessionRow } from '../../src/billing/awake-session-rows.ts';
import { setSpendCap } from '../../src/billing/wallet-rows.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { KEY, STEVE } from '../support/world.ts';
import { ACCOUNT, type Metered, metered } from './metered.ts';

const PLANS: Record<string, string> = { one: 'metered', flat: 'flat', level: 'flat' };
/** The reasons for which a wake may be refused: money, or too many crashes for a wake by a player. */
const REFUSALS = new Set(['INSUFFICIENT_FUNDS', 'SPEND_CAP_REACHED', 'SERVER_START_FAILED']);
const HOUR_MS = 3_600_000;
/** The price of a GB for 30 days. Wallets and caps hold up to three of them. */
const MONTH = 100_000;

const id = fc.constantFrom(...Object.keys(PLANS));
const some = fc.integer({ min: 1_000, max: 3 * MONTH });
const Happening = fc.oneof(
  { weight: 5, arbitrary: fc.record({ what: fc.constant('minutes' as const), count: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 9, arbitrary: fc.record({ what: fc.constant('wake' as const), id, cause: fc.constantFrom(KEY, STEVE) }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('players' as const), id, online: fc.nat({ max: 1 }) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('stop' as const), id }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('cap' as const), micros: some, stops: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('topUp' as const), micros: some }) },
  fc.record({ what: fc.constant('crash' as const), id }),
  fc.record({ what: fc.constant('delete' as const), id }),
  fc.record({ what: fc.constant('restart' as const), awayMs: fc.integer({ min: 0, max: 400_000 }) }),
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('jump' as const),
      byMs: fc.constantFrom(HOUR_MS, -HOUR_MS, PERIOD_MS, PERIOD_MS),
    }),
  },
  fc.record({ what: fc.constant('ram' as const), id, ramMb: fc.integer({ min: 256, max: 4_096 }) }),
);
type Happening = typeof Happening extends fc.Arbitrary<infer Value> ? Value : never;

test('a wallet falls at most one tick below zero, pays no flat period twice and never changes a closed entry', async (t) => {
  t.timeout(300_000);
  const property = fc.asyncProperty(
    fc.array(Happening, { minLength: 12, maxLength: 30 }),
    some,
    fc.integer({ min: 100_000, max: 2_000_000 }),
    async (happenings, opening, perGbHourMicros) => {
      const prices = { perGbHourMicros, perGbMonthMicros: MONTH };
      const it = await metered(t, { creditMicros: opening, prices });
      const holds = booksOf(it);
      for (const name of Object.keys(PLANS)) {
        await create(it, name);
        it.games.players.set(name, 1);
      }
      let given = opening;
      for (const [nth, happening] of happenings.entries()) {
        await happen(it, happening, nth);
        if (happening.what === 'topUp') given += happening.micros;
        await holds(given);
      }
      await it.restart();
      await stopsWhatIsUnpaid(it, prices);
      await holds(given);
      await it.meter.close();
      await it.servers.close();
    },
  );
  // The error message contains the seed and the smallest failing case.
  await t.notThrowsAsync(fc.assert(property, { numRuns: 40, endOnFailure: true, includeErrorInReport: true }));
});

const create = (it: Metered, name: string) => it.create(name, { plan: PLANS[name] ?? '', ramMb: 1_024 });

async function happen(it: Metered, happening: Happening, nth: number): Promise<void> {
  const state = 'id' in happening ? (await it.servers.get(happening.id))?.state : undefined;
  switch (happening.what) {
    case 'minutes':
      return it.minutes(happening.count);
    case 'restart':
      return it.restart(happening.awayMs);
    case 'jump':
      return it.setClock(happening.byMs);
    case 'players':
      return void it.games.players.set(happening.id, happening.online);
    case 'cap':
      return it.store.write((tx) => setSpendCap(tx, ACCOUNT, happening.micros, happening.stops ? 'stop' : 'notify'));
    case 'topUp': {
      const posting = { accountId: ACCOUNT, kind: 'topup', note: '', ref: `paid/${nth}`, at: it.clock.now() } as const;
      return void (await it.store.write((tx) => post(tx, { ...posting, amountMicros: happening.micros })));
    }
    case 'wake':
      if (state === undefined) await create(it, happening.id);
      if (state === undefined || state === 'hibernated' || state === 'start_failed')
        await it.wake(happening.id, happening.cause).catch(refused);
      return undefined;
    case 'stop':
      if (state === 'running') await it.command(happening.id, 'STOP');
      return settle(it, happening.id);
    case 'crash':
      if (state === 'running') it.engine.crash(happening.id, { code: 1 });
      return settle(it, happening.id);
    case 'delete':
      if (state === undefined) return undefined;
      await it.command(happening.id, 'DELETE');
      return void (await it.reach(happening.id, 'gone', 2 * HOUR_MS));
    case 'ram':
      if (state === 'hibernated') await it.servers.patchAtRest(happening.id, { ramMb: happening.ramMb });
  }
}

function refused(error: unknown): void {
  if (!(error instanceof StatusError) || !REFUSALS.has(error.reason)) throw error;
}

/** Waits until a server is neither starting nor stopping. */
async function settle(it: Metered, name: string): Promise<void> {
  const passing = async () => ['starting', 'stopping'].includes((await it.servers.get(name))?.state ?? '');
  for (const end = it.clock.now() + 2 * HOUR_MS; it.clock.now() < end; await it.clock.advance(250)) {
    await it.store.write(async () => {});
    if (!(await passing())) return;
  }
  assert.fail(`${name} does not settle`);
}

/** Returns a function that checks that the books are consistent and that closed entries never change. */
function booksOf(it: Metered): (given: number) => Promise<void> {
  const closed = new Map<number, LedgerRow>();
  return async (given) => {
    const { balanceMicros, entries, sessions } = await it.books();
    for (const session of sessions)
      assert.equal(session.amountMicros, chargeOf(session.ticks, session.rateMicros, session.ramMb));
    const flat = entries.filter(({ kind }) => kind === 'flat');
    const spent = sessions.reduce((sum, { amountMicros }) => sum + amountMicros, 0);
    assert.equal(balanceMicros, given - spent + sumOf(flat));
    assert.equal(balanceMicros, sumOf(entries));
    assert.ok(balanceMicros >= -largestTick(sessions), `${balanceMicros} micros`);
    const byId = new Map(entries.map((entry) => [entry.id, entry]));
    for (const [number, entry] of closed) assert.deepEqual(byId.get(number), entry);
    for (const entry of entries) if (entry.closedAt !== null) closed.set(entry.id, entry);
    periodsApart(flat);
  };
}

const sumOf = (entries: LedgerRow[]) => entries.reduce((sum, { amountMicros }) => sum + amountMicros, 0);

function largestTick(sessions: AwakeSessionRow[]): number {
  return Math.max(0, ...sessions.map(({ rateMicros, ramMb }) => tickCeilingMicros(rateMicros, ramMb)));
}

/** Asserts that paid periods of a server begin at least 30 days apart. Added RAM is paid within the same period. */
function periodsApart(flat: LedgerRow[]): void {
  const periods = new Map<string, Set<number>>();
  for (const { ref } of flat) {
    const [name, createdAt, periodAt] = ref.split('/');
    const server = `${name}/${createdAt}`;
    periods.set(server, (periods.get(server) ?? new Set()).add(Number(periodAt)));
  }
  for (const [server, begun] of periods) {
    const sorted = [...begun].toSorted((a, b) => a - b);
    for (const [nth, at] of sorted.entries())
      if (nth > 0) assert.ok(at - (sorted[nth - 1] ?? 0) >= PERIOD_MS, `${server} paid twice`);
  }
}

/** Asserts that a server whose account cannot pay is asleep three minutes later. */
async function stopsWhatIsUnpaid(it: Metered, prices: Prices): Promise<void> {
  const open = async () => {
    const { sessions, balanceMicros } = await it.books();
    return { balanceMicros, awake: sessions.filter(({ endedAt, readyAt }) => endedAt === null && readyAt !== null) };
  };
  const before = await open();
  await it.minutes(3);
  const after = await open();
  for (const session of after.awake.filter(({ id: ses }) => before.awake.some((each) => each.id === ses))) {
    const { serverId, accountId, ramMb, serverCreatedAt: createdAt } = session;
    if (session.plan === 'metered') assert.ok(before.balanceMicros > 0, `${serverId} runs on an empty wallet`);
    else if (session.billable === 1) {
      const due = await flatDue(it.store, { id: serverId, accountId, createdAt, ramMb }, prices, it.clock.now());
      assert.equal(due.amountMicros, 0, `${serverId} runs unpaid`);
    }
  }
}
