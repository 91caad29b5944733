import { DAY_MS, HOUR_MS, MINUTE_MS } from '../kernel/units.ts';

/** Prices in millionths of the currency per GB (1024 MB) of RAM. */
export interface Prices {
  /** Metered plan, per hour awake. */
  perGbHourMicros: number;
  /** Flat plan, per 30 days. */
  perGbMonthMicros: number;
}

/** A tick is a full minute awake. */
export const TICK_MS = MINUTE_MS;
/** Ticks of a full hour, which share one ledger entry. */
export const TICKS_PER_HOUR = HOUR_MS / TICK_MS;
const MB_PER_GB = 1_024;
/** Divisor of price times RAM for one tick. */
export const TICK_DIVISOR = MB_PER_GB * TICKS_PER_HOUR;
/** The flat plan's period. */
export const PERIOD_MS = 30 * DAY_MS;

/** Returns the cost of n ticks of a session: ⌊n·p·ramMb/61 440⌋ micros, exact for every n. */
export function chargeOf(n: number, rateMicros: number, ramMb: number): number {
  return Number((BigInt(n) * BigInt(rateMicros) * BigInt(ramMb)) / BigInt(TICK_DIVISOR));
}

/** The most one tick can cost. */
export function tickCeilingMicros(rateMicros: number, ramMb: number): number {
  return chargeOf(1, rateMicros, ramMb) + 1;
}

/** Returns the cost of an hour awake. */
export function hourlyMicros(rateMicros: number, ramMb: number): number {
  return chargeOf(TICKS_PER_HOUR, rateMicros, ramMb);
}

/** Returns the cost of a server's flat period, rounded up to a micro. */
export function flatMicros(perGbMonthMicros: number, ramMb: number): number {
  return Number((BigInt(perGbMonthMicros) * BigInt(ramMb) + BigInt(MB_PER_GB - 1)) / BigInt(MB_PER_GB));
}

/** Returns the calendar month of an instant, UTC: `2026-11`. */
export function monthOf(at: number): string {
  return new Date(at).toISOString().slice(0, 7);
}
