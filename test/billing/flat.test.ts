import test, { type ExecutionContext } from 'ava';
import { lastFlatEntry } from '../../src/billing/ledger-rows.ts';
import { post } from '../../src/billing/ledger.ts';
import { PERIOD_MS, hourlyMicros } from '../../src/billing/prices.ts';
import { listAwakeSessions } from '../../src/billing/awake-session-rows.ts';
import { spendingOf } from '../../src/billing/spend-cap.ts';
import { listUnbalanced, type SpendCapAction, setSpendCap } from '../../src/billing/wallet-rows.ts';
import type { StatusError } from '../../src/kernel/status.ts';
import { listAccountAudit } from '../../src/audit/audit.ts';
import { KEY, STEVE } from '../support/world.ts';
import { ACCOUNT, type Metered, PRICES, metered } from './metered.ts';

/** The price of a server with 1 GB for 30 days. */
const MONTH = PRICES.perGbMonthMicros;
const FLAT = { plan: 'flat', ramMb: 1_024 };

/** A running flat server with one player online. */
async function awake(t: ExecutionContext, creditMicros: number): Promise<Metered> {
  const it = await metered(t, { creditMicros });
  await it.create('abc', FLAT);
  await it.wake('abc');
  it.games.players.set('abc', 1);
  t.is(await it.balance(), creditMicros - MONTH);
  return it;
}

let moved = 0;
function move(it: Metered, amountMicros: number): Promise<boolean> {
  const posting = { accountId: ACCOUNT, kind: 'adjustment', note: '', at: it.clock.now() } as const;
  return it.store.write((tx) => post(tx, { ...posting, amountMicros, ref: `moved/${moved++}` }));
}

const cap = (it: Metered, micros: number, action: SpendCapAction) =>
  it.store.write((tx) => setSpendCap(tx, ACCOUNT, micros, action));
const periods = async (it: Metered) => (await it.ledger()).filter(({ kind }) => kind === 'flat').length;
const warnings = (it: Metered) => it.games.commands.filter((command) => command.startsWith('abc: say '));
const state = async (it: Metered) => (await it.servers.get('abc'))?.state;

test('a flat server pays for 30 days once, at its first start, and extra for more RAM', async (t) => {
  const credit = 5_000_000;
  const it = await metered(t);
  await it.create('abc', FLAT);
  await it.minutes(1);
  t.is(await it.balance(), credit);
  for (let start = 0; start < 2; start++) {
    await it.wake('abc');
    await it.minutes(2);
    await it.command('abc', 'STOP');
    await it.reach('abc', 'hibernated');
    t.is(await it.balance(), credit - MONTH);
  }
  await it.servers.patch('abc', { ramMb: 4_096 });
  await t.throwsAsync(() => it.command('abc', 'START'), { message: /wallet/ });
  await it.servers.patch('abc', { ramMb: 1_536 });
  await it.wake('abc');
  const after = await it.balance();
  t.true(after < credit - 4_400_000 && after >= credit - 4_500_000, String(after));
  t.deepEqual(await listUnbalanced(it.store), []);
});

test('a clock set back before the creation of a flat server charges its month once and hides no session', async (t) => {
  const it = await metered(t);
  const { row } = await it.create('abc', FLAT);
  await it.setClock(-7_200_000);
  for (let start = 0; start < 3; start++) {
    await it.wake('abc');
    await it.command('abc', 'STOP');
    await it.reach('abc', 'hibernated');
    t.is(await it.balance(), 5_000_000 - MONTH);
  }
  const span = { from: 0, to: it.clock.now() + 1, limit: 10 };
  t.is((await listAwakeSessions(it.store, row, span)).length, 3);
  const reborn = { ...row, createdAt: it.clock.now() };
  t.deepEqual(await listAwakeSessions(it.store, reborn, span), [], 'a later server of the same name has no sessions');
  t.is(await lastFlatEntry(it.store, reborn), undefined);
});

test('a flat server that never sleeps is charged for its next period once, within a minute', async (t) => {
  const it = await awake(t, 3 * MONTH);
  await it.restart(PERIOD_MS - 180_000);
  await it.minutes(1);
  t.is(await periods(it), 1);
  await it.minutes(4);
  t.is(await periods(it), 2);
  await it.restart();
  await it.minutes(2);
  t.is(await it.balance(), MONTH);
  t.deepEqual(await listUnbalanced(it.store), []);
});

