import type { BatchRead } from '../servers/wake-checks.ts';
import type { Sql, Tx } from '../store/store.ts';
import { type UsedServer, flatRefOf, lastFlatEntry, listLastFlatEntries } from './ledger-rows.ts';
import { post } from './ledger.ts';
import { type End, shortOf } from './rules.ts';
import { PERIOD_MS, type Prices, flatMicros } from './prices.ts';
import { type AwakeSessionRow, listFlatSessions } from './awake-session-rows.ts';
import { getWallet } from './wallet-rows.ts';

type FlatServer = UsedServer & { ramMb: number };

/** The payment due for an awake flat server at an instant. */
interface FlatDue {
  /** 0: nothing is due. */
  amountMicros: number;
  /** Start of the period that is paid or to be paid. */
  periodAt: number;
}

/**
 * Returns the payment due. The first start in 30 days pays for that period. If the server has more RAM than was paid
 * for, the difference for the remaining days is due. Less RAM is not refunded. With `batchRead`, rows are read once per
 * account.
 */
export async function flatDue(
  db: Sql,
  server: FlatServer,
  prices: Prices,
  at: number,
  batchRead?: BatchRead,
): Promise<FlatDue> {
  const price = flatMicros(prices.perGbMonthMicros, server.ramMb);
  const paid = await lastPeriod(db, server, batchRead);
  if (paid === undefined || at >= paid.periodAt + PERIOD_MS) return { amountMicros: price, periodAt: at };
  const more = price - flatMicros(prices.perGbMonthMicros, paid.ramMb);
  if (more <= 0) return { amountMicros: 0, periodAt: paid.periodAt };
  const leftMs = Math.min(PERIOD_MS, paid.periodAt + PERIOD_MS - at);
  const amountMicros = Number((BigInt(more) * BigInt(leftMs) + BigInt(PERIOD_MS - 1)) / BigInt(PERIOD_MS));
  return { amountMicros, periodAt: paid.periodAt };
}

/** Returns the end of a server's paid flat period; null if absent. */
export async function flatPaidUntil(db: Sql, server: FlatServer, at: number): Promise<number | null> {
  const paid = await lastPeriod(db, server);
  const until = (paid?.periodAt ?? 0) + PERIOD_MS;
  return until > at ? until : null;
}

async function lastPeriod(
  db: Sql,
  server: FlatServer,
  batchRead?: BatchRead,
): Promise<{ periodAt: number; ramMb: number } | undefined> {
  const { accountId } = server;
  const last =
    batchRead === undefined
      ? await lastFlatEntry(db, server)
      : (await batchRead.once(listLastFlatEntries, accountId, () => listLastFlatEntries(db, accountId))).find(
          ({ ref }) => ref.startsWith(flatRefOf(server)),
        );
  if (last === undefined) return undefined;
  // Server id, its creation time, start of the period, MB of RAM.
  const [ramMb = 0, periodAt = 0] = last.ref.split('/').toReversed().map(Number);
  return { periodAt, ramMb };
}

/**
 * Charges the amount due for the awake session of a flat server, in the caller's write. Charges nothing before the game
 * is ready or while it may be a false wake. Returns the reason if the wallet or its cap does not allow the charge.
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

/** An awake flat server that cannot be paid for. */
export interface UnpaidFlat {
  serverId: string;
  accountId: string;
  short: End;
}

/** Charges all awake flat servers, including the next period of those that never sleep. Returns the unpaid ones. */
export async function chargeAllFlat(tx: Tx, prices: Prices, at: number): Promise<UnpaidFlat[]> {
  const unpaid: UnpaidFlat[] = [];
  for (const session of await listFlatSessions(tx)) {
    const short = await chargeFlat(tx, session, prices, at);
    if (short !== undefined) unpaid.push({ serverId: session.serverId, accountId: session.accountId, short });
  }
  return unpaid;
}
