import type { ServerRow } from '../servers/rows.ts';
import type { Look } from '../servers/wake-checks.ts';
import type { Sql, Tx } from '../store/store.ts';
import { type LedgerRow, flatRefOf, lastFlatEntry, listLastFlatEntries } from './ledger-rows.ts';
import { post } from './ledger.ts';
import { type End, shortOf } from './rules.ts';
import { PERIOD_MS, type Prices, flatMicros } from './prices.ts';
import { type AwakeSessionRow, listFlatSessions } from './awake-session-rows.ts';
import { getWallet } from './wallet-rows.ts';

type FlatServer = Pick<ServerRow, 'id' | 'accountId' | 'createdAt' | 'ramMb'>;

/** The payment due for an awake flat server at an instant, and its period. */
export interface FlatDue {
  /** 0: it is paid for. */
  amountMicros: number;
  /** When the paid or payable period began. */
  periodAt: number;
}

/**
 * The first start in 30 days pays for them. A server that is started with more RAM than its period was paid for pays the
 * difference for the days that are left; less RAM gives nothing back. A look reads once for all of an account.
 */
export async function flatDue(db: Sql, server: FlatServer, prices: Prices, at: number, look?: Look): Promise<FlatDue> {
  const price = flatMicros(prices.perGbMonthMicros, server.ramMb);
  const paid = await lastPeriod(db, server, look);
  if (paid === undefined || at >= paid.periodAt + PERIOD_MS) return { amountMicros: price, periodAt: at };
  const more = price - flatMicros(prices.perGbMonthMicros, paid.ramMb);
  if (more <= 0) return { amountMicros: 0, periodAt: paid.periodAt };
  const leftMs = Math.min(PERIOD_MS, paid.periodAt + PERIOD_MS - at);
  const amountMicros = Number((BigInt(more) * BigInt(leftMs) + BigInt(PERIOD_MS - 1)) / BigInt(PERIOD_MS));
  return { amountMicros, periodAt: paid.periodAt };
}

/** Until when a server's flat periods are paid; null: they are not, or no more. */
export async function flatPaidUntil(db: Sql, server: FlatServer, at: number): Promise<number | null> {
  const paid = await lastPeriod(db, server);
  const until = (paid?.periodAt ?? 0) + PERIOD_MS;
  return until > at ? until : null;
}

async function lastPeriod(
  db: Sql,
  server: FlatServer,
  look?: Look,
): Promise<{ periodAt: number; ramMb: number } | undefined> {
  const last = look === undefined ? await lastFlatEntry(db, server) : await lastSeen(db, server, look);
  return last && readRef(last.ref);
}

async function lastSeen(db: Sql, server: FlatServer, look: Look): Promise<LedgerRow | undefined> {
  const { accountId } = server;
  const all = await look.once(listLastFlatEntries, accountId, () => listLastFlatEntries(db, accountId));
  return all.find(({ ref }) => ref.startsWith(flatRefOf(server)));
}

/**
 * Charges what the awake session of a flat server owes, in the caller's write; nothing while its game is not ready, or it may
 * still be a false wake. Where the wallet or its cap does not allow it, nothing is charged, and that is what it gives.
 */
export async function chargeFlat(
  tx: Tx,
  session: AwakeSessionRow | undefined,
  prices: Prices,
  at: number,
): Promise<End | undefined> {
  if (session?.plan !== 'flat' || session.readyAt === null || session.billable === 0) return undefined;
  const { serverId, accountId, ramMb, serverCreatedAt: createdAt } = session;
  const { amountMicros, periodAt } = await flatDue(tx, { id: serverId, accountId, createdAt, ramMb }, prices, at);
  if (amountMicros === 0) return undefined;
  const short = shortOf(await getWallet(tx, accountId), amountMicros, at);
  if (short !== undefined) return short;
  const note = `${ramMb} MB for 30 days from ${new Date(periodAt).toISOString().slice(0, 10)}`;
  const ref = `${serverId}/${createdAt}/${periodAt}/${ramMb}`;
  await post(tx, { accountId, serverId, kind: 'flat', amountMicros: -amountMicros, note, ref, at });
  return undefined;
}

/** A flat server that is awake and cannot be paid for. */
export interface UnpaidFlat {
  serverId: string;
  accountId: string;
  short: End;
}

/** Charges all awake flat servers what they owe: one that never sleeps begins its next period so. Gives those left unpaid. */
export async function chargeAllFlat(tx: Tx, prices: Prices, at: number): Promise<UnpaidFlat[]> {
  const unpaid: UnpaidFlat[] = [];
  for (const session of await listFlatSessions(tx)) {
    const short = await chargeFlat(tx, session, prices, at);
    if (short !== undefined) unpaid.push({ serverId: session.serverId, accountId: session.accountId, short });
  }
  return unpaid;
}

/** A flat entry's `ref` says what was paid for: server, its birth, the period's beginning, MB of RAM. */
function readRef(ref: string): { periodAt: number; ramMb: number } {
  const [ramMb, periodAt] = ref.split('/').toReversed().map(Number);
  return { periodAt: periodAt ?? 0, ramMb: ramMb ?? 0 };
}
