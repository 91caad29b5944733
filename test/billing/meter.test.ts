import test from 'ava';
import { post } from '../../src/billing/ledger.ts';
import { chargeOf } from '../../src/billing/prices.ts';
import { listUnbalanced } from '../../src/billing/wallet-rows.ts';
import type { AuditRow } from '../../src/audit/audit.ts';
import { isThorough } from '../support/needs.ts';
import { random } from '../support/random.ts';
import { ACCOUNT, type Metered, metered } from './metered.ts';
import { CREDIT, awake, cost, topUp } from './meter-parts.ts';

test('a server that is created and never started costs nothing', async (t) => {
  const it = await metered(t);
  await it.create('abc');
  await it.minutes(60);
  t.deepEqual(await it.sessions(), []);
  t.deepEqual(
    (await it.ledger()).map(({ kind }) => kind),
    ['credit'],
  );
  t.is(await it.balance(), CREDIT);
});

test('minutes without an answer from a game are free, whether it recovers or is stopped as hung', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.minutes(3);
  t.is(await it.balance(), CREDIT - cost(3));
  it.games.silent.add('abc');
  await it.minutes(2);
  it.games.silent.delete('abc');
  await it.minutes(3);
  const [session] = await it.sessions();
  const paidMs = (session?.awakeMs ?? 0) / 60_000;
  t.true(paidMs > 5.5 && paidMs < 7, `${paidMs} of 8 minutes`);
  it.games.silent.add('abc');
  await it.minutes(6);
  const [first] = await it.sessions();
  t.is(first?.ending, 'hung');
  t.true((first?.awakeMs ?? 0) / 60_000 < paidMs + 0.6, 'the minutes without an answer are free');
  const audit = await it.store.query<AuditRow>('SELECT * FROM "audit"', []);
  t.true(audit.some(({ action, detail }) => action === 'usage.writeOff' && detail.includes('did not respond')));
});

test('a hanging console does not delay the stop of a server with an empty wallet', async (t) => {
  const it = await metered(t, { creditMicros: cost(3) });
  t.timeout(60_000);
  await awake(it);
  const answer = it.games.run.bind(it.games);
  let warned = 0;
  it.games.run = (address, password, command) => {
    if (!command.startsWith('say ')) return answer(address, password, command);
    warned += 1;
    return new Promise(() => {});
  };
  await it.minutes(5);
  t.is(warned, 1);
  t.is((await it.servers.get('abc'))?.state, 'hibernated');
});

test('a game that is silent when the service stops is not charged for the downtime', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.minutes(3);
  it.games.silent.add('abc');
  await it.minutes(2);
  const [seen] = await it.sessions();
  await it.restart(600_000);
  const [after] = await it.sessions();
  t.is(after?.endedAt, null);
  t.is(after?.awakeMs, seen?.awakeMs);
});

test('old ticks are purged even while the reconciliation of wallets fails', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.minutes(3);
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated');
  const query = it.store.query.bind(it.store);
  t.teardown(() => (it.store.query = query));
  it.store.query = (sql, values) =>
    sql.includes('"ledgerMicros"') ? Promise.reject(new Error('statement timeout')) : query(sql, values);
  const ticks = async () => (await query('SELECT "n" FROM "ticks"')).length;
  t.true((await ticks()) > 0);
  await it.restartMeter(2 * 24 * 3_600_000);
  await it.until(async () => (await ticks()) === 0);
  t.pass();
});

test('each minute is charged once across restarts and clock changes', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.minutes(3);
  t.is(await it.balance(), CREDIT - cost(3));
  await Promise.all([it.meter.round(), it.meter.round()]);
  t.is(await it.balance(), CREDIT - cost(3), 'after two concurrent rounds');
  await it.restartMeter();
  t.is(await it.balance(), CREDIT - cost(3), 'after a restart');
  for (const jump of [3_600_000, -7_200_000]) {
    await it.setClock(jump);
    await it.meter.round();
    t.is(await it.balance(), CREDIT - cost(3), `after a clock change of ${jump} ms`);
    await it.restartMeter();
    t.is(await it.balance(), CREDIT - cost(3), `after a clock change of ${jump} ms and a restart`);
  }
  await it.minutes(2);
  t.is(await it.balance(), CREDIT - cost(5));
  t.deepEqual(await listUnbalanced(it.store), []);
});