test('a flat server that cannot pay its next period is warned, saved and stopped without a charge', async (t) => {
  const it = await awake(t, 2 * MONTH - 1);
  await it.restart(PERIOD_MS);
  await it.until(() => warnings(it).length === 1);
  t.is(await state(it), 'running');
  await it.minutes(1);
  await it.reach('abc', 'hibernated');
  t.true(it.games.commands.includes('abc: save-all flush'));
  t.is((await it.sessions()).at(-1)?.ending, 'funds');
  t.is(await it.balance(), MONTH - 1);
  for (const type of ['START', 'JOIN'] as const) {
    await t.throwsAsync(() => it.command('abc', type, type === 'JOIN' ? STEVE : KEY), { message: /wallet/ });
  }
});

test('a top-up within the grace period pays the period that has begun, and the flat server keeps running', async (t) => {
  const it = await awake(t, MONTH);
  await it.restart(PERIOD_MS);
  await it.until(() => warnings(it).length === 1);
  await it.clock.advance(30_000);
  await move(it, MONTH);
  await it.minutes(3);
  t.is(await state(it), 'running');
  t.is(await periods(it), 2);
  t.is(await it.balance(), 0);
});

test('a flat server stopped by its owner within the grace period is not charged after a top-up', async (t) => {
  const it = await awake(t, MONTH);
  await it.restart(PERIOD_MS);
  await it.until(() => warnings(it).length === 1);
  await it.command('abc', 'STOP');
  await move(it, MONTH);
  await it.minutes(3);
  t.is(await state(it), 'hibernated');
  t.is(await it.balance(), MONTH);
});

test('a paid flat server keeps running, and can start, with an empty wallet', async (t) => {
  const it = await awake(t, MONTH);
  await it.minutes(3);
  t.is(await state(it), 'running');
  t.deepEqual(warnings(it), []);
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated');
  await it.wake('abc');
  t.is(await it.balance(), 0);
});

test('an empty wallet stops the metered server, but not the paid flat one', async (t) => {
  const it = await awake(t, MONTH + 100);
  await it.create('minutes', { ramMb: 512 });
  await it.wake('minutes');
  it.games.players.set('minutes', 1);
  await it.minutes(2);
  t.true((await it.balance()) <= 0);
  await it.minutes(1);
  await it.reach('minutes', 'hibernated');
  t.is(await state(it), 'running');
  t.deepEqual(warnings(it), []);
});

