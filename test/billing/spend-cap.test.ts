import test from 'ava';
import { type SpendCapAction, setSpendCap } from '../../src/billing/wallet-rows.ts';
import { Routing } from '../../src/joining/routing.ts';
import { createLog } from '../../src/kernel/log.ts';
import { listAccountAudit } from '../../src/audit/audit.ts';
import { insertUser } from '../../src/accounts/rows.ts';
import { OPEN_POLICY } from '../support/join-policy.ts';
import { KEY, STEVE } from '../support/world.ts';
import { ACCOUNT, type Metered, metered } from './metered.ts';
import { CREDIT, awake, cost, topUp } from './meter-parts.ts';

test('an empty wallet warns in chat, then saves and stops the server after a minute, at most one tick below zero', async (t) => {
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

test('an empty wallet stops no server at a price of 0, on either plan', async (t) => {
  const it = await metered(t, { creditMicros: 0, prices: { perGbHourMicros: 0, perGbMonthMicros: 0 } });
  await awake(it, 'abc');
  await awake(it, 'flat', { plan: 'flat' });
  await it.minutes(3);
  for (const id of ['abc', 'flat']) t.is((await it.servers.get(id))?.state, 'running');
  t.deepEqual(await it.ledger(), []);
});

test('a top-up unblocks servers at once, even during the grace minute, and later minutes are charged', async (t) => {
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

test('a nearly empty wallet allows only as many simultaneous starts as it can pay for', async (t) => {
  const it = await metered(t, { creditMicros: 250 });
  const ids = Array.from({ length: 12 }, (_, index) => `s${index}`);
  for (const id of ids) await it.create(id);
  const outcomes = await Promise.allSettled(ids.map((id) => it.command(id, 'START')));
  t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, Math.floor(250 / (cost(1) + 1)));
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') t.like(outcome.reason, { reason: 'INSUFFICIENT_FUNDS' });
  }
});

test('a player who joins a server without credit sees a friendly message that does not mention the wallet', async (t) => {
  const it = await metered(t, { creditMicros: 0 });
  await it.create('abc');
  const log = createLog({ level: 'silent' });
  const { servers, clock } = it;
  const routing = new Routing({
    joinPolicy: OPEN_POLICY,
    servers,
    clock,
    log,
    publicHost: 'play.example',
    sleepers: [],
  });
  t.teardown(() => routing.close());
  const player = { name: 'Steve', uuid: null, ip: '127.0.0.1', protocol: 769 };
  const refused = await t.throwsAsync(() => routing.wake('abc', player, AbortSignal.timeout(60_000)));
  t.is(refused?.message, 'This server is out of credit. Ask its owner.');
  t.deepEqual(it.engine.boots, []);
  await topUp(it, CREDIT);
  const woken = routing.wake('abc', player, AbortSignal.timeout(60_000));
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
  (await listAccountAudit(it.store, ACCOUNT, { limit: 10 })).filter(
    ({ action }) => action === 'account.spendCapReached',
  ).length;

test('a spend cap set to notify sends one e-mail a month and keeps servers running', async (t) => {
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

test('a spend cap set to stop warns, stops the server after a minute, and refuses starts until it is raised', async (t) => {
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

test('a spend cap set to stop is exceeded by at most one tick, and players are warned a minute before the stop', async (t) => {
  const it = await metered(t);
  await capped(it, cost(2) - 1, 'stop');
  await awake(it);
  await it.minutes(1);
  const said = () => it.games.commands.some((command) => command.startsWith('abc: say This server has reached'));
  t.false(said());
  await it.minutes(1);
  t.true(said());
  await it.clock.advance(59_000);
  t.is((await it.servers.get('abc'))?.state, 'running');
  await it.reach('abc', 'hibernated');
  await it.minutes(2);
  t.is(await it.balance(), CREDIT - cost(2));
});