test('the backlog of a long outage is charged in several short writes, each minute once', async (t) => {
  const it = await metered(t, { atOnceMs: 0 });
  await awake(it);
  await it.minutes(3);
  await it.meter.round();
  const { store } = it;
  const write = store.write.bind(store);
  const between: number[] = [];
  t.teardown(() => (store.write = write));
  // Record the balance after every write, to see how much each write charges.
  store.write = async (work) => {
    const result = await write(work);
    between.push(await it.balance());
    return result;
  };
  await it.restartMeter(120 * 60_000);
  t.is(await it.balance(), CREDIT - cost(123));
  const steps = between.map((balance, n) => (between[n - 1] ?? balance) - balance);
  t.true(Math.max(...steps) < cost(2), `one write charged ${Math.max(...steps)}`);
  t.deepEqual(await listUnbalanced(store), []);
});

for (const boot of ['this boot', '']) {
  test(`setting the clock back twice loses no minute, with and without restarts (${boot || 'a boot without a name'})`, async (t) => {
    const it = await metered(t, { boot });
    await awake(it);
    let minutes = 2;
    await it.minutes(minutes);
    for (const restart of [false, true, true]) {
      for (const step of [-3_600_000, -7_200_000]) {
        await it.setClock(step);
        if (restart) await it.restart();
        it.games.players.set('abc', 1);
        await it.minutes(5);
        t.is(CREDIT - (await it.balance()), cost((minutes += 5)), `${step}, ${restart}`);
      }
    }
    t.is((await it.sessions()).length, 1);
    t.deepEqual(await writtenOff(it), []);
    t.deepEqual(await listUnbalanced(it.store), []);
  });
}

test('an hour that the clock was set ahead is not charged when another machine takes over', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.minutes(3);
  await it.setClock(3_600_000);
  await it.minutes(2);
  await it.restartMeter(60_000, 'another machine');
  await it.minutes(2);
  t.is(CREDIT - (await it.balance()), cost(8));
  await it.setClock(-3_600_000);
  await it.minutes(1);
  await it.restartMeter(60_000, 'a third one');
  await it.minutes(2);
  const charged = CREDIT - (await it.balance());
  t.true(charged >= cost(11) && charged <= cost(12), `${charged} for 12 minutes, one of them between two machines`);
});

for (const seed of isThorough ? [1, 2, 7, 8] : [8]) {
  test(`sessions match the real running time under random backward clock changes (seed ${seed})`, async (t) => {
    const it = await metered(t);
    await awake(it);
    const did: string[] = [];
    const dice = random(seed);
    const acts: Record<string, () => Promise<unknown>> = {
      minutes: () => it.minutes(1 + Math.floor(dice() * 5)),
      back: () => it.setClock(-Math.floor(dice() * 7_200_000)),
      restart: () => it.restart(),
      meter: () => it.restartMeter(),
      async again() {
        await it.command('abc', 'STOP');
        await it.reach('abc', 'hibernated');
        await it.wake('abc');
      },
      async crash() {
        await it.minutes(30);
        await it.minutes(31);
        await it.restarts('abc', () => it.engine.crash('abc'));
      },
    };
    for (let nth = 0; nth < 14; nth++) {
      const name = Object.keys(acts)[Math.floor(dice() * 6)] ?? '';
      did.push(name);
      await acts[name]?.();
      it.games.players.set('abc', 1);
      await it.meter.round();
      const proven = (await it.sessions()).reduce((sum, { awakeMs }) => sum + awakeMs, 0);
      t.true(Math.abs(proven - it.awakeMs()) < 70_000, `${proven}, not ${it.awakeMs()}, after ${did.join(', ')}`);
    }
    t.deepEqual(await listUnbalanced(it.store), []);
  });
}

