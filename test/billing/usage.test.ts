import test from 'ava';
import { usageIn } from '../../src/billing/usage-api.ts';
import { ledger } from '../../src/billing/ledger-rows.ts';
import { PERIOD_MS, chargeOf } from '../../src/billing/prices.ts';
import { awakeSessions } from '../../src/billing/awake-session-rows.ts';
import { postgresUrl } from '../store/postgres.ts';
import { freshStore, awakeSessionRow } from '../support/store.ts';
import { isHere } from '../support/needs.ts';
import { ACCOUNT, type Metered, PRICES, metered } from './metered.ts';

const MINUTE_MS = 60_000;

async function sleep(it: Metered, id: string): Promise<void> {
  await it.command(id, 'STOP');
  await it.reach(id, 'hibernated');
}

/** Sums a server's usage over consecutive spans. Returns the sum and the same figures from ledger and sessions. */
async function compared(it: Metered, id: string, cuts: number[]) {
  const server = (await it.servers.get(id))!.row;
  const sum = { amountMicros: 0, gbHours: 0 };
  for (const [index, to] of cuts.entries()) {
    const from = cuts[index - 1] ?? 0;
    const part = await usageIn(it.store, server, { from, to }, it.clock.now());
    sum.amountMicros += part.amountMicros;
    sum.gbHours += part.gbHours;
  }
  const { entries, sessions } = await it.books();
  const minutes = sessions
    .filter(({ serverId }) => serverId === id)
    .reduce((all, { plan, ticks, awakeMs }) => all + (plan === 'flat' ? Math.floor(awakeMs / MINUTE_MS) : ticks), 0);
  const charged = entries.filter(({ serverId }) => serverId === id).reduce((all, entry) => all - entry.amountMicros, 0);
  return { sum, charged, gbHours: (minutes * server.ramMb) / 61_440 };
}

test('usage of consecutive time spans adds up to the ledger on both plans, even if sessions cross their boundaries', async (t) => {
  t.timeout(300_000);
  const it = await metered(t, { creditMicros: 50_000_000 });
  const began = it.clock.now();
  await it.create('abc', { ramMb: 1_536 });
  await it.create('flat', { ramMb: 1_024, plan: 'flat' });
  for (const id of ['abc', 'flat']) {
    await it.wake(id);
    it.games.players.set(id, 1);
  }
  await it.minutes(125);
  await sleep(it, 'abc');
  await it.minutes(10);
  await it.wake('abc');
  await it.minutes(40);
  const end = it.clock.now() + 1;
  for (const step of [7, 31, 60, 1_000]) {
    const cuts: number[] = [];
    for (let at = began + step * MINUTE_MS; at < end; at += step * MINUTE_MS) cuts.push(at);
    for (const id of ['abc', 'flat']) {
      const { sum, charged, gbHours } = await compared(it, id, [...cuts, end]);
      t.true(charged > 0);
      t.is(sum.amountMicros, charged, `${id}, cut every ${step} minutes`);
      t.true(Math.abs(sum.gbHours - gbHours) < 1e-9, `${id}: ${sum.gbHours} GB-hours, not ${gbHours}`);
    }
  }
  // The entry of an hour that began before the span does not count in full.
  const abc = (await it.servers.get('abc'))!.row;
  const late = await usageIn(it.store, abc, { from: began + 90 * MINUTE_MS, to: began + 125 * MINUTE_MS }, end);
  t.is(late.amountMicros, chargeOf(125, PRICES.perGbHourMicros, 1_536) - chargeOf(120, PRICES.perGbHourMicros, 1_536));
  t.is(late.gbHours, (5 * 1_536) / 61_440);
  const flat = (await it.servers.get('flat'))!.row;
  const paid = await usageIn(it.store, flat, { from: began, to: end }, end);
  t.is(paid.amountMicros, PRICES.perGbMonthMicros);
  const later = { from: began + PERIOD_MS / 2, to: began + PERIOD_MS };
  t.deepEqual(await usageIn(it.store, flat, later, end), { gbHours: 0, amountMicros: 0 });
});

for (const dialect of ['sqlite', 'postgres'] as const) {
  test.runIf(dialect === 'sqlite' || isHere('postgres'))(
    `usage sums all sessions of a span and excludes those of an earlier server of the same name (${dialect})`,
    async (t) => {
      t.timeout(300_000);
      const url = dialect === 'postgres' ? await postgresUrl(t) : 'sqlite::memory:';
      const store = await freshStore(t, url);
      const server = { id: 'abc', accountId: ACCOUNT, createdAt: 1_000 };
      const at = 1_800_000_000_000;
      const count = 1_200;
      const session = (nth: number, serverCreatedAt: number) =>
        awakeSessionRow({
          id: `ses_${serverCreatedAt}x${nth}`,
          accountId: server.accountId,
          startedAt: at + nth,
          readyAt: at + nth,
          endedAt: at + nth + 1,
          ending: 'stopped',
          provenAt: at,
          awakeMs: 60_000,
          ticks: 1,
          amountMicros: 83,
          serverCreatedAt,
        });
      const sessions = Array.from({ length: count }, (_, nth) => session(nth, server.createdAt));
      sessions.push(session(count, server.createdAt - 1));
      const entries = sessions.map(({ id, accountId, startedAt }, index) => ({
        id: 100 + index,
        accountId,
        serverId: 'abc',
        kind: 'usage' as const,
        amountMicros: -83,
        note: '',
        ref: `${id}/0`,
        sessionId: id,
        sessionHour: 0,
        ts: startedAt,
        closedAt: startedAt,
      }));
      for (let from = 0; from < sessions.length; from += 400) {
        await store.write(async (tx) => {
          await tx.manager.insert(awakeSessions, sessions.slice(from, from + 400));
          await tx.manager.insert(ledger, entries.slice(from, from + 400));
        });
      }
      const flat = { ...session(9_999, server.createdAt), plan: 'flat' as const, awakeMs: 120_000, endedAt: null };
      const periods = [server.createdAt, server.createdAt - 1].map((birth, nth) => {
        const ref = `abc/${birth}/${at}/512`;
        const [id, ts] = [5_000 + nth, at];
        return {
          id,
          accountId: ACCOUNT,
          serverId: 'abc',
          kind: 'flat' as const,
          amountMicros: -7,
          note: '',
          ref,
          sessionId: '',
          sessionHour: 0,
          ts,
          closedAt: at,
        };
      });
      await store.write(async (tx) => {
        await tx.manager.insert(awakeSessions, flat);
        await tx.manager.insert(ledger, periods);
      });
      const all = await usageIn(store, server, { from: at, to: at + 20_000 }, at + 15_000);
      t.deepEqual(all, { amountMicros: 83 * count + 7, gbHours: (512 * (count + 2)) / 61_440 });
    },
  );
}
