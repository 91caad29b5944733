import type { ExecutionContext } from 'ava';
import type { AwakeSessionRow } from '../../src/billing/awake-session-rows.ts';
import type { CheckoutRow } from '../../src/billing/checkout-rows.ts';
import type { LedgerRow } from '../../src/billing/ledger-rows.ts';
import { chargeOf } from '../../src/billing/prices.ts';
import { listUnbalanced } from '../../src/billing/wallet-rows.ts';
import type { Store } from '../../src/store/store.ts';
import type { Books } from './customers.ts';

/** The price in micros per GB and hour, and the longest delay of a recorded time, in ms. */
interface Terms {
  price: number;
  lateMs: number;
}

const MINUTE_MS = 60_000;

/** Checks that a database neither loses nor doubles the requests in the books. Returns the charged minutes. */
export async function examineBooks(t: ExecutionContext, store: Store, books: Books, terms: Terms): Promise<number> {
  t.deepEqual(await listUnbalanced(store), []);
  const entries = await store.query<LedgerRow>('SELECT * FROM "ledger" ORDER BY "id"');
  examineClosed(t, entries, books);
  await examineIncome(t, store, entries, books);
  await examineStates(t, store, books);
  return await examineSessions(t, store, entries, terms);
}

/** Asserts that the entries closed at the last check are unchanged. */
function examineClosed(t: ExecutionContext, entries: LedgerRow[], { closed }: Books): void {
  const present = new Map(entries.map((entry) => [entry.id, entry]));
  for (const [id, entry] of closed) t.deepEqual(present.get(id), entry, 'a closed entry never changes');
  for (const entry of entries) if (entry.closedAt !== null) closed.set(entry.id, entry);
}

/** Asserts that each acknowledged gift and payment is in the ledger once, and that no others are. */
async function examineIncome(t: ExecutionContext, store: Store, entries: LedgerRow[], books: Books): Promise<void> {
  const of = (kind: string) => entries.filter((entry) => entry.kind === kind);
  const given = new Map(of('credit').map(({ note, amountMicros }) => [note, amountMicros]));
  t.is(given.size, of('credit').length, 'no gift is credited twice');
  t.true(given.delete('Welcome'));
  for (const [ref, { micros, acknowledged }] of books.gifts) {
    t.is(given.get(ref) ?? (acknowledged ? 0 : micros), micros, ref);
    given.delete(ref);
  }
  t.deepEqual([...given], []);

  const paid = new Map(of('topup').map(({ ref, amountMicros }) => [ref, amountMicros]));
  const checkouts = await store.query<CheckoutRow>(`SELECT * FROM "checkouts" WHERE "state" = 'paid'`);
  // The database returns rows in any order.
  const byId = (pairs: Iterable<[string, number]>) => [...pairs].toSorted(([a], [b]) => (a < b ? -1 : 1));
  t.deepEqual(byId(paid), byId(checkouts.map(({ id, amountMicros }) => [id, amountMicros])));
  t.is(paid.size, of('topup').length, 'no payment is credited twice');
  for (const [id, { usd, acknowledged }] of books.payments) {
    t.is(paid.get(id) ?? (acknowledged ? 0 : usd * 1e6), usd * 1e6, id);
    paid.delete(id);
  }
  t.deepEqual([...paid], []);
}

/** Asserts that every server is in its acknowledged state, or changing to it. */
async function examineStates(t: ExecutionContext, store: Store, { wishes, deleted }: Books): Promise<void> {
  const rows = await store.query<{ id: string; state: string; snapshot: string }>(
    'SELECT "id", "state", "snapshot" FROM "servers"',
  );
  const states = new Map(rows.map(({ id, state, snapshot }) => [id, isStartQueued(snapshot) ? 'starting' : state]));
  for (const [id, wish] of wishes) {
    if (wish === 'awake') t.regex(states.get(id) ?? '', /^(starting|running|start_failed)$/, id);
    if (wish === 'asleep') t.regex(states.get(id) ?? '', /^(stopping|hibernated|start_failed)$/, id);
  }
  for (const id of deleted) t.is(states.get(id) ?? 'deleting', 'deleting', id);
}

/** Whether a start is queued behind a stop. */
function isStartQueued(snapshot: string): boolean {
  return (JSON.parse(snapshot) as { context: { queued: unknown } }).context.queued !== null;
}

/** Asserts that each full minute of a session is charged once. Returns the number of charged minutes. */
async function examineSessions(
  t: ExecutionContext,
  store: Store,
  entries: LedgerRow[],
  { price, lateMs }: Terms,
): Promise<number> {
  const sessions = await store.query<AwakeSessionRow>('SELECT * FROM "awake_sessions"');
  const keys = await store.query<{ sessionId: string; count: number; last: number }>(
    'SELECT "sessionId", COUNT(*) AS "count", MAX("n") AS "last" FROM "ticks" GROUP BY "sessionId"',
  );
  const charged = new Map(keys.map((key) => [key.sessionId, key]));
  for (const session of sessions) {
    const { id, ticks, awakeMs, billable, ramMb, amountMicros, readyAt, endedAt, provenAt } = session;
    t.is(amountMicros, chargeOf(ticks, price, ramMb));
    // A wake whose player never joined is free.
    const minutes = billable === 0 ? 0 : Math.floor(awakeMs / MINUTE_MS);
    t.is(ticks, minutes, 'proven minutes are charged in the same write');
    t.like(charged.get(id) ?? { count: 0, last: 0 }, { count: ticks, last: ticks });
    const lasted = readyAt === null ? 0 : (endedAt ?? provenAt) - readyAt;
    t.true(awakeMs <= Math.max(0, lasted) + lateMs, JSON.stringify(session));
  }
  const used = entries.filter(({ kind }) => kind === 'usage').reduce((sum, entry) => sum - entry.amountMicros, 0);
  t.is(
    used,
    sessions.reduce((sum, { amountMicros }) => sum + amountMicros, 0),
  );
  const open = sessions.filter(({ endedAt }) => endedAt === null);
  t.is(new Set(open.map(({ serverId }) => serverId)).size, open.length, 'one open session per server');
  return sessions.reduce((sum, { ticks }) => sum + ticks, 0);
}