test('usage, ledger and wallet count only full minutes', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.clock.advance(10_000);
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated');
  t.is(await it.balance(), CREDIT);
  await it.wake('abc');
  await it.minutes(1);
  await it.clock.advance(65_000);
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated');
  const [first, second] = await it.sessions();
  t.like(first, { ticks: 0, amountMicros: 0, ending: 'stopped' });
  t.like(second, { ticks: 2, amountMicros: cost(2), ending: 'stopped' });
  const [usage, credit, ...rest] = await it.ledger();
  t.deepEqual(rest, []);
  t.like(credit, { kind: 'credit', amountMicros: CREDIT });
  t.like(usage, { kind: 'usage', serverId: 'abc', amountMicros: -cost(2) });
  t.not(usage?.closedAt, null);
  t.is(await it.balance(), CREDIT - cost(2));
});

test('the wallet equals the sum of the ledger after every minute, and a usage entry closes after an hour', async (t) => {
  const it = await metered(t);
  await awake(it, 'abc', { ramMb: 1_536 });
  for (let minute = 1; minute <= 62; minute++) {
    await it.minutes(1);
    const entries = await it.ledger();
    const sum = entries.reduce((total, { amountMicros }) => total + amountMicros, 0);
    t.is(await it.balance(), sum);
    t.is(sum, CREDIT - cost(minute, 1_536));
  }
  const [second, first] = await it.ledger();
  t.like(first, { amountMicros: -cost(60, 1_536) });
  t.true(first !== undefined && first.closedAt !== null);
  t.like(second, { closedAt: null });
  await t.throwsAsync(() => topUp(it, Number.MAX_SAFE_INTEGER), { instanceOf: RangeError });
  await t.throwsAsync(() => topUp(it, 2 ** 53 + 2), { instanceOf: RangeError });
  t.deepEqual(await listUnbalanced(it.store), []);
});

test('the highest price and the largest server are charged exactly, on both plans', async (t) => {
  const [highest, largest] = [500_000_000_000, 16_777_216];
  const prices = { perGbHourMicros: highest, perGbMonthMicros: highest };
  const it = await metered(t, { creditMicros: Number.MAX_SAFE_INTEGER, prices });
  await it.create('flat', { ramMb: largest, plan: 'flat' });
  await it.wake('flat');
  t.is(await it.balance(), Number.MAX_SAFE_INTEGER - (highest * largest) / 1_024);
  await it.create('abc', { ramMb: largest - 1 });
  await it.wake('abc');
  await it.minutes(3);
  t.is(
    (await it.sessions()).find(({ serverId }) => serverId === 'abc')?.amountMicros,
    chargeOf(3, highest, largest - 1),
  );
  t.deepEqual(await listUnbalanced(it.store), []);
});

test('a payment reported repeatedly or concurrently is credited once', async (t) => {
  const it = await metered(t);
  const told = () =>
    it.store.write((tx) =>
      post(tx, { accountId: ACCOUNT, kind: 'topup', amountMicros: 7, note: '', ref: 'evt_1', at: it.clock.now() }),
    );
  t.deepEqual((await Promise.all([told(), told(), told()])).toSorted(), [false, false, true]);
  t.false(await told());
  t.is(await it.balance(), CREDIT + 7);
});

/** The audit entries about minutes that were not charged. */
async function writtenOff({ store }: Metered): Promise<string[][]> {
  const rows = await store.query<AuditRow>(`SELECT * FROM "audit" WHERE "action" = 'usage.writeOff' ORDER BY "id"`);
  return rows.map((row) => [row.serverId, `${row.through}; ${row.detail}`]);
}
