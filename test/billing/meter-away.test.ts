import test from 'ava';
import { requireTimely } from '../../src/billing/meter.ts';
import { listUnbalanced } from '../../src/billing/wallet-rows.ts';
import type { AuditRow } from '../../src/audit/audit.ts';
import { type Metered, metered } from './metered.ts';
import { CREDIT, RAM, awake, cost } from './meter-parts.ts';

/** The audit entries about minutes that were not charged. */
async function writtenOff({ store }: Metered): Promise<string[][]> {
  const rows = await store.query<AuditRow>(`SELECT * FROM "audit" WHERE "action" = 'usage.writeOff' ORDER BY "id"`);
  return rows.map((row) => [row.serverId, `${row.through}; ${row.detail}`]);
}

test('downtime of the meter is charged only for the time that a game is known to have run', async (t) => {
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
  t.deepEqual(await writtenOff(it), [
    ['anew', 'system; 20 minutes without proof that the game was running; not charged'],
  ]);
});

test('a meter that hangs or keeps failing is late after three minutes, until it charges again', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.minutes(2);
  t.notThrows(() => requireTimely(it.meter.ageMs()));
  const list = it.engine.list.bind(it.engine);
  const hung = Promise.withResolvers<void>();
  it.engine.list = () => hung.promise.then(list);
  await it.clock.advance(175_000);
  t.notThrows(() => requireTimely(it.meter.ageMs()), 'two missed rounds are not late yet');
  await it.clock.advance(10_000);
  t.throws(() => requireTimely(it.meter.ageMs()), { message: /last minute was charged/ });
  hung.resolve();
  await it.meter.round();
  t.is(it.meter.ageMs(), 0);
  t.is(await it.balance(), CREDIT - cost(5), 'the missed minutes are charged');

  const { store } = it;
  const write = store.write.bind(store);
  store.write = () => Promise.reject(new Error('no space left'));
  await it.clock.advance(200_000);
  t.throws(() => requireTimely(it.meter.ageMs()), { message: /last minute was charged/ });
  store.write = write;
  await it.meter.round();
  t.notThrows(() => requireTimely(it.meter.ageMs()));
  await it.setClock(3_600_000);
  t.notThrows(() => requireTimely(it.meter.ageMs()), 'a clock change does not make the meter late');
});

test('minutes of an engine outage are charged in full, but only once the engine is back', async (t) => {
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

test('a stop during a long engine outage records the uncharged minutes in the audit log', async (t) => {
  const it = await metered(t);
  await awake(it);
  it.games.players.set('abc', 1);
  await it.minutes(1);
  it.engine.away();
  await it.minutes(20);
  await it.command('abc', 'STOP');
  t.is(await it.balance(), CREDIT - cost(1));
  t.deepEqual(await writtenOff(it), [
    ['abc', 'system; 20 minutes without proof that the game was running; not charged'],
  ]);
});

test('a stop during an engine outage is charged only up to the start of the outage', async (t) => {
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

test('a stop of a game that ended unnoticed is not charged for the time since its end', async (t) => {
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
  t.like((await it.sessions())[1], { ticks: 1 }, 'the next session is charged from its beginning');
});

test('a crash ends the session at the time of the crash, and the next start opens a new session', async (t) => {
  const it = await metered(t);
  await awake(it);
  await it.minutes(2);
  await it.clock.advance(59_000);
  await it.restarts('abc', () => it.engine.crash('abc', { code: 1 }));
  const [first, second] = await it.sessions();
  t.like(first, { ticks: 2, ending: 'crashed' });
  t.like(second, { endedAt: null });
});