test('a spend cap with stop refuses a flat start that would exceed it', async (t) => {
  const it = await metered(t, { creditMicros: 10 * MONTH });
  await it.create('abc', FLAT);
  await cap(it, MONTH - 1, 'stop');
  await t.throwsAsync(() => it.command('abc', 'START'), { message: /spend cap/ });
  await cap(it, 2 * MONTH - 1, 'stop');
  await it.create('second', FLAT);
  const starts = await Promise.allSettled(['abc', 'second'].map((id) => it.command(id, 'START')));
  t.deepEqual(starts.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'], 'only one starts');
});

test('a spend cap with stop warns and stops a flat server before a period that would exceed it', async (t) => {
  const it = await awake(t, 10 * MONTH);
  await cap(it, MONTH - 1, 'stop');
  await it.minutes(2);
  t.deepEqual(warnings(it), [], 'the cap ignores a paid period');
  await it.restart(PERIOD_MS);
  await it.until(() => warnings(it).length === 1);
  await it.minutes(1);
  await it.reach('abc', 'hibernated');
  t.is((await it.sessions()).at(-1)?.ending, 'spend_cap');
  t.is(await it.balance(), 9 * MONTH);
  t.is(it.caps.length, 2, 'one notification in each month');
});

test('a spend cap with notify sends its notification even if only flat servers are awake', async (t) => {
  const it = await metered(t);
  await it.store.write((tx) => setSpendCap(tx, ACCOUNT, MONTH, 'notify'));
  await it.create('abc', FLAT);
  await it.wake('abc');
  it.games.players.set('abc', 1);
  await it.minutes(3);
  t.like(it.caps, { 0: { capMicros: MONTH, action: 'notify' }, length: 1 });
  const [told] = await listAccountAudit(it.store, ACCOUNT, { limit: 10 });
  t.is(told?.through, 'system');
  t.is(told?.detail, `${MONTH} of ${MONTH} micros spent in 2023-11; notify`);
  t.is(await state(it), 'running');
});

test('a false wake of a flat server is free, and its period begins when the player joins', async (t) => {
  const it = await metered(t);
  await it.create('abc', FLAT);
  await it.wake('abc', STEVE);
  await it.minutes(2);
  await it.reach('abc', 'hibernated');
  t.like(await it.sessions(), { 0: { ending: 'false_wake' }, length: 1 });
  t.is(await it.balance(), 5_000_000);
  await it.wake('abc', STEVE);
  await it.minutes(1);
  t.is(await periods(it), 0);
  it.games.players.set('abc', 1);
  await it.clock.advance(15_000);
  await it.store.write(async () => {});
  t.is(await it.balance(), 5_000_000 - MONTH);
  await it.minutes(5);
  t.is(await periods(it), 1);
});

test('a flat server that can no longer pay when its player joins is stopped without a charge', async (t) => {
  const it = await metered(t);
  await it.create('abc', FLAT);
  await it.wake('abc', STEVE);
  await move(it, -4_000_000);
  it.games.players.set('abc', 1);
  await it.minutes(1);
  await it.until(() => warnings(it).length === 1);
  await it.minutes(1);
  await it.reach('abc', 'hibernated');
  t.is((await it.sessions())[0]?.ending, 'funds');
  t.is(await it.balance(), 1_000_000);
});

test('a wallet that covers one period admits one flat start, even before the first charge is stored', async (t) => {
  const it = await metered(t, { creditMicros: 2 * MONTH - 1 });
  for (const id of ['abc', 'second']) await it.create(id, FLAT);
  await it.command('abc', 'START');
  await t.throwsAsync(() => it.command('second', 'START'), { message: /wallet/ }, 'while abc starts');
  await it.until(async () => (await it.engine.inspect('abc'))?.up === true);
  const disk = Promise.withResolvers<void>();
  const held = it.store.write(() => disk.promise);
  const runs = () => it.servers.live().some(({ row, state: now }) => row.id === 'abc' && now === 'running');
  for (let step = 0; step < 100 && !runs(); step++) await it.clock.advance(250);
  t.true(runs());
  t.is(await periods(it), 0);
  const second = it.command('second', 'START').then(
    () => 'admitted',
    ({ reason }: StatusError) => reason,
  );
  const ended = { yet: false };
  void second.then(() => (ended.yet = true));
  const starts = () => it.servers.live().some(({ row, state: now }) => row.id === 'second' && now === 'starting');
  await it.until(() => ended.yet || starts());
  disk.resolve();
  t.is(await second, 'INSUFFICIENT_FUNDS', 'while abc runs');
  await held;
  await it.reach('abc', 'running');
  t.is(await it.balance(), MONTH - 1);
});

test('funds for a starting flat server are reserved against a metered start, and a paid one reserves no funds', async (t) => {
  const it = await metered(t, { creditMicros: MONTH });
  await it.create('abc', FLAT);
  await it.create('minutes', { ramMb: 512 });
  await it.command('abc', 'START');
  await t.throwsAsync(() => it.command('minutes', 'START'), { message: /wallet/ });
  await it.until(async () => (await it.engine.inspect('abc'))?.up === true);
  await it.reach('abc', 'running');
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated');
  await move(it, 200);
  await it.command('abc', 'START');
  await t.notThrowsAsync(() => it.command('minutes', 'START'));
});

test('burn rate and runway include metered, paid flat and unpaid flat servers', async (t) => {
  const DAY = 1_440;
  const it = await awake(t, MONTH + 2_400_000);
  const spending = () => {
    const [live, at] = [it.servers.live(), it.clock.now()];
    return spendingOf(it.store, { accountId: ACCOUNT, live, prices: PRICES, at });
  };
  const share = Math.ceil(MONTH / 720);
  const readyAt = (await it.sessions())[0]?.readyAt ?? 0;
  const untilRenewal = () => Math.floor((readyAt + PERIOD_MS - it.clock.now()) / 60_000);
  t.like(await spending(), { burnMicrosPerHour: share, runwayMinutes: untilRenewal(), spentMicros: MONTH });
  await move(it, 600_000);
  t.is((await spending()).runwayMinutes, untilRenewal() + 30 * DAY, 'the balance covers one more period');

  await it.create('minutes', { ramMb: 1_024 });
  await it.wake('minutes');
  const hourly = hourlyMicros(PRICES.perGbHourMicros, 1_024);
  t.like(await spending(), { burnMicrosPerHour: share + hourly, runwayMinutes: 300 * 60 });
  await move(it, 10 * MONTH);
  const balance = await it.balance();
  const days = Math.floor(balance / (24 * hourly));
  const { runwayMinutes } = await spending();
  t.true(runwayMinutes > 30 * DAY && runwayMinutes < days * DAY, `${runwayMinutes} of ${days} days`);

  // Its waking player has not joined yet. The estimate counts its period from now.
  await it.create('visited', FLAT);
  await it.wake('visited', STEVE);
  t.is(await it.balance(), balance);
  t.is((await spending()).burnMicrosPerHour, Math.ceil((2 * MONTH) / 720) + hourly);
  t.true((await spending()).runwayMinutes < runwayMinutes);
  await move(it, -balance + MONTH - 1);
  t.is((await spending()).runwayMinutes, 0);
});
