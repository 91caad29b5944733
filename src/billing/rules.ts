import { type SqlPart, sql } from '../store/sql.ts';
import { TICKS_PER_HOUR, TICK_DIVISOR, TICK_MS, monthOf } from './prices.ts';
import type { WalletRow } from './wallet-rows.ts';

/** The reason why an account cannot spend more. */
export type End = 'funds' | 'spend_cap';

/** Returns how much of a month's cap is used at an instant, in micros. */
export function spentMicrosOf({ spentMonth, spentMicros }: WalletRow, at: number): number {
  return spentMonth >= monthOf(at) ? spentMicros : 0;
}

/** Reports whether the spend cap of the month is reached at an instant. */
export function capReached(wallet: WalletRow, at: number): boolean {
  return wallet.spendCapMicros > 0 && spentMicrosOf(wallet, at) >= wallet.spendCapMicros;
}

/** Returns why a wallet cannot pay an amount above 0 now, before it is paid; undefined if it can. */
export function shortOf(wallet: WalletRow | undefined, neededMicros: number, at: number): End | undefined {
  if (wallet === undefined || wallet.balanceMicros < neededMicros) return 'funds';
  if (wallet.spendCapMicros === 0 || wallet.spendCapAction !== 'stop') return undefined;
  return spentMicrosOf(wallet, at) + neededMicros > wallet.spendCapMicros ? 'spend_cap' : undefined;
}

/** A constant in SQL as a 64-bit integer: the ms of a month exceed 32 bits. */
const whole = (value: number): SqlPart => sql`CAST(${value} AS bigint)`;

/** The cost of the next tick of session `s` plus the carried fraction, in parts of a micro. */
const NUMERATOR = sql`(s."remainder" + s."rateMicros" * s."ramMb")`;

/** The price of the next tick of session `s` in whole micros: `chargeOf(n + 1) - chargeOf(n)`. */
export const TICK_PRICE = sql`${NUMERATOR} / ${whole(TICK_DIVISOR)}`;
/** The fraction of a micro carried over to the following tick. */
export const CARRIED_ON = sql`${NUMERATOR} % ${whole(TICK_DIVISOR)}`;

/**
 * Whether the next tick of session `s` is due: its full minute is proven, the session is not a possible false wake, and
 * it has a price.
 */
export const IS_DUE = sql`s."endedAt" IS NULL AND s."readyAt" IS NOT NULL AND s."billable" = 1 AND s."rateMicros" > 0
  AND (s."ticks" + 1) * ${whole(TICK_MS)} <= s."awakeMs"`;

/** The used part of a month's cap of wallet `w`. */
export const spentIn = (month: string): SqlPart =>
  sql`CASE WHEN w."spentMonth" >= ${month} THEN w."spentMicros" ELSE 0 END`;

/**
 * Whether a due tick `d` may be charged. `sum` includes the account's earlier ticks and this one. Before this tick, the
 * wallet must have money left and be below a cap that stops; so neither limit is exceeded by more than one tick.
 */
export const IS_COVERED = sql`d."balanceMicros" - d."sum" + d."amount" > 0
  AND (d."spendCapMicros" = 0 OR d."spendCapAction" <> 'stop' OR d."spent" + d."sum" - d."amount" < d."spendCapMicros")`;

/** The hour of tick n within its session, numbered from 0. The ledger has one usage entry for each hour. */
export const hourOf = (n: SqlPart): SqlPart => sql`(${n} - 1) / ${whole(TICKS_PER_HOUR)}`;

/** Returns the `ref` of the ledger entry for tick n of a session. */
export function entryRef(session: SqlPart, n: SqlPart): SqlPart {
  return sql`${session} || '/' || (${hourOf(n)})`;
}

const SINCE_ENTRY = sql`(s."ticks" - ${whole(TICKS_PER_HOUR)} * l."sessionHour")`;
/** The number of minutes in usage entry `l` of session `s`. */
export const MINUTES_OF_ENTRY = sql`CASE WHEN ${SINCE_ENTRY} > ${whole(TICKS_PER_HOUR)}
  THEN ${whole(TICKS_PER_HOUR)} ELSE ${SINCE_ENTRY} END`;

/** Whether tick n is the first of its entry. */
export const opensEntry = (n: SqlPart): SqlPart => sql`(${n} - 1) % ${whole(TICKS_PER_HOUR)} = 0`;
/** Whether tick n is the last of its entry. */
export const closesEntry = (n: SqlPart): SqlPart => sql`${n} % ${whole(TICKS_PER_HOUR)} = 0`;
