import test from 'ava';
import { post } from '../../src/billing/ledger.ts';
import { requireTimely } from '../../src/billing/meter.ts';
import { chargeOf } from '../../src/billing/prices.ts';
import { listUnbalanced, type SpendCapAction, setSpendCap } from '../../src/billing/wallet-rows.ts';
import { createRouting } from '../../src/joining/routing.ts';
import { createLog } from '../../src/kernel/log.ts';
import { type AuditRow, listAccountAudit } from '../../src/people/audit/rows.ts';
import { insertUser } from '../../src/people/rows.ts';
import { OPEN_POLICY } from '../support/join-policy.ts';
import { random } from '../support/random.ts';
import { KEY, STEVE } from '../support/world.ts';
import { ACCOUNT, type Metered, PRICES, metered } from './metered.ts';

const RAM = 512;
const cost = (n: number, ramMb = RAM) => chargeOf(n, PRICES.perGbHourMicros, ramMb);
const CREDIT = 5_000_000;

async function awake(it: Metered, id = 'abc', fields = {}): Promise<void> {
  await it.create(id, fields);
  await it.wake(id);
  it.games.players.set(id, 1);
}

/** Top-ups of tests. */
let paid = 0;
function topUp(it: Metered, amountMicros: number): Promise<boolean> {
  const ref = `paid/${paid++}`;
  return it.store.write((tx) =>
    post(tx, { accountId: ACCOUNT, kind: 'topup', amountMicros, note: '', ref, at: it.clock.now() }),
  );
}

test('B-01: a server that is created and never started costs nothing', async (t) => {
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

test('minutes in which a game does not answer are free, whether it comes back or is ended for it', async (t) => {
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
  t.true((first?.awakeMs ?? 0) / 60_000 < paidMs + 0.6, 'the minutes of its hanging are free');
  const audit = await it.store.query<AuditRow>('SELECT * FROM "audit"', []);
  t.true(audit.some(({ action, detail }) => action === 'usage.writeOff' && detail.includes('did not answer')));
});

test('B-02: each minute is charged once, whatever restarts and however the clock is set', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.minutes(3);
  t.is(await it.balance(), CREDIT - cost(3));
  await Promise.all([it.meter.round(), it.meter.round()]);
  t.is(await it.balance(), CREDIT - cost(3), 'a round twice');
  await it.restartMeter();
  t.is(await it.balance(), CREDIT - cost(3), 'a restart');
  for (const jump of [3_600_000, -7_200_000]) {
    await it.setClock(jump);
    await it.meter.round();
    t.is(await it.balance(), CREDIT - cost(3), `the clock set by ${jump}`);
    await it.restartMeter();
    t.is(await it.balance(), CREDIT - cost(3), `and a restart`);
  }
  await it.minutes(2);
  t.is(await it.balance(), CREDIT - cost(5));
  t.deepEqual(await listUnbalanced(it.store), []);
});

for (const boot of ['this boot', '']) {
  test(`B-02: two steps of the clock backwards lose no minute, with restarts between them too (${boot || 'a boot without a name'})`, async (t) => {
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

for (const seed of [1, 2, 7, 8]) {
  test(`B-02: whatever happens while the clock is set back again and again, what ran is charged (seed ${seed})`, async (t) => {
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

test('B-03: only full minutes cost: the same in usage, ledger and wallet', async (t) => {
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

test('B-04: the wallet is the sum of the ledger at every moment, in entries of an hour that close', async (t) => {
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

test('the highest price and the largest server there can be are charged to the micro, on either plan', async (t) => {
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

test('B-05: an empty wallet warns in chat, waits a minute, saves and stops; no more than one tick below zero', async (t) => {
  const it = await metered(t, { creditMicros: cost(3) - 1 });
  await awake(it);
  it.games.players.set('abc', 3);
  await it.minutes(3);
  t.is(await it.balance(), -1);
  await it.until(() => it.games.commands.some((command) => command.startsWith('abc: say ')));
  t.is((await it.servers.get('abc'))?.state, 'running');
  await it.minutes(1);
  await it.reach('abc', 'hibernated');
  t.true(it.games.commands.includes('abc: save-all flush'));
  t.like((await it.sessions())[0], { ending: 'funds', ticks: 3 });
  t.is(await it.balance(), -1);
  for (const type of ['START', 'JOIN'] as const) {
    await t.throwsAsync(() => it.command('abc', type, type === 'JOIN' ? STEVE : KEY), {
      message: /wallet/,
    });
  }
});

test('at a price of 0 an empty wallet stops nobody, on either plan', async (t) => {
  const it = await metered(t, { creditMicros: 0, prices: { perGbHourMicros: 0, perGbMonthMicros: 0 } });
  await awake(it, 'abc');
  await awake(it, 'flat', { plan: 'flat' });
  await it.minutes(3);
  for (const id of ['abc', 'flat']) t.is((await it.servers.get(id))?.state, 'running');
  t.deepEqual(await it.ledger(), []);
});

test('B-06: a top-up unblocks at once, within the grace too, and what follows is charged', async (t) => {
  const it = await metered(t, { creditMicros: cost(2) });
  await awake(it);
  await it.minutes(2);
  t.is(await it.balance(), 0);
  await topUp(it, 1_000);
  await it.minutes(2);
  t.is((await it.servers.get('abc'))?.state, 'running');
  t.is(await it.balance(), cost(2) + 1_000 - cost(4));
  await it.minutes(12);
  await it.reach('abc', 'hibernated', 300_000);
  const before = await it.balance();
  t.true(before <= 0 && before > -cost(1), String(before));
  await t.throwsAsync(() => it.command('abc', 'START'), { message: /wallet/ });
  await topUp(it, CREDIT);
  await it.wake('abc');
  await it.minutes(1);
  t.is(await it.balance(), before + CREDIT - cost(1));
});

test('B-07: what is told twice, at once or late, is credited once', async (t) => {
  const it = await metered(t);
  const told = () =>
    it.store.write((tx) =>
      post(tx, { accountId: ACCOUNT, kind: 'topup', amountMicros: 7, note: '', ref: 'evt_1', at: it.clock.now() }),
    );
  t.deepEqual((await Promise.all([told(), told(), told()])).toSorted(), [false, false, true]);
  t.false(await told());
  t.is(await it.balance(), CREDIT + 7);
});

/** What the audit log says of time that nobody can prove. */
async function writtenOff({ store }: Metered): Promise<string[][]> {
  const rows = await store.query<AuditRow>(`SELECT * FROM "audit" WHERE "action" = 'usage.writeOff' ORDER BY "id"`);
  return rows.map(({ serverId, detail }) => [serverId, detail]);
}

test('B-09: minutes in which the meter was dead are charged for games that lasted, and for no others', async (t) => {
  const it = await metered(t);
  for (const id of ['lasted', 'ended', 'anew']) await awake(it, id);
  for (const id of ['lasted', 'ended', 'anew']) it.games.players.set(id, 1);
  await it.minutes(2);
  t.is(await it.balance(), CREDIT - 3 * cost(2));
  await it.meter.close();
  await it.servers.close();
  await it.clock.advance(300_000);
  it.engine.crash('ended', { code: 0 });
  it.engine.crash('anew', { code: 0 });
  await it.clock.advance(900_000);
  const spec = {
    core: 'sandbox',
    version: '1.21.4',
    ramMb: RAM,
    cpus: 1,
    ports: [],
    image: '',
    dataDir: it.dataDir,
    env: {},
  };
  await it.engine.boot({ ...spec, serverId: 'anew' }, new AbortController().signal);
  await it.restart();
  const sessions = await it.sessions();
  const ticks = Object.fromEntries(sessions.filter(({ ticks: n }) => n > 0).map((each) => [each.serverId, each.ticks]));
  t.deepEqual(ticks, { lasted: 22, ended: 7, anew: 2 });
  t.deepEqual(await listUnbalanced(it.store), []);
  t.deepEqual(await writtenOff(it), [['anew', 'system; 20 minutes in which nobody saw whether it ran; not charged']]);
});

test('B-09: a meter that hangs, or fails each time, is late after three minutes, and timely once it charges again', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.minutes(2);
  t.notThrows(() => requireTimely(it.meter));
  const list = it.engine.list.bind(it.engine);
  const hung = Promise.withResolvers<void>();
  it.engine.list = () => hung.promise.then(list);
  await it.clock.advance(175_000);
  t.notThrows(() => requireTimely(it.meter), 'two rounds are missing');
  await it.clock.advance(10_000);
  t.throws(() => requireTimely(it.meter), { message: /last minute was charged/ });
  hung.resolve();
  await it.meter.round();
  t.is(it.meter.ageMs(), 0);
  t.is(await it.balance(), CREDIT - cost(5), 'the minutes meanwhile are charged');

  const { store } = it;
  const write = store.write.bind(store);
  store.write = () => Promise.reject(new Error('no space left'));
  await it.clock.advance(200_000);
  t.throws(() => requireTimely(it.meter), { message: /last minute was charged/ });
  store.write = write;
  await it.meter.round();
  t.notThrows(() => requireTimely(it.meter));
  await it.setClock(3_600_000);
  t.notThrows(() => requireTimely(it.meter), 'somebody sets the clock');
});

test('B-09: while the engine is away nothing is charged, and all of it once it is back', async (t) => {
  const it = await metered(t);
  await awake(it);
  it.games.players.set('abc', 1);
  await it.minutes(1);
  it.engine.away();
  await it.minutes(20);
  t.is(await it.balance(), CREDIT - cost(1));
  it.engine.back();
  await it.minutes(1);
  t.is(await it.balance(), CREDIT - cost(22));
  t.deepEqual(await writtenOff(it), []);
});

test('B-09: a stop after the engine was away for long leaves a word of the minutes that are not charged', async (t) => {
  const it = await metered(t);
  await awake(it);
  it.games.players.set('abc', 1);
  await it.minutes(1);
  it.engine.away();
  await it.minutes(20);
  await it.command('abc', 'STOP');
  t.is(await it.balance(), CREDIT - cost(1));
  t.deepEqual(await writtenOff(it), [['abc', 'system; 20 minutes in which nobody saw whether it ran; not charged']]);
});

test('B-09: a stop while the engine is away is charged until it went, not for what nobody saw', async (t) => {
  const it = await metered(t);
  await it.clock.advance(30_000);
  await awake(it);
  await it.clock.advance(95_000);
  await it.meter.round();
  await it.clock.advance(5_000);
  it.engine.away();
  it.engine.crash('abc', { code: 0 });
  await it.clock.advance(35_000);
  await it.command('abc', 'STOP');
  t.like((await it.sessions())[0], { ticks: 1, ending: 'stopped' });
  const [session] = await it.sessions();
  t.true(session!.awakeMs >= 95_000 && session!.awakeMs <= 101_000, String(session!.awakeMs));
  it.engine.back();
  await it.reach('abc', 'hibernated');
  t.is(await it.balance(), CREDIT - cost(1));
});

test('B-09: a stop of a game that has ended without anybody telling is not charged for the time since', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.minutes(2);
  const inspect = it.engine.inspect.bind(it.engine);
  const asked = Promise.withResolvers<void>();
  it.engine.inspect = (id) => asked.promise.then(() => inspect(id));
  it.engine.crash('abc', { code: 0 });
  await it.minutes(3);
  await it.command('abc', 'STOP');
  t.like((await it.sessions())[0], { ticks: 2, ending: 'stopped' });
  asked.resolve();
  await it.reach('abc', 'hibernated');
  await it.wake('abc');
  await it.clock.advance(61_000);
  await it.command('abc', 'STOP');
  t.like((await it.sessions())[1], { ticks: 1 }, 'the next run is in sight from its beginning');
});

test('B-10: deleted just before a tick, all full minutes are settled and the ledger stays', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.clock.advance(50_000);
  await it.meter.round();
  await it.clock.advance(12_000);
  await it.command('abc', 'DELETE');
  await it.reach('abc', 'gone');
  t.like((await it.sessions())[0], { ticks: 1, ending: 'deleted' });
  t.is(await it.balance(), CREDIT - cost(1));
  t.like((await it.ledger())[0], { serverId: 'abc', amountMicros: -cost(1) });
});

test('B-11: failed starts, endless ones and false wakes are free, and shown as such', async (t) => {
  const it = await metered(t);
  await it.create('abc');
  it.engine.script('abc', { print: ['x'], exitCode: 1 });
  await it.command('abc', 'START');
  await it.reach('abc', 'start_failed');
  await it.create('slow');
  it.games.silent.add('slow');
  await it.command('slow', 'START');
  await it.minutes(11);
  await it.create('false');
  await it.wake('false', STEVE);
  await it.minutes(2);
  t.is(await it.balance(), CREDIT);
  await it.reach('false', 'hibernated', 300_000);
  const endings = Object.fromEntries((await it.sessions()).map((each) => [each.serverId, [each.ending, each.ticks]]));
  t.deepEqual(endings, { abc: ['start_failed', 0], slow: ['start_failed', 0], false: ['false_wake', 0] });
  t.is(await it.balance(), CREDIT);
  await it.wake('false', STEVE);
  await it.minutes(1);
  it.games.players.set('false', 1);
  await it.minutes(1);
  t.is(await it.balance(), CREDIT - cost(2), 'who came in after all pays from the first minute');
  t.is(JSON.parse((await it.sessions()).at(-1)?.cause ?? '').id, 'Steve');
});

test('B-11: a server whose owner wants it up is charged, though a stranger woke it', async (t) => {
  const it = await metered(t);
  await it.create('abc');
  await it.command('abc', 'JOIN', STEVE);
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  await it.minutes(5);
  t.is((await it.servers.get('abc'))?.state, 'running');
  t.is(await it.balance(), CREDIT - cost(5));
});

test('B-11: a wake of a game that does not say who is in it is charged from its first minute', async (t) => {
  const it = await metered(t);
  it.games.status = async () => Promise.reject(new Error('no answer'));
  await it.create('abc');
  await it.wake('abc', STEVE);
  await it.minutes(2);
  t.is(await it.balance(), CREDIT);
  await it.minutes(8);
  t.is((await it.servers.get('abc'))?.state, 'running');
  t.is(await it.balance(), CREDIT - cost(10));
});

test('B-11: a crash loop ends, and so does what it costs', async (t) => {
  const it = await metered(t);
  await it.create('abc');
  await it.wake('abc');
  for (let crashes = 0; crashes < 3; crashes++) {
    await it.minutes(5);
    const crash = () => it.engine.crash('abc', { code: 1 });
    if (crashes < 2) await it.restarts('abc', crash);
    else crash();
  }
  const now = await it.reach('abc', 'start_failed');
  t.is(now?.context.startFailure?.code, 'crash_loop');
  const balance = await it.balance();
  t.true(balance > CREDIT - cost(20));
  await it.minutes(120);
  t.is(await it.balance(), balance);
  t.is(it.engine.boots.length, 3);
});

test('B-11: a game that crashes before the player who woke it came in is a false wake: free, and not started again', async (t) => {
  const it = await metered(t);
  await it.create('abc');
  await it.wake('abc', STEVE);
  await it.minutes(2);
  it.engine.crash('abc', { code: 1 });
  await it.reach('abc', 'hibernated');
  await it.minutes(30);
  t.is(await it.balance(), CREDIT);
  t.is(it.engine.boots.length, 1);
  const [session, ...more] = await it.sessions();
  t.deepEqual([session?.ending, JSON.parse(session?.cause ?? '').id, more], ['crashed', 'Steve', []]);
});

test('B-12: of many wakes at once a nearly empty wallet lets in what it can pay for', async (t) => {
  const it = await metered(t, { creditMicros: 250 });
  const ids = Array.from({ length: 12 }, (_, index) => `s${index}`);
  for (const id of ids) await it.create(id);
  const outcomes = await Promise.allSettled(ids.map((id) => it.command(id, 'START')));
  t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, Math.floor(250 / (cost(1) + 1)));
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') t.like(outcome.reason, { reason: 'INSUFFICIENT_FUNDS' });
  }
});

test('B-13: a session is charged with the RAM and the price of its start', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.minutes(2);
  await it.servers.patch('abc', { ramMb: 4_096 });
  await it.minutes(1);
  t.is(await it.balance(), CREDIT - cost(3));
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated');
  await it.wake('abc');
  await it.minutes(1);
  t.is(await it.balance(), CREDIT - cost(3) - cost(1, 4_096));
});

test('B-13: RAM changed in the very turns of a start: session, game and row agree, and a failing change holds up nothing', async (t) => {
  const it = await metered(t);
  const outcomes = new Set<boolean>();
  // In the last two rounds one waits for the other, so that both ends of the race are seen however the others went.
  for (let round = 0; round < 26; round++) {
    const id = `race${round}`;
    await it.create(id);
    const turns = async (count: number) => {
      for (let turn = 0; turn < count; turn++) await new Promise((resolve) => void setImmediate(resolve));
    };
    const order = Promise.withResolvers<void>();
    const wait = (isLast: boolean, count: number) => (isLast ? order.promise : turns(count));
    const change = wait(round === 25, round % 2 ? round : 0)
      .then(() => it.servers.patchAtRest(id, { ramMb: 1_024 }))
      .finally(order.resolve);
    const start = wait(round === 24, round % 2 ? 0 : round)
      .then(() => it.command(id, 'START'))
      .finally(order.resolve);
    const [changed, started] = await Promise.allSettled([change, start]);
    t.is(started.status, 'fulfilled');
    await it.until(async () => (await it.engine.inspect(id))?.up === true);
    await it.reach(id, 'running');
    const ramMb = changed.status === 'fulfilled' ? 1_024 : RAM;
    outcomes.add(changed.status === 'fulfilled');
    if (changed.status === 'rejected') t.like(changed.reason, { reason: 'SERVER_NOT_STOPPED' });
    t.is((await it.servers.get(id))?.row.ramMb, ramMb);
    t.is((await it.engine.stats(id))?.memLimitMb, ramMb);
    t.is((await it.sessions()).find(({ serverId }) => serverId === id)?.ramMb, ramMb);
  }
  t.deepEqual(outcomes, new Set([true, false]));
  await it.create('failing');
  const fails = it.servers.patchAtRest('failing', { ramMb: 4_096 }, () => Promise.reject(new Error('no')));
  const [failed] = await Promise.allSettled([fails, it.wake('failing')]);
  t.is(failed.status, 'rejected');
  t.is((await it.engine.stats('failing'))?.memLimitMb, RAM);
  t.is((await it.servers.get('failing'))?.row.ramMb, RAM);
});

test('a crash ends the session at the instant of its end, and the next start is a session of its own', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.minutes(2);
  await it.clock.advance(59_000);
  await it.restarts('abc', () => it.engine.crash('abc', { code: 1 }));
  const [first, second] = await it.sessions();
  t.like(first, { ticks: 2, ending: 'crashed' });
  t.like(second, { endedAt: null });
});

test('who joins a server without money reads a kind sentence, and nothing of the wallet', async (t) => {
  const it = await metered(t, { creditMicros: 0 });
  await it.create('abc');
  const log = createLog({ level: 'silent' });
  const { servers, clock } = it;
  const routing = createRouting({
    joinPolicy: OPEN_POLICY,
    servers,
    clock,
    log,
    publicHost: 'play.example',
    sleepers: [],
  });
  t.teardown(() => routing.close());
  const player = { name: 'Steve', uuid: null, ip: '127.0.0.1', protocol: 769 };
  const refused = await t.throwsAsync(() => routing.wake('abc', player, AbortSignal.timeout(5_000)));
  t.is(refused?.message, 'This server has to rest: its owner has to top up first.');
  t.deepEqual(it.engine.boots, []);
  await topUp(it, CREDIT);
  const woken = routing.wake('abc', player, AbortSignal.timeout(30_000));
  await it.until(async () => (await it.engine.inspect('abc'))?.up === true);
  await it.reach('abc', 'running');
  t.is((await woken).host, 'abc.game');
});

async function capped(it: Metered, micros: number, action: SpendCapAction): Promise<void> {
  const at = it.clock.now();
  const owner = { id: 'usr_test', email: 'owner@example.com', accountId: ACCOUNT, emailVerified: true, createdAt: at };
  await it.store.write(async (tx) => {
    await insertUser(tx, { ...owner, passwordHash: '', operator: false });
    await setSpendCap(tx, ACCOUNT, micros, action);
  });
}

const said = async (it: Metered) =>
  (await listAccountAudit(it.store, ACCOUNT, 10)).filter(({ action }) => action === 'account.spendCapReached').length;

test('a spend cap with notify writes once a month, and lets everything run on', async (t) => {
  const it = await metered(t);
  await capped(it, cost(2), 'notify');
  await awake(it);
  await it.minutes(1);
  t.is(await said(it), 0);
  await it.minutes(5);
  t.is(await said(it), 1);
  t.like(it.letters, [{ to: 'owner@example.com' }]);
  t.like(it.caps, { 0: { accountId: ACCOUNT, capMicros: cost(2), action: 'notify' }, length: 1 });
  t.is((await it.servers.get('abc'))?.state, 'running');
  t.false(it.games.commands.some((command) => command.includes('say')));
  t.is(await it.balance(), CREDIT - cost(6));
});

test('a spend cap with stop warns, stops after a minute, and refuses starts until it is raised', async (t) => {
  const it = await metered(t);
  await capped(it, cost(2), 'stop');
  await awake(it);
  await it.minutes(2);
  t.true(it.games.commands.some((command) => command.startsWith('abc: say ')));
  t.is(await said(it), 1);
  await it.minutes(1);
  await it.reach('abc', 'hibernated');
  t.like((await it.sessions())[0], { ending: 'spend_cap' });
  await t.throwsAsync(() => it.command('abc', 'START'), { message: /spend cap/ });
  await it.store.write((tx) => setSpendCap(tx, ACCOUNT, CREDIT, 'stop'));
  await it.wake('abc');
  t.is((await it.servers.get('abc'))?.state, 'running');
});
